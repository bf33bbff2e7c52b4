package tools_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestSecondNameReachesNoServer sends params that name what the key may use and, in a second member, what it may not:
// the server may read the second one. The message that names one is the control.
func TestSecondNameReachesNoServer(t *testing.T) {
	t.Parallel()
	completed := ""
	p := newPeerWith(t, &sdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			completed += r.Params.Ref.Name + r.Params.Ref.URI + " "
			return &sdk.CompleteResult{}, nil
		},
	})
	p.offer()
	h := harness.Open(t, harness.Setup{YAML: p.yaml(offered)})
	key := toolKey(h, account.KeyOptions{})
	const argument, secret = `,"argument":{"name":"who","value":"A"}`, `"uri":"secret://all"`
	for _, test := range []struct {
		what, method, params string
		fine                 bool
	}{
		{"one uri", "resources/read", `"uri":"doc://readme"`, true},
		{"two uris", "resources/read", `"uri":"doc://readme",` + secret, false},
		{"two uris, one in another case", "resources/read", `"uri":"doc://readme","URI":"secret://all"`, false},
		{"one prompt", "prompts/get", `"name":"peer__greet","arguments":{"who":"Ada"}`, true},
		{"two prompts", "prompts/get", `"name":"peer__greet","name":"private"`, false},
		{"two _meta", "prompts/get", `"name":"peer__greet","_meta":{},"_meta":{}`, false},
		{"one ref", "completion/complete", `"ref":{"type":"ref/prompt","name":"peer__greet"}` + argument, true},
		{"two refs", "completion/complete", `"ref":{"type":"ref/prompt","name":"peer__greet"},"ref":{"type":"ref/resource",` + secret + `}` + argument, false},
		{"two names", "completion/complete", `"ref":{"type":"ref/prompt","name":"peer__greet","name":"private"}` + argument, false},
		{"two uris", "completion/complete", `"ref":{"type":"ref/resource","uri":"doc://readme",` + secret + `}` + argument, false},
		{"two types", "completion/complete", `"ref":{"type":"ref/prompt","name":"peer__greet","type":"ref/resource",` + secret + `}` + argument, false},
		{"two arguments", "completion/complete", `"ref":{"type":"ref/prompt","name":"peer__greet"},"argument":{}` + argument, false},
	} {
		before := p.calls.Load()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"`+test.method+`","params":{`+test.params+`}}`)))(t)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}}
		response := must.Get(h.Client.Do(r))(t)
		body := string(must.Get(io.ReadAll(response.Body))(t))
		must.Do(t, response.Body.Close())
		if strings.Contains(body, `"result"`) != test.fine || !test.fine && p.calls.Load() != before {
			t.Errorf("%s, %s: got %s and %d calls, want success %v", test.method, test.what, body, p.calls.Load()-before, test.fine)
		}
	}
	must.Equal(t, completed, "greet ", "completions that the server got")
}
