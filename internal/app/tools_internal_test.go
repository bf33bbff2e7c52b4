package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/admintool"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
)

// credential adds the credentials of a caller to requests.
type credential struct{ header, value string }

func (c credential) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(c.header, c.value)
	return http.DefaultTransport.RoundTrip(r)
}

// connectTools connects the official SDK's client to the tools of the administration at a path.
func connectTools(t *testing.T, g *instance, path string, c credential) *mcp.ClientSession {
	t.Helper()
	server := httptest.NewServer(g.site.handler())
	t.Cleanup(server.Close)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session := must.Get(client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: server.URL + path, HTTPClient: &http.Client{Transport: c}, MaxRetries: -1,
	}, nil))(t)
	t.Cleanup(func() { must.Do(t, session.Close()) })
	return session
}

// operatorTools connects to the tools with an operator's key.
func operatorTools(t *testing.T, g *instance, path string) *mcp.ClientSession {
	t.Helper()
	return connectTools(t, g, path, credential{"Authorization", "Bearer " + newKey(t, g, "bots", account.Admin)})
}

func namesOf(t *testing.T, session *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range session.Tools(t.Context(), nil) {
		must.Do(t, err)
		names = append(names, tool.Name)
	}
	return names
}

// callTool calls a tool and returns its text.
func callTool(t *testing.T, session *mcp.ClientSession, name string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range result.Content {
		text += c.(*mcp.TextContent).Text
	}
	return text, result.IsError
}

// isForModels reports whether an operation is a tool: it answers neither with a file nor with texts of others.
func isForModels(r *people.Route) bool {
	return r.Right != people.ReadContent && !strings.HasSuffix(r.Pattern, "/ledger/export") &&
		!strings.Contains(r.Pattern, "/mcp/tools")
}

// TestEveryOperationIsATool checks that the path for writing has a tool for every operation but those that answer
// with a file or with texts of others, and the other path exactly those that change nothing.
func TestEveryOperationIsATool(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	all := namesOf(t, operatorTools(t, g, admintool.WritePath))
	want := 0
	for _, r := range g.site.api.Admin.Routes() {
		if isForModels(&r) {
			want++
		}
	}
	if len(all) != want || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != want {
		t.Errorf("got %d tools %q, want %d, sorted and each once", len(all), all, want)
	}
	session := connectTools(t, g, admintool.Path, credential{"Authorization", "Bearer " + newKey(t, g, "readers", account.Admin)})
	reading := 0
	for tool, err := range session.Tools(t.Context(), nil) {
		must.Do(t, err)
		reading++
		if !tool.Annotations.ReadOnlyHint || !slices.Contains(all, tool.Name) {
			t.Errorf("got the tool %s with the hints %+v at the path for reading", tool.Name, tool.Annotations)
		}
		schema := must.Get(json.Marshal(tool.InputSchema))(t)
		var s jsonschema.Schema
		must.Do(t, json.Unmarshal(schema, &s))
		if _, err := s.Resolve(nil); err != nil {
			t.Errorf("%s: got the schema %s: %v", tool.Name, schema, err)
		}
	}
	gets := 1 // and the preview of a change
	for _, r := range g.site.api.Admin.Routes() {
		if strings.HasPrefix(r.Pattern, "GET ") && isForModels(&r) {
			gets++
		}
	}
	if reading != gets {
		t.Errorf("got %d tools that read, want %d", reading, gets)
	}
}

// TestToolAnswersAsItsOperation checks that a tool's result is the answer of its operation, filters included.
func TestToolAnswersAsItsOperation(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	session := operatorTools(t, s.instance, admintool.Path)
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		path      string
	}{
		{"account", map[string]any{"account": "acme"}, "/accounts/acme"},
		{"accounts", map[string]any{"limit": 1}, "/accounts?limit=1"},
		{"members", map[string]any{"account": "acme", "cursor": nil}, "/accounts/acme/members"},
		{"requests", map[string]any{"account": "acme", "tag": map[string]any{"tag.project": "a&b"}}, "/accounts/acme/requests?tag.project=a%26b"},
		{"config", nil, "/config"},
	} {
		got, failed := callTool(t, session, test.tool, test.arguments)
		got, _, _ = strings.Cut(got, "The version, for if_match: ")
		if want := s.do("operator", "GET "+test.path, "").Body.String(); failed || got != want {
			t.Errorf("%s %v: got %s, want %s", test.tool, test.arguments, got, want)
		}
	}
}

// TestToolsHaveTheCallersRights checks that people see only tools that they may call somewhere, and that a tool that
// they see refuses what they may not do.
func TestToolsHaveTheCallersRights(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	cookie := func(who string) credential { return credential{"Cookie", "weir=" + s.sessions[who]} }
	for _, test := range []struct {
		who         string
		sees, never []string
	}{
		{"viewer", []string{"account", "me", "keys"}, []string{"accounts", "make_key", "invite", "make_account", "content"}},
		{"member", []string{"account", "make_key"}, []string{"accounts", "invite", "make_account"}},
		{"owner", []string{"make_key", "invite"}, []string{"accounts", "make_account", "audit"}},
		{"operator", []string{"accounts", "make_account", "audit"}, []string{"content", "export_content", "ledger_export"}},
	} {
		names := namesOf(t, connectTools(t, s.instance, admintool.WritePath, cookie(test.who)))
		for _, name := range test.sees {
			if !slices.Contains(names, name) {
				t.Errorf("%s: got the tools %q, want also %s", test.who, names, name)
			}
		}
		for _, name := range test.never {
			if slices.Contains(names, name) {
				t.Errorf("%s: got the tool %s", test.who, name)
			}
		}
	}
	member := connectTools(t, s.instance, admintool.WritePath, cookie("member"))
	for name, arguments := range map[string]map[string]any{
		"accounts":     nil,
		"account":      {"account": "other"},
		"change_key":   {"account": "other", "key": "x", "body": map[string]any{"label": "mine"}},
		"make_account": {"body": map[string]any{"name": "mine"}},
	} {
		if got, failed := callTool(t, member, name, arguments); !failed {
			t.Errorf("%s %v by a member: got %s, want a refusal", name, arguments, got)
		}
	}
	if _, err := s.admin.Accounts.Account(t.Context(), "mine"); err == nil {
		t.Error("a member created an account by a tool")
	}
}

// TestToolsOfTwoPathsChangeApart checks that the path for reading changes nothing, and that an entry of the audit log
// names the tool, which the caller cannot choose.
func TestToolsOfTwoPathsChangeApart(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := credential{"Authorization", "Bearer " + newKey(t, g, "bots", account.Admin)}
	read, write := connectTools(t, g, admintool.Path, key), connectTools(t, g, admintool.WritePath, key)
	made := map[string]any{"body": map[string]any{"name": "made"}, "idempotency_key": "once"}
	if got, failed := callTool(t, read, "make_account", made); !failed {
		t.Errorf("make_account at the path for reading: got %s, want a refusal", got)
	}
	if _, err := g.admin.Accounts.Account(t.Context(), "made"); err == nil {
		t.Fatal("the path for reading made an account")
	}
	first, failed := callTool(t, write, "make_account", made)
	again, _ := callTool(t, write, "make_account", made)
	if failed || first != again {
		t.Errorf("make_account twice with an idempotency_key: got %s and %s, want the same", first, again)
	}
	entries := must.Get(g.admin.Audit.Entries(t.Context(), audit.Query{Action: audit.AccountCreated, Limit: 10}))(t)
	var tools []string
	for i := range entries {
		tools = append(tools, entries[i].Object.Name+" "+entries[i].Actor.Tool)
	}
	if want := []string{"made make_account", "bots "}; !cmp.Equal(tools, want) {
		t.Errorf("got the entries %q, want %q", tools, want)
	}
	if v := must.Get(g.admin.Audit.Verify(t.Context(), audit.Hash{}))(t); !v.Whole() {
		t.Errorf("got the verification %+v, want a whole chain", v)
	}
}

// post sends a message to the tools and returns the answer.
func (s *staff) post(who, path, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "https://gateway.example"+path, strings.NewReader(body))
	r.AddCookie(&http.Cookie{Name: "weir", Value: s.sessions[who]})
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// TestToolsServeBothEras lists tools by messages of the oldest and of the newest revision.
func TestToolsServeBothEras(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	const modern = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
	for _, test := range []struct {
		name, body string
		header     []string
		want       string
	}{
		{"begin of the old era", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil, `"protocolVersion":"2025-03-26"`},
		{"list of the old era", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Protocol-Version", "2025-06-18"}, `"name":"accounts"`},
		{"list of the new era", modern, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, `"cacheScope":"private"`},
	} {
		if w := s.post("operator", admintool.Path, test.body, test.header...); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: got %d %.500s, want %s", test.name, w.Code, w.Body, test.want)
		}
	}
}

// TestHostileToolCalls sends messages that must not reach an operation.
func TestHostileToolCalls(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	call := func(name, arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
	}
	for _, test := range []struct {
		name, who, body string
		header          []string
		status          int
		want            string
	}{
		{"nobody", "nobody", call("me", "{}"), nil, 401, "AUTHENTICATION_ERROR"},
		{"another site", "operator", call("me", "{}"), []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403, "another site"},
		{"many messages", "operator", "[" + call("me", "{}") + "," + call("me", "{}") + "]", nil, 400, "Send one JSON-RPC message"},
		{"two names", "operator", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me","name":"make_account"}}`, nil, 400, "appears twice"},
		{"a large message", "operator", call("me", `{"x":"`+strings.Repeat("a", 1<<20)+`"}`), nil, 413, "REQUEST_TOO_LARGE"},
		{"a path in a name", "operator", call("account", `{"account":"acme/keys"}`), nil, 200, `"isError":true`},
		{"a path upwards", "operator", call("key", `{"account":"acme","key":"../../other"}`), nil, 200, `"isError":true`},
		{"a header in a name", "operator", call("apply_config", `{"if_match":"x\r\nCookie: y","body":{}}`), nil, 200, "has one line"},
		{"no name", "operator", call("account", `{}`), nil, 200, "The argument account is missing"},
		{"an unknown filter", "operator", call("accounts", `{"limits":5}`), nil, 200, "is not an argument of accounts"},
		{"a filter twice", "operator", call("accounts", `{"limit":5,"limit":6}`), nil, 200, "appears twice"},
		{"no object", "operator", call("accounts", `[]`), nil, 200, "isError"},
	} {
		w := s.post(test.who, admintool.WritePath, test.body, test.header...)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: got %d %.500s, want %d %s", test.name, w.Code, w.Body, test.status, test.want)
		}
	}
}
