package budget_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store/pgtest"
)

// parted runs an installation in which end users and values of tags have budgets.
type parted struct {
	t     *testing.T
	nodes []*harness.Gateway
	admin string
}

// openParted opens one node on SQLite, or two on PostgreSQL. A request costs a dollar.
func openParted(t *testing.T, database string) *parted {
	up := harness.NewUpstream(t)
	yaml := fmt.Sprintf("database: %q\nproviders:", database) + harness.ProviderYAML("house", up.URL) +
		strings.Replace(harness.PerRequest, "prices:\n", "prices:\n  house/dear: {input: \"0\", output: \"0\", request: \"100\"}\n", 1)
	first := harness.Open(t, harness.Setup{YAML: yaml})
	e := &parted{t: t, nodes: []*harness.Gateway{first}}
	if database != "" {
		e.nodes = append(e.nodes, harness.Open(t, harness.Setup{YAML: yaml, Dir: t.TempDir(), Key: first.Key}))
	}
	e.admin = first.NewKey(account.KeyOptions{
		Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin},
	})
	return e
}

// patch changes an account or a key, and waits until every node knows it.
func (e *parted) patch(path, body string, status int) harness.Reply {
	e.t.Helper()
	r := e.nodes[0].Do(harness.Ask{Method: "PATCH", Path: "/admin/v1/accounts/" + path, Body: body, Key: e.admin})
	if r.Status != status {
		e.t.Fatalf("PATCH %s %s: got %d %s, want %d", path, body, r.Status, r.Body, status)
	}
	if status == http.StatusOK {
		time.Sleep(time.Second)
	}
	return r
}

// known waits until every node knows a budget: it refuses a request of another user that costs more than all of it.
func (e *parted) known(key, user, project string) {
	e.t.Helper()
	for node := range e.nodes {
		harness.Await(e.t, "a budget that every node knows", func() bool {
			return e.askFor("house/dear", node, key, user, project).Status == http.StatusTooManyRequests
		})
	}
}

// ask sends a request to a node for an end user, and for a project.
func (e *parted) ask(node int, key, user, project string) harness.Reply {
	return e.askFor("house/chat", node, key, user, project)
}

func (e *parted) askFor(model string, node int, key, user, project string) harness.Reply {
	members := ""
	if user != "" {
		members = fmt.Sprintf(`"user":%q,`, user)
	}
	a := harness.Ask{
		Path: "/v1/chat/completions", Key: key,
		Body: `{"model":"` + model + `",` + members + `"messages":[{"role":"user","content":"Hi"}]}`,
	}
	if project != "" {
		a.Header = []string{"X-Weir-Tags", "project=" + project}
	}
	return e.nodes[node%len(e.nodes)].Do(a)
}

// served returns how many of the given number of concurrent requests are served, at all nodes.
func (e *parted) served(requests int, key, user, project string) int64 {
	var served atomic.Int64
	var clients sync.WaitGroup
	for i := range requests {
		clients.Go(func() {
			if e.ask(i, key, user, project).Status == http.StatusOK {
				served.Add(1)
			}
		})
	}
	clients.Wait()
	return served.Load()
}

func onEngines(t *testing.T, run func(t *testing.T, e *parted)) {
	t.Parallel()
	server := pgtest.New(t)
	for name, database := range map[string]string{"SQLite": "", "PostgreSQL": server.URL("postgres")} {
		t.Run(name, func(t *testing.T) {
			e := openParted(t, database)
			run(t, e)
			for _, node := range e.nodes {
				if err := node.Stop(); err != nil {
					t.Errorf("stop: %v", err)
				}
			}
			e.nodes[0].Verify(t)
		})
	}
}

// TestBudgetPerUser checks that each end user of an account, on all nodes together, spends its own budget and no more.
func TestBudgetPerUser(t *testing.T) {
	onEngines(t, func(t *testing.T, e *parted) {
		if got := e.served(4, "", "alice", ""); got != 4 {
			t.Fatalf("without a budget: %d of 4 requests were served", got)
		}
		r := e.patch("default", `{"per_user":{"budget":{"limit_usd":"3","period":"month"}}}`, http.StatusOK)
		if !strings.Contains(r.Body, `"per_user":{"limits":{"rpm":0,"tpm":0,"concurrency":0},"budget":{"limit_usd":"3","period":"month"}}`) {
			t.Errorf("the account: got %s", r.Body)
		}
		e.known("", "probe", "")
		for _, user := range []string{"alice", "bob"} {
			got := e.served(12, "", user, "")
			harness.Await(t, "the end of the budget", func() bool {
				if r = e.ask(0, "", user, ""); r.Status == http.StatusOK {
					got++
				}
				return r.Status == http.StatusTooManyRequests && strings.Contains(r.Body, "insufficient_quota")
			})
			if got != 3 {
				t.Errorf("user %q: %d requests of a dollar were served of a budget of $3", user, got)
			}
			if want := `The budget of this end user, $3 per month, has no room`; !strings.Contains(r.Body, want) {
				t.Errorf("user %q: got %s, want it to say %s", user, r.Body, want)
			}
		}
		if got := e.served(4, "", "", ""); got != 4 {
			t.Errorf("without an end user: %d of 4 requests were served", got)
		}
		e.patch("default", `{"per_user":{"budget":{"limit_usd":"4"}}}`, http.StatusOK)
		harness.Await(t, "one more request", func() bool { return e.ask(1, "", "alice", "").Status == http.StatusOK })
		if got := e.served(4, "", "alice", ""); got != 0 {
			t.Errorf("beyond the budget that was raised: %d requests were served", got)
		}
		e.patch("default", `{"per_user":null}`, http.StatusOK)
		harness.Await(t, "a request without a budget", func() bool { return e.ask(1, "", "alice", "").Status == http.StatusOK })
	})
}

// TestBudgetPerTag checks that each value of a tag of a key has its own budget in addition to that of the account's
// users, and that another key has none.
func TestBudgetPerTag(t *testing.T) {
	onEngines(t, func(t *testing.T, e *parted) {
		key := e.nodes[0].NewKey(account.KeyOptions{Account: account.DefaultName, Label: "tagged"})
		list := e.nodes[0].Do(harness.Ask{Method: "GET", Path: "/admin/v1/accounts/default/keys", Key: e.admin})
		var keys struct {
			Data []struct{ ID, Label string }
		}
		must.Do(t, json.Unmarshal([]byte(list.Body), &keys))
		for _, k := range keys.Data {
			if k.Label == "tagged" {
				r := e.patch("default/keys/"+k.ID, `{"per_tag":{"project":{"budget":{"limit_usd":"2","period":"day"}}}}`, http.StatusOK)
				if !strings.Contains(r.Body, `"per_tag":{"project":{"limits":{"rpm":0,"tpm":0,"concurrency":0},"budget":{"limit_usd":"2","period":"day"}}}`) {
					t.Errorf("the key: got %s", r.Body)
				}
			}
		}
		e.patch("default", `{"per_user":{"budget":{"limit_usd":"3","period":"month"}}}`, http.StatusOK)
		e.known(key, "", "probe")
		e.known("", "probe", "")
		for _, tt := range []struct {
			key, user, project string
			want               int64
			whose              string
		}{
			{key, "ada", "alpha", 2, `value of the tag project with this API key, $2 per day`},
			{key, "ada", "beta", 1, `end user, $3 per month`},
			{key, "bob", "beta", 1, `value of the tag project with this API key, $2 per day`},
			{"", "bob", "beta", 2, `end user, $3 per month`},
			{key, "cyd", "", 3, `end user, $3 per month`},
		} {
			got, said := e.served(8, tt.key, tt.user, tt.project), ""
			harness.Await(t, "the end of the budget", func() bool {
				r := e.ask(1, tt.key, tt.user, tt.project)
				if r.Status == http.StatusOK {
					got++
				}
				said = r.Body
				return strings.Contains(r.Body, "insufficient_quota")
			})
			if got != tt.want || !strings.Contains(said, tt.whose) {
				t.Errorf("%s for %s: %d requests of a dollar were served, then %s; want %d, then the budget of %s", tt.user,
					tt.project, got, said, tt.want, tt.whose)
			}
		}
	})
}

// TestLimitPerUser checks that an end user over a limit uses up nothing of the key's.
func TestLimitPerUser(t *testing.T) {
	t.Parallel()
	e := openParted(t, "")
	e.patch("default", `{"limits":{"rpm":6},"per_user":{"limits":{"rpm":2}},"per_tag":{"project":{"limits":{"concurrency":5}}}}`,
		http.StatusOK)
	for i, tt := range []struct {
		user   string
		status int
	}{
		{"ada", 200},
		{"ada", 200},
		{"ada", 429},
		{"ada", 429},
		{"bob", 200},
		{"bob", 200},
		{"bob", 429},
		{"", 200},
		{"", 200},
		{"cyd", 429},
	} {
		r := e.ask(0, "", tt.user, "alpha")
		if r.Status != tt.status {
			t.Errorf("request %d, of %q: got %d %s, want %d", i, tt.user, r.Status, r.Body, tt.status)
		}
		if tt.user == "ada" && tt.status == 429 && !strings.Contains(r.Body, "This end user is limited to 2 requests a minute") {
			t.Errorf("refused: got %s", r.Body)
		}
	}
}

// TestPerMalformed checks that an end user, or the value of a tag, that cannot be counted is refused if it is limited.
func TestPerMalformed(t *testing.T) {
	t.Parallel()
	e := openParted(t, "")
	ask := func(members string) harness.Reply {
		return e.nodes[0].Do(harness.Ask{
			Path: "/v1/chat/completions", Body: `{"model":"house/chat",` + members + `,"messages":[{"role":"user","content":"Hi"}]}`,
		})
	}
	const users, tags = `{"per_user":{"limits":{"rpm":90}},"per_tag":null}`, `{"per_user":null,"per_tag":{"project":{"limits":{"rpm":90}}}}`
	limits := ""
	for _, tt := range []struct{ name, limits, members, param string }{
		{"513 characters", users, fmt.Sprintf(`"user":%q`, strings.Repeat("b", 513)), "user"},
		{"NUL", users, `"user":"ada\u0000"`, "user"},
		{"a number", users, `"user":7`, "user"},
		{"another name", users, `"safety_identifier":7,"user":"ada"`, "user"},
		{"a tag alone is limited", tags, `"user":"ada\u0000"`, ""},
		{"a number", tags, `"metadata":{"project":7}`, "metadata.project"},
		{"513 characters", tags, fmt.Sprintf(`"metadata":{"project":%q}`, strings.Repeat("b", 513)), "metadata.project"},
		{"null", tags, `"metadata":{"project":null}`, ""},
		{"another tag", tags, `"metadata":{"other":7}`, ""},
		{"16 tags before it", tags, `"metadata":{` + many(16, `"1"`) + `,"project":"alpha"}`, "metadata.project"},
	} {
		if tt.limits != limits {
			limits = tt.limits
			e.patch("default", limits, http.StatusOK)
		}
		r := ask(tt.members)
		if want := fmt.Sprintf(`"param":%q`, tt.param); tt.param == "" && r.Status != http.StatusOK ||
			tt.param != "" && (r.Status != http.StatusBadRequest || !strings.Contains(r.Body, want)) {
			t.Errorf("%s in %.60s: got %d %s, want param %q", tt.name, tt.members, r.Status, r.Body, tt.param)
		}
	}
}

// TestTagOfKeyStays checks that a client's own tags displace none of its key's.
func TestTagOfKeyStays(t *testing.T) {
	t.Parallel()
	e := openParted(t, "")
	key := e.nodes[0].NewKey(account.KeyOptions{
		Account: account.DefaultName, Tags: account.KeyTags{Defaults: []llm.Tag{{Name: "team", Value: "search"}}},
	})
	e.patch("default", `{"per_tag":{"team":{"limits":{"rpm":2}}}}`, http.StatusOK)
	list := func(n int, format string) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return all
	}
	ask := func(header []string, metadata string) harness.Reply {
		return e.nodes[0].Do(harness.Ask{
			Path: "/v1/chat/completions", Key: key, Header: header,
			Body: `{"model":"house/chat","metadata":{` + metadata + `},"messages":[{"role":"user","content":"Hi"}]}`,
		})
	}
	if r := ask([]string{"X-Weir-Tags", strings.Join(list(16, "x%d=1"), ",")}, ""); r.Status != http.StatusBadRequest ||
		!strings.Contains(r.Body, "at most 15") {
		t.Errorf("16 tags in the header: got %d %s, want at most 15", r.Status, r.Body)
	}
	for i, want := range []int{200, 200, 429} {
		if r := ask(nil, strings.Join(list(40, `"x%d":"1"`), ",")); r.Status != want {
			t.Errorf("request %d with 40 tags in the body: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
	if r := ask([]string{"X-Weir-Tags", "team=x"}, `"team":7`); r.Status != 200 {
		t.Errorf("a header that wins: got %d %s, want 200", r.Status, r.Body)
	}
	if r := ask([]string{"X-Weir-Tags", strings.Join(list(15, "x%d=1"), ",")}, `"team":"other"`); r.Status != 200 {
		t.Errorf("another team: got %d %s, want 200", r.Status, r.Body)
	}
}

// TestPerUserOfForm checks that the end user of a form is limited, too.
func TestPerUserOfForm(t *testing.T) {
	t.Parallel()
	_, h := harness.OpenMediaProvider(t)
	h.Administer(func(ctx context.Context, s *account.Service) error {
		perUser := []account.Per{{Limits: account.Limits{RPM: 1}}}
		_, err := s.UpdateAccount(ctx, audit.Gateway(), account.DefaultName, account.Update{Per: &perUser})
		return err
	})
	ask := func(fields ...string) int {
		fields = append([]string{"model", "house/paint", "prompt", "A weir"}, fields...)
		return h.Multipart("/v1/images/edits", "image", []byte("PNG"), fields...).Status
	}
	harness.Await(t, "the limit", func() bool { return ask("user", "first") == http.StatusTooManyRequests })
	for _, tt := range []struct {
		fields []string
		status int
	}{
		{[]string{"user", "ada"}, 200},
		{[]string{"user", "ada"}, 429},
		{[]string{"user", "ada", "safety_identifier", "bob"}, 200},
		{[]string{"user", "cyd", "safety_identifier", "bob"}, 429},
		{[]string{"user", strings.Repeat("x", 513)}, 400},
		{nil, 200},
	} {
		if got := ask(tt.fields...); got != tt.status {
			t.Errorf("a form with %.60q: got %d, want %d", tt.fields, got, tt.status)
		}
	}
}

// TestPerRefused checks which limits of end users and tags are refused.
func TestPerRefused(t *testing.T) {
	t.Parallel()
	e := openParted(t, "")
	const one = `{"limits":{"rpm":1}}`
	for body, want := range map[string]string{
		`{"per_user":{"budget":{"limit_usd":"0","period":"day"}}}`:        "per_user.budget.limit_usd",
		`{"per_tag":{"a=b":{"budget":{"limit_usd":"3","period":"day"}}}}`: "per_tag",
		`{"per_tag":{"a":{"budget":{"limit_usd":"3","period":"week"}}}}`:  "per_tag.a.budget.period",
		`{"per_tag":{"a":{"limits":{"rpm":-1}}}}`:                         "per_tag.a.limits.rpm",
		`{"per_tag":{"":` + one + `}}`:                                    "per_tag",
		`{"per_user":{"budget":{"limit_usd":"3","period":"total"}}}`:      "per_user.budget.period",
		`{"per_user":{"usd":"5"}}`:                                        "per_user.usd",
		`{"per_tag":["a"]}`:                                               "per_tag",
		`{"per_tag":{` + many(9, one) + `}}`:                              "per_tag",
		`{"per_tag":{` + many(200, one) + `}}`:                            "per_tag.t100",
	} {
		if r := e.patch("default", body, http.StatusBadRequest); !strings.Contains(r.Body, `"param":"`+want+`"`) {
			t.Errorf("%.100s: got %s, want param %s", body, r.Body, want)
		}
	}
}

func many(n int, value string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"t%d":%s`, i, value))
	}
	return strings.Join(all, ",")
}
