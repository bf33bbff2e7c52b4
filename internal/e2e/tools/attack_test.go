package tools_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestHeadersCannotHideAnotherCall sends messages whose headers or members name two tools: proxies that decide by the
// headers would let another call pass. The message that names one is the control.
func TestHeadersCannotHideAnotherCall(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	key := toolKey(h, account.KeyOptions{})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	call := func(members string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + members + `,"arguments":{"a":1,"b":1},` + meta + `}}`
	}
	const sum = `"name":"peer__sum"`
	for _, test := range []struct {
		what, body string
		names      []string
		status     int
		calls      int64
	}{
		{"the same name", call(sum), []string{"peer__sum"}, http.StatusOK, 1},
		{"a name in base64", call(sum), []string{"=?base64?cGVlcl9fc3Vt?="}, http.StatusOK, 1},
		{"another name", call(sum), []string{"peer__slow"}, http.StatusBadRequest, 0},
		{"no name", call(sum), nil, http.StatusBadRequest, 0},
		{"two names", call(sum), []string{"peer__sum", "peer__slow"}, http.StatusBadRequest, 0},
		{"invalid base64", call(sum), []string{"=?base64?peer__sum?="}, http.StatusBadRequest, 0},
		{"another name in base64", call(sum), []string{"=?base64?cGVlcl9fc2xvdw==?="}, http.StatusBadRequest, 0},
		{"an escaped member", call(`"n\u0061me":"peer__sum"`), nil, http.StatusBadRequest, 0},
		{"two members", call(`"name":"peer__slow",` + sum), []string{"peer__slow"}, http.StatusOK, 0},
		{"a member in another case", call(`"name":"peer__slow","Name":"peer__sum"`), []string{"peer__slow"}, http.StatusOK, 0},
		{"a hidden tool", call(`"name":"peer__secret"`), []string{"peer__secret"}, http.StatusOK, 0},
		{"a batch", "[" + call(sum) + "]", []string{"peer__sum"}, http.StatusBadRequest, 0},
	} {
		before := p.calls.Load()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp", strings.NewReader(test.body)))(t)
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": test.names,
		}
		response := must.Get(h.Client.Do(r))(t)
		body := string(must.Get(io.ReadAll(response.Body))(t))
		must.Do(t, response.Body.Close())
		if got := p.calls.Load() - before; response.StatusCode != test.status || got != test.calls || test.calls == 0 && !strings.Contains(body, `"error"`) {
			t.Errorf("%s: got %d %s and %d calls, want %d and %d", test.what, response.StatusCode, body, got, test.status, test.calls)
		}
	}
}

// TestEqualPlainNamesAreListedOnce checks a bundle of plain names in which two servers have the same tool: the list has
// the one that is called.
func TestEqualPlainNamesAreListedOnce(t *testing.T) {
	t.Parallel()
	p, second := newPeer(t, true), newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml(fmt.Sprintf("  second:\n    url: %s\n    allow_private: true\n    tools: [\"s*\"]\n"+
		"mcp_bundles:\n  all:\n    tools: [\"*/*\"]\n    names: plain\n", second.URL))})
	session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp/all", "", nil)
	list := must.Get(session.ListTools(t.Context(), nil))(t)
	must.Equal(t, names(list.Tools), "paid slow sum secret", "tools")
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "sum", Arguments: map[string]int{"a": 1, "b": 1}})
	must.Do(t, err)
	if p.calls.Load() != 1 || second.calls.Load() != 0 {
		t.Errorf("got %d calls of the first server and %d of the second, want 1 and none", p.calls.Load(), second.calls.Load())
	}
}

// TestPageWithHostNameOfItsOwnIsRefused sends requests as a browser does for a page that points its own host name at
// the gateway (DNS rebinding). An origin with the gateway's address is the control.
func TestPageWithHostNameOfItsOwnIsRefused(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	key := toolKey(h, account.KeyOptions{})
	for host, want := range map[string]int{strings.TrimPrefix(h.URL, "http://"): http.StatusOK, "evil.example.com": http.StatusForbidden} {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))(t)
		r.Host, r.Header = host, http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}, "Origin": {"http://" + host},
		}
		response := must.Get(h.Client.Do(r))(t)
		must.Do(t, response.Body.Close())
		must.Equal(t, response.StatusCode, want, "the origin http://%s", host)
	}
}

// TestErrorOfCapabilityHasStatusOfLatestRevision passes a server's error for a client without an ability: in the latest
// revision with the status 400, before that as an answer.
func TestErrorOfCapabilityHasStatusOfLatestRevision(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	served := p.Config.Handler
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" {
			served.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"sampling is needed"}}`, idOf(t, r))
	})
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	key := toolKey(h, account.KeyOptions{})
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for revision, want := range map[string]int{"2026-07-28": http.StatusBadRequest, "2025-11-25": http.StatusOK} {
		of := ""
		if revision == "2026-07-28" {
			of = meta
		}
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"peer__sum","arguments":{}`+of+`}}`)))(t)
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}, "Mcp-Protocol-Version": {revision},
			"Mcp-Method": {"tools/call"}, "Mcp-Name": {"peer__sum"},
		}
		response := must.Get(h.Client.Do(r))(t)
		body := string(must.Get(io.ReadAll(response.Body))(t))
		must.Do(t, response.Body.Close())
		if response.StatusCode != want || !strings.Contains(body, "-32021") {
			t.Errorf("%s: got %d %s, want %d with the server's code", revision, response.StatusCode, body, want)
		}
	}
}
