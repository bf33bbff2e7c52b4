package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// replyCheck compares replies with the document, and records the compared ones.
type replyCheck struct {
	*harness.Contract
	h    *harness.Gateway
	mu   sync.Mutex
	seen map[string]bool // "post /v1/chat 200"
}

func (q *replyCheck) hold(t *testing.T, a harness.Ask, path string, want int) harness.Reply {
	t.Helper()
	r := q.h.Do(a)
	method := "get"
	switch {
	case a.Method != "":
		method = strings.ToLower(a.Method)
	case a.Body != "":
		method = "post"
	}
	if r.Status != want {
		t.Errorf("%s %s: status %d, want %d: %s", method, a.Path, r.Status, want, r.Body)
	}
	if err := q.Check(r, "paths", path, method, "responses", fmt.Sprint(r.Status)); err != nil {
		t.Errorf("%s %s: %v\n%s", method, a.Path, err, r.Body)
	}
	if strings.HasPrefix(a.Body, "{") && r.Status == http.StatusOK {
		if err := q.Violation(harness.Pointer("paths", path, "post", "requestBody", "content", "application/json", "schema"), a.Body); err != nil {
			t.Errorf("%s: the document refuses a request that was answered: %v\n%s", path, err, a.Body)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen[fmt.Sprintf("%s %s %d", method, path, r.Status)] = true
	return r
}

// unreachable lists statuses of the document that a test from outside cannot cause.
var unreachable = map[string]string{
	"402": "there are no budgets yet",
	"500": "no defect is known",
}

// TestRepliesKeepToDocument compares live replies of every path and status with the document: every kind of answer of
// every provider's wire format, and every error.
func TestRepliesKeepToDocument(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(everyDialect(up.URL), "providers:", "providers:"+mediaProviderYAML(t), 1) + "max_body: 64KiB\nmcp_bundles: {all: {tools: [\"*/*\"]}}\n"})
	_, c := h.Document()
	q := &replyCheck{Contract: c, h: h, seen: map[string]bool{}}
	t.Run("replies", func(t *testing.T) {
		for i, f := range harness.ChatAPIs() {
			t.Run(f.Path, func(t *testing.T) {
				t.Parallel()
				q.answers(t, &f)
				q.again(t, &f, i)
				q.failures(t, &f, i)
			})
		}
		t.Run("beside chat", func(t *testing.T) {
			t.Parallel()
			q.besideChat(t)
			q.kept(t)
			q.media(t)
		})
		t.Run("own", func(t *testing.T) { t.Parallel(); q.own(t) })
		t.Run("models", func(t *testing.T) { t.Parallel(); q.models(t) })
		t.Run("sockets", func(t *testing.T) { t.Parallel(); q.sockets(t) })
		t.Run("tools", func(t *testing.T) { t.Parallel(); q.tools(t) })
		t.Run("oauth", func(t *testing.T) { t.Parallel(); q.oauth(t) })
	})
	q.missed(t)
}

// everyDialect returns a configuration with a provider of each wire format; for each client API two whose failures
// affect no other, two with short timeouts, and an alias with a failing first target; and two providers of one model.
func everyDialect(url string) string {
	yaml, prices, aliases := "providers:", "prices:\n", "aliases:\n"
	for name, path := range harness.Spoken() {
		yaml += strings.NewReplacer("dialect: openai", "dialect: "+name, url+"/v1", url+path).Replace(harness.ProviderYAML(name+"-house", url))
		prices += "  " + name + `-house/*: {input: "0.15", output: "0.60"}` + "\n"
	}
	for i := range harness.ChatAPIs() {
		for _, stream := range []bool{false, true} {
			yaml += harness.ProviderYAML(bad(i, stream), url) + harness.Hasty(harness.ProviderYAML(hasty(i, stream), url), "700ms", "5s")
			aliases += fmt.Sprintf("  %s: {targets: [\"openai-house/chat:status=500,tokens=%d\", openai-house/echo]}\n", second(i, stream), strings.Count(aliases, "\n"))
		}
	}
	for _, name := range []string{"one", "other"} {
		yaml += harness.ProviderYAML(name, url) + "    models: [twin]\n"
	}
	return yaml + prices + aliases
}

// bad names the provider whose failures affect only one client API.
func bad(i int, stream bool) string { return fmt.Sprintf("bad-%d-%t", i, stream) }

// hasty names the provider with short timeouts for one client API, which answers no request on a busy machine.
func hasty(i int, stream bool) string { return fmt.Sprintf("hasty-%d-%t", i, stream) }

// second names an alias whose second target answers. Each has its own first one, because a failed one is not called
// again for a while.
func second(i int, stream bool) string { return fmt.Sprintf("second-%d-%t", i, stream) }

// missed reports statuses in the document that no reply had.
func (q *replyCheck) missed(t *testing.T) {
	t.Helper()
	for path, item := range q.Tree["paths"].(map[string]any) {
		if strings.HasPrefix(path, "/admin/v1/") { // TestAdministrationRunsEachOperation sees to these
			continue
		}
		for method := range item.(map[string]any) {
			responses, _ := q.Walk("paths", path, method, "responses")
			for status := range responses.(map[string]any) {
				if _, ok := unreachable[status]; !ok && !q.seen[method+" "+path+" "+status] && !isShut(method, path, status) {
					t.Errorf("%s %s: no reply of status %s was seen", method, path, status)
				}
			}
		}
	}
}

// isShut reports whether other tests cover a status: on paths without a provider, 503 is a database or a journal that
// is away, and 429 a flood of reports (store.TestReportsLeaveReaders); operations other than chat use the same
// pipeline, with the same errors; and TestAdministrationRunsEachOperation covers the administration.
func isShut(method, path, status string) bool {
	if isSocket(method, path) {
		return !slices.Contains([]string{"400", "401", "403", "405", "426"}, status)
	}
	asksModel := slices.ContainsFunc(harness.ChatAPIs(), func(f harness.ChatAPI) bool { return f.Path == path || f.Streamed == path })
	tried := []string{"200", "400", "401", "403", "404"}
	return strings.HasPrefix(path, "/admin/v1/") || strings.HasSuffix(path, "/uses") && status == "429" || !asksModel && (status == "503" || status == "529") || path == "/openapi.json" && status == "304" ||
		isBesideChat(path) && !slices.Contains(tried, status)
}

// answers requests whole answers and streams of every kind.
func (q *replyCheck) answers(t *testing.T, f *harness.ChatAPI) {
	for _, dialect := range slices.Sorted(maps.Keys(harness.Spoken())) {
		for _, tt := range []struct{ kind, model string }{
			{"plain", "echo"},
			{"plain", "reason"},
			{"plain", "chat:fault=refusal"},
			{"plain", "chat:fault=content-filter"},
			{"plain", "chat:cached=8,prompt=20,unicode"},
			{"plain", "chat:usage=missing"},
			{"tools", "tools:calls=2"},
			{"schema", "json"},
			{"two", "chat:n=2"},
		} {
			if tt.kind == "two" && (!strings.Contains(f.Path, "completions") || dialect != "openai" && dialect != "gemini") {
				continue // elsewhere a request has one answer
			}
			for _, stream := range []bool{false, true} {
				a, path := f.Ask(tt.kind, dialect+"-house/"+tt.model, stream)
				q.hold(t, a, path, http.StatusOK)
			}
		}
	}
}

// again sends requests with a fallback, twice with one Idempotency-Key, and for streams that break off.
func (q *replyCheck) again(t *testing.T, f *harness.ChatAPI, i int) {
	for _, stream := range []bool{false, true} {
		a, path := f.Ask("plain", second(i, stream), stream)
		if r := q.hold(t, a, path, http.StatusOK); stream && !strings.Contains(r.Body, `"weir":{"attempts":2`) {
			t.Errorf("%s: got no attempts in %s", a.Path, r.Body)
		}
		a, path = f.Ask("plain", "openai-house/echo", stream)
		a.Header = append(a.Header, "Idempotency-Key", fmt.Sprintf("%d %t", i, stream))
		q.hold(t, a, path, http.StatusOK)
		if !stream {
			if r := q.hold(t, a, path, http.StatusOK); r.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: got no replay", a.Path)
			}
		}
		a.Body = strings.Replace(a.Body, "Say", "Tell", 1)
		q.hold(t, a, path, http.StatusConflict)
	}
	for _, fault := range []string{"cut", "error-event"} {
		a, path := f.Ask("plain", bad(i, true)+"/chat:at=5,fault="+fault, true)
		if r := q.hold(t, a, path, http.StatusOK); !strings.Contains(r.Body, "error") && !strings.Contains(r.Body, "fail") {
			t.Errorf("%s: got no failure in %s", a.Path, r.Body)
		}
	}
}

// failures sends requests that are refused, and requests to failing providers.
func (q *replyCheck) failures(t *testing.T, f *harness.ChatAPI, i int) {
	onlyUses := q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	for _, stream := range []bool{false, true} {
		good, path := f.Ask("plain", "openai-house/echo", stream)
		with := func(change func(*harness.Ask)) harness.Ask { a := good; change(&a); return a }
		q.hold(t, with(func(a *harness.Ask) { a.Body = "{" }), path, http.StatusBadRequest)
		q.hold(t, with(func(a *harness.Ask) { a.Key = "wk_wrong" }), path, http.StatusUnauthorized)
		q.hold(t, with(func(a *harness.Ask) { a.Key = onlyUses }), path, http.StatusForbidden)
		q.hold(t, with(func(a *harness.Ask) { a.Body += strings.Repeat(" ", 64<<10) }), path, http.StatusRequestEntityTooLarge)
		q.hold(t, with(func(a *harness.Ask) { a.Header = append(slices.Clone(a.Header), "Content-Type", "text/xml") }), path, http.StatusUnsupportedMediaType)
		down := http.StatusServiceUnavailable
		if f.Path == "/v1/messages" {
			down = 529
		}
		for _, tt := range []struct {
			model  string
			status int
		}{
			{"nobody/x", http.StatusNotFound},
			{bad(i, stream) + "/nothing", http.StatusNotFound},
			{bad(i, stream) + "/chat:fault=context-length", http.StatusBadRequest},
			{bad(i, stream) + "/chat:status=413", http.StatusRequestEntityTooLarge},
			{bad(i, stream) + "/chat:status=500", http.StatusBadGateway},
			{bad(i, stream) + "/chat:status=503", down},
			{hasty(i, stream) + "/chat:fault=silence", http.StatusGatewayTimeout},
			{bad(i, stream) + "/chat:status=429,retry_after=7", http.StatusTooManyRequests},
		} {
			a, path := f.Ask("plain", tt.model, stream)
			q.hold(t, a, path, tt.status)
		}
		r := q.h.Do(with(func(a *harness.Ask) { a.Method = http.MethodPut }))
		if err := q.Check(r, "components", "responses", f.Wrong); err != nil || r.Status != http.StatusMethodNotAllowed {
			t.Errorf("PUT %s: %d, %v", good.Path, r.Status, err)
		}
	}
}

// own sends requests to the service's own paths, except for chat.
func (q *replyCheck) own(t *testing.T) {
	onlyChat := q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Chat}})
	q.h.Chat("openai-house/echo")
	for _, path := range []string{"/v1/uses", "/uses"} {
		r := q.hold(t, harness.Ask{Path: path + "?limit=1000"}, path, http.StatusOK)
		if !strings.Contains(r.Body, `"model":"openai-house/echo"`) {
			t.Errorf("%s: got no entry in %s", path, r.Body)
		}
		q.hold(t, harness.Ask{Path: path + "?start_date=2001-01-01&end_date=2001-01-02&limit=1&offset=3"}, path, http.StatusOK)
		q.hold(t, harness.Ask{Path: path + "?limit=0"}, path, http.StatusBadRequest)
		q.hold(t, harness.Ask{Path: path + "?model=%00"}, path, http.StatusBadRequest)
		q.hold(t, harness.Ask{Path: path, Key: harness.NoKey}, path, http.StatusUnauthorized)
		q.hold(t, harness.Ask{Path: path, Key: onlyChat}, path, http.StatusForbidden)
		large := q.h.Do(harness.Ask{Method: http.MethodGet, Path: path, Body: strings.Repeat(" ", 65<<10)})
		if err := q.Check(large, "paths", path, "get", "responses", "413"); err != nil || large.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s with a large body: %d, %v", path, large.Status, err)
		}
		q.mu.Lock()
		q.seen["get "+path+" 413"] = true
		q.mu.Unlock()
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/openapi.json"} {
		q.hold(t, harness.Ask{Path: path, Key: harness.NoKey}, path, http.StatusOK)
	}
	q.hold(t, harness.Ask{Path: "/readyz?verbose", Key: harness.NoKey}, "/readyz", http.StatusOK)
	for _, path := range []string{"/readyz?verbose", "/metrics", "/openapi.json"} {
		plain, _, _ := strings.Cut(path, "?")
		q.hold(t, harness.Ask{Path: path, Key: harness.NoKey, Header: []string{"Host", "evil.example"}}, plain, http.StatusMisdirectedRequest)
	}
	if err := q.Check(q.h.Do(harness.Ask{Path: "/nothing"}), "components", "responses", "NotFound"); err != nil {
		t.Errorf("a path that is not there: %v", err)
	}
}

// models lists and requests models in each format.
func (q *replyCheck) models(t *testing.T) {
	onlyUses := q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	anthropics := []string{"Anthropic-Version", "2023-06-01"}
	for _, tt := range []struct {
		list, one, query string
		header           []string
	}{
		{"/v1/models", "/v1/models/{model}", "limit=0", nil},
		{"/v1/models", "/v1/models/{model}", "limit=0", anthropics},
		{"/v1beta/models", "/v1beta/models/{model}", "pageSize=-1", nil},
	} {
		one := func(name string) string { return tt.list + "/" + name }
		q.hold(t, harness.Ask{Path: tt.list, Header: tt.header}, tt.list, http.StatusOK)
		q.hold(t, harness.Ask{Path: one("second-0-true"), Header: tt.header}, tt.one, http.StatusOK)
		q.hold(t, harness.Ask{Path: one("nothing"), Header: tt.header}, tt.one, http.StatusNotFound)
		q.hold(t, harness.Ask{Path: one("twin"), Header: tt.header}, tt.one, http.StatusBadRequest)
		for _, key := range []struct {
			key    string
			status int
		}{{harness.NoKey, http.StatusUnauthorized}, {onlyUses, http.StatusForbidden}} {
			q.hold(t, harness.Ask{Path: tt.list, Header: tt.header, Key: key.key}, tt.list, key.status)
			q.hold(t, harness.Ask{Path: one("second-0-true"), Header: tt.header, Key: key.key}, tt.one, key.status)
		}
		if tt.header != nil || tt.list == "/v1beta/models" {
			q.hold(t, harness.Ask{Path: tt.list + "?" + tt.query, Header: tt.header}, tt.list, http.StatusBadRequest)
		}
	}
}
