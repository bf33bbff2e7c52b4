package admin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestAdministrationRefuses checks the answers to invalid requests.
func TestAdministrationRefuses(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, tt := range []struct {
		status      int
		what, body  string
		param, says string
	}{
		{400, "POST /accounts", `{"nam":"x"}`, "nam", `Did you mean \"name\"?`},
		{400, "POST /accounts", `{"Name":"x"}`, "Name", `write \"name\"`},
		{400, "POST /accounts", `{"name":"a","name":"b"}`, "name", "twice"},
		{400, "POST /accounts", `{"name":1}`, "name", "a string"},
		{400, "POST /accounts", `{"name":"default"}`, "name", "already exists"},
		{400, "POST /accounts", `{"name":"x","budget":{"limit_usd":"1"}}`, "budget.period", "month"},
		{400, "POST /accounts", `{"name":"x","limits":{"rpm":-1}}`, "limits.rpm", "from 0"},
		{400, "POST /accounts", `{"name":"x","credit_usd":"-1"}`, "credit_usd", "$0 to"},
		{400, "POST /accounts", `{"name":"x","members":[{"email":"a@b.example"},{"email":"bob"}]}`, "members[1].email", "ada@example.com"},
		{400, "POST /accounts", `{"name":"x","members":[{"email":"a@b.example","role":"king"}]}`, "members[0].role", "not a role"},
		{400, "POST /accounts", `{"name":"x","members":[{"email":"a@b.example"},{"email":"A@b.example"}]}`, "members[1].email", "twice"},
		{400, "POST /accounts", `{"name":"x","members":["a@b.example"]}`, "members[0]", "email and role"},
		{400, "POST /accounts", `{"name":"x","members":[` + strings.Repeat(`{"email":"a@b.example"},`, 20) + `{"email":"a@b.example"}]}`, "members", "at most 20"},
		{400, "POST /accounts", `{"name":"default","members":[{"email":"a@b.example"}]}`, "name", "already exists"},
		{400, "POST /accounts", `{"name"}`, "", "not valid JSON"},
		{400, "POST /accounts", `[]`, "", "not a JSON object"},
		{413, "POST /accounts", `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, "", "larger than 1048576 bytes"},
		{400, "PATCH /accounts/default", `{"limits":{"rpm":-1}}`, "limits.rpm", "from 0"},
		{400, "PATCH /accounts/default", `{"limits":{"rpms":1}}`, "limits.rpms", `Did you mean \"rpm\"?`},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":5,"period":"day"}}`, "budget.limit_usd", "as a string"},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":"5"}}`, "budget.period", "month"},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":"0","period":"day"}}`, "budget.limit_usd", "null"},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":"0.0000000001","period":"day"}}`, "budget.limit_usd", "nine decimals"},
		{400, "PATCH /accounts/default", `{"suspended":null}`, "suspended", "true or false"},
		{400, "PATCH /accounts/default", `{"on_hangup":"fly"}`, "on_hangup", "drain"},
		{400, "PATCH /accounts/default", `{"credit":{}}`, "credit", "null"},
		{404, "PATCH /accounts/nobody", `{}`, "account", "no account"},
		{400, "POST /accounts/default/credit", `{"amount_usd":"0"}`, "amount_usd", "other than 0"},
		{400, "POST /accounts/default/statements", `{"month":"november"}`, "month", "2026-11"},
		{400, "POST /accounts/default/statements", `{"month":"2999-01"}`, "month", "not over"},
		{404, "GET /accounts/default/statements/7", "", "number", "no such statement"},
		{400, "POST /accounts/default/price-lists", `{"markup_percent":15}`, "markup_percent", "as a string"},
		{400, "POST /accounts/default/price-lists", `{"since":"2020-01-01T00:00:00Z","markup_percent":"0"}`, "since", "in the past"},
		{400, "POST /accounts/default/price-lists", `{"since":"2099-01-01T00:00:00Z"}`, "markup_percent", "or prices"},
		{400, "POST /accounts/default/price-lists", `{"prices":{}}`, "markup_percent", "or prices"},
		{400, "POST /accounts/default/price-lists", `{"prices":{"house/m":{"input":null}}}`, "prices.house/m.input", "string"},
		{400, "GET /usage?account=", "", "account", "is empty"},
		{400, "POST /accounts/default/keys", `{"label":"x","tags":{"a":"b"},"required_tags":["c1","c2","c3","c4","c5","c6","c7","c8","c9","c10","c11","c12","c13","c14","c15","c16"]}`, "required_tags", "17 tags in all"},
		{400, "POST /accounts/default/price-lists", `{"prices":{"small":{"input":"1"}}}`, "prices", "is malformed"},
		{400, "POST /accounts/default/price-lists", `{"prices":{"a/b":{"inputs":"1"}}}`, "prices", "malformed"},
		{400, "POST /accounts/default/credit", `{"amount_usd":"-1"}`, "amount_usd", "is less than"},
		{400, "POST /accounts/default/keys", `{"label":"x","service":1}`, "service", "true or false"},
		{400, "POST /accounts/default/keys", `{"label":"x","service":true,"permissions":["admin"]}`, "service", "key of your own"},
		{400, "POST /accounts/default/keys", `{}`, "label", "1 to 100"},
		{400, "POST /accounts/default/keys", `{"label":"x","expires":"2020-01-01T00:00:00Z"}`, "expires", "between now"},
		{400, "POST /accounts/default/keys", `{"label":"x","expires":"tomorrow"}`, "expires", "RFC 3339"},
		{400, "POST /accounts/default/keys", `{"label":"x","permissions":["fly"]}`, "permissions", "not a permission"},
		{400, "POST /accounts/default/keys", `{"label":"x","models":["a",1]}`, "models[1]", "a string"},
		{400, "POST /accounts/default/keys", `{"label":"x","tags":{"a":1}}`, "tags.a", "a string"},
		{400, "POST /accounts/default/keys", `{"label":"x","tags":{"a":""}}`, "tags", "no value"},
		{400, "POST /accounts/default/keys", `{"label":"x","required_tags":["a","a"]}`, "required_tags", "twice"},
		{400, "GET /accounts/default/uses?group_by=colour", "", "group_by", "grouped by"},
		{400, "GET /accounts/default/uses?tag.=x", "", "tag.NAME", "not a valid tag filter"},
		{400, "GET /accounts/default/uses?group_by=account", "", "group_by", "grouped by"},
		{400, "GET /usage?group_by=colour", "", "group_by", "Use account, model"},
		{404, "GET /usage?account=nobody", "", "account", "nobody"},
		{400, "GET /usage?cursor=eA", "", "cursor", "next_cursor"},
		{404, "GET /accounts/default/keys/nothing", ``, "key", "no such key"},
		{404, "PATCH /accounts/default/members/nobody", `{"role":"owner"}`, "user", "no such"},
		{400, "PATCH /accounts/default/members/nobody", `{"role":"king"}`, "role", "not a role"},
		{400, "POST /accounts/default/invitations", `{"email":"bob"}`, "email", "ada@example.com"},
		{400, "POST /operators", `{}`, "email", "ada@example.com"},
		{400, "POST /operators", `{"email":"` + o.owner + `"}`, "email", "ada@example.com"},
		{400, "GET /accounts?limt=5", ``, "limt", `Did you mean \"limit\"?`},
		{400, "GET /accounts?limit=1001", ``, "limit", "1 to 1000"},
		{400, "GET /accounts?limit=1&limit=2", ``, "limit", "more than once"},
		{400, "GET /accounts?cursor=%25", ``, "cursor", "next_cursor"},
		{400, "GET /accounts/default?limit=1", ``, "limit", "not a parameter"},
		{400, "GET /accounts/default/uses?cursor=eA", ``, "cursor", "next_cursor"},
		{400, "GET /accounts/default/requests?cursor=eA", ``, "cursor", "next_cursor"},
		{400, "GET /accounts/default/requests?ended=well", ``, "ended", "error"},
		{400, "GET /accounts/default/uses?start_date=2026-02-01&end_date=2026-01-01", ``, "start_date", "after end_date"},
		{400, "GET /audit?cursor=eA", ``, "cursor", "next_cursor"},
		{400, "GET /audit?from=yesterday", ``, "from", "RFC 3339"},
		{404, "GET /audit?account=nobody", ``, "account", "no account"},
		{404, "GET /nothing", ``, "", "openapi.json"},
		{404, "GET /accounts/", ``, "", "openapi.json"},
		{405, "PUT /accounts", `{}`, "", "GET, HEAD, POST"},
	} {
		method, path, _ := strings.Cut(tt.what, " ")
		r := o.Do(harness.Ask{Method: method, Path: "/admin/v1" + path, Body: tt.body, Key: o.admin})
		o.wantProblem(tt.what+" "+tt.body[:min(len(tt.body), 80)], r, tt.status, tt.param, tt.says)
	}
	r := o.Do(harness.Ask{Path: "/admin/v1/accounts", Body: `{}`, Key: o.admin, Header: []string{"Content-Type", "text/xml"}})
	o.wantProblem("XML", r, http.StatusUnsupportedMediaType, "", "application/json")
	for who, key := range map[string]string{"nobody": harness.NoKey, "a bad key": "wk_x"} {
		r := o.Do(harness.Ask{Path: "/admin/v1/accounts", Key: key})
		o.wantProblem(who, r, http.StatusUnauthorized, "", "")
		if got := r.Header.Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("%s: got WWW-Authenticate %q, want Bearer", who, got)
		}
	}
	o.wantProblem("a key without the permission", o.Do(harness.Ask{Path: "/admin/v1/accounts"}), http.StatusForbidden, "", "admin")
}

// wantProblem compares a refusal with the document, and checks its text.
func (o *office) wantProblem(what string, r harness.Reply, status int, param, says string) {
	o.T.Helper()
	if r.Status != status || !strings.Contains(r.Body, says) {
		o.T.Errorf("%s: got %d %s, want %d that contains %s", what, r.Status, r.Body, status, says)
		return
	}
	if err := o.contract.Check(r, "components", "responses", "AdminProblem"); err != nil {
		o.T.Errorf("%s: %s: %v", what, r.Body, err)
	}
	var p map[string]any
	harness.Decode(o.T, r.Body, &p)
	want := param
	if want == "" {
		want = "<nil>"
	}
	if at(p, "param") != want || at(p, "status") != fmt.Sprint(status) || at(p, "request_id") != r.Header.Get("X-Request-Id") {
		o.T.Errorf("%s: got %s, want the param %q, the status %d, and the id of the header", what, r.Body, param, status)
	}
}

// TestAdministrationOnce checks the effect of an Idempotency-Key.
func TestAdministrationOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	post := func(path, body, once, key string) harness.Reply {
		return o.Do(harness.Ask{Path: "/admin/v1" + path, Body: body, Key: key, Header: []string{"Idempotency-Key", once}})
	}
	const path, body = "/accounts/default/keys", `{"label":"once"}`
	first := post(path, body, "k1", o.admin)
	again := post(path, body, "k1", o.admin)
	if first.Status != http.StatusCreated || again.Body != first.Body || again.Header.Get("Location") != first.Header.Get("Location") || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the same request again: got %d %s (%v), want %s", again.Status, again.Body, again.Header, first.Body)
	}
	if err := o.contract.Check(again, "paths", "/admin/v1/accounts/{account}/keys", "post", "responses", "201"); err != nil {
		t.Error(err)
	}
	if n := strings.Count(o.Do(harness.Ask{Path: "/admin/v1" + path, Key: o.admin}).Body, `"label":"once"`); n != 1 {
		t.Errorf("keys: got %d of that label, want 1", n)
	}
	var made map[string]any
	harness.Decode(t, first.Body, &made)
	o.wantSecretNowhere(at(made, "key"))

	o.wantProblem("another body", post(path, `{"label":"other"}`, "k1", o.admin), http.StatusConflict, "Idempotency-Key", "another request")
	o.wantProblem("another path", post("/accounts", body, "k1", o.admin), http.StatusConflict, "Idempotency-Key", "another request")
	o.wantProblem("too long", post(path, body, strings.Repeat("x", 256), o.admin), http.StatusBadRequest, "Idempotency-Key", "255")

	other := o.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}})
	if r := post(path, body, "k1", other); r.Status != http.StatusCreated || r.Body == first.Body || r.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("another person's request with the same key: got %d %s, want a key of its own", r.Status, r.Body)
	}
	for range 2 { // a refused request had no effect, and is sent again
		o.wantProblem("refused", post("/accounts", `{"name":"default"}`, "k2", o.admin), http.StatusBadRequest, "name", "already exists")
	}
	if r := post("/accounts", `{"name":"fine"}`, "k2", o.admin); r.Status != http.StatusCreated {
		t.Errorf("the key of a refused request: got %d %s, want it free", r.Status, r.Body)
	}
}

// wantSecretNowhere searches the database's files and the log for a secret.
func (o *office) wantSecretNowhere(secret string) {
	o.T.Helper()
	if len(secret) != 49 {
		o.T.Fatalf("the secret: got %q", secret)
	}
	files, err := filepath.Glob(filepath.Join(o.Data, "weir.db*"))
	if err != nil || len(files) == 0 {
		o.T.Fatalf("the database: got %v, %v", files, err)
	}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(o.T)
		if bytes.Contains(text, []byte(secret)) {
			o.T.Errorf("%s: got the secret in it", filepath.Base(file))
		}
	}
	if strings.Contains(o.Log.String(), secret) {
		o.T.Error("the log: got the secret in it")
	}
}

// TestAdministrationOnceAtOnce sends many equal requests at once: one account is credited once.
func TestAdministrationOnceAtOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				r := o.Do(harness.Ask{Path: "/admin/v1/accounts/default/credit", Body: `{"amount_usd":"5"}`, Key: o.admin, Header: []string{"Idempotency-Key", "pay"}})
				if r.Status == http.StatusCreated {
					return
				}
				if r.Status != http.StatusConflict {
					t.Errorf("got %d %s, want 201, or 409 while the first runs", r.Status, r.Body)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			t.Error("got no answer but 409")
		})
	}
	all.Wait()
	if got := at(o.call(200, "GET /accounts/{account}", "", "default"), "credit", "paid_usd"); got != "5" {
		t.Errorf("paid: got $%s, want $5", got)
	}
}

// TestAdministrationPages reads lists in pages of every size, and finds each member once.
func TestAdministrationPages(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	hook := at(o.call(201, "POST /webhooks", `{"url":"https://hooks.example.com/weir","events":["key.created"]}`), "id")
	for i := range 5 {
		o.call(201, "POST /accounts/{account}/webhooks", `{"url":"https://hooks.example.com/weir"}`, "default")
		o.call(201, "POST /accounts", fmt.Sprintf(`{"name":"a%d"}`, i))
		o.call(201, "POST /accounts/{account}/keys", fmt.Sprintf(`{"label":"k%d"}`, i), "default")
		o.call(201, "POST /accounts/{account}/invitations", fmt.Sprintf(`{"email":"u%d@example.com"}`, i), "default")
		if r := o.Chat("house/" + []string{"chat", "echo"}[i%2]); r.Status != http.StatusOK {
			t.Fatalf("chat: got %d %s", r.Status, r.Body)
		}
	}
	for what, want := range map[string]int{
		"/accounts": 6, "/accounts/default/webhooks": 5, "/webhooks/" + hook + "/deliveries": 5, "/accounts/default/keys": 7, "/accounts/default/invitations": 5, "/accounts/default/uses": 2,
		"/accounts/default/requests": 5, "/audit?action=account.": 6, "/users": 1, "/nodes": 1,
	} {
		whole := o.pages(what, 1000)
		if len(whole) != want {
			t.Errorf("%s: got %d, want %d", what, len(whole), want)
		}
		for _, size := range []int{1, 2, 5} {
			if got := o.pages(what, size); !slices.Equal(got, whole) {
				t.Errorf("%s by %d: got %d of %d, or in another order", what, size, len(got), len(whole))
			}
		}
	}
}

// pages returns the ids of a list, read in pages of that size.
func (o *office) pages(path string, size int) (all []string) {
	o.T.Helper()
	mark := "?"
	if strings.Contains(path, mark) {
		mark = "&"
	}
	cursor := ""
	for range 1000 {
		r := o.Do(harness.Ask{Path: fmt.Sprintf("/admin/v1%s%slimit=%d&cursor=%s", path, mark, size, url.QueryEscape(cursor)), Key: o.admin})
		var p struct {
			Data []map[string]any `json:"data"`
			Next *string          `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(r.Body), &p); err != nil || r.Status != http.StatusOK || len(p.Data) > size {
			o.T.Fatalf("%s by %d: got %d %s", path, size, r.Status, r.Body)
		}
		for _, d := range p.Data {
			all = append(all, at(d, "id")+at(d, "seq"))
		}
		if p.Next == nil {
			return all
		}
		cursor = *p.Next
	}
	o.T.Fatalf("%s by %d: got no end", path, size)
	return nil
}

// TestAdministrationExamples runs the examples of docs/admin-api.md in their order.
func TestAdministrationExamples(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("../../../docs/admin-api.md"))(t)
	o := openOffice(t)
	if r := o.Chat("house/echo"); r.Status != http.StatusOK {
		t.Fatalf("chat: got %d %s", r.Status, r.Body)
	}
	known := map[string]string{"USER_ID": o.owner}
	examples := exampleForm.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", ""), -1)
	if len(examples) < 10 {
		t.Fatalf("examples: got %d, want more", len(examples))
	}
	for _, e := range examples {
		command := e[1]
		a := harness.Ask{Key: o.admin}
		for _, m := range regexp.MustCompile(`-X (\w+)`).FindAllStringSubmatch(command, 1) {
			a.Method = m[1]
		}
		if strings.Contains(command, " -d ") {
			t.Errorf("%s: got -d, which curl sends as a form; want --json", command)
		}
		for _, m := range regexp.MustCompile(`--json '([^']*)'`).FindAllStringSubmatch(command, 1) {
			a.Body = m[1]
		}
		for _, m := range regexp.MustCompile(`-H '([^:']*): ([^']*)'`).FindAllStringSubmatch(command, -1) {
			a.Header = append(a.Header, m[1], m[2])
		}
		a.Path = regexp.MustCompile(`\$WEIR(/[^"\s]*)`).FindStringSubmatch(command)[1]
		for _, name := range slices.Sorted(maps.Keys(known)) {
			a.Path = strings.ReplaceAll(a.Path, "$"+name, known[name])
		}
		r := o.Do(a)
		if r.Status >= 300 {
			t.Errorf("%s: got %d %s", command, r.Status, r.Body)
			continue
		}
		remember(known, a.Path, r.Body)
	}
}

// exampleForm is a command of the page, on one line.
var exampleForm = regexp.MustCompile(`(?m)^(curl .*)$`)

// remember stores the ids that later examples name: of the last key, invitation, endpoint, delivery and request.
func remember(known map[string]string, path, body string) {
	var v map[string]any
	_ = json.Unmarshal([]byte(body), &v)
	for part, name := range map[string]string{"/keys": "KEY_ID", "/invitations": "INVITATION_ID", "/webhooks": "WEBHOOK_ID", "/test": "DELIVERY_ID"} {
		if strings.HasSuffix(path, part) && v["id"] != nil {
			known[name] = at(v, "id")
		}
	}
	if strings.Contains(path, "/requests?") {
		known["REQUEST_ID"] = at(v, "data", "0", "id")
	}
}
