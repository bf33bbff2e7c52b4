package admin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestContentOfPromptHasParamsAndMessages gets a prompt of an MCP server while the account has the content log.
func TestContentOfPromptHasParamsAndMessages(t *testing.T) {
	t.Parallel()
	p := newToolPeer(t)
	p.sdk.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{
				Role: "user", Content: &sdk.TextContent{Text: "Hail " + r.Params.Arguments["who"]},
			}}}, nil
		})
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(p.yaml(), "tools:", `prompts: ["*"], tools:`, 1)})
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.UpdateAccount(ctx, audit.Gateway(), account.DefaultName, account.Update{ContentPercent: new(int64(100))})
		return err
	})
	key := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Permissions: []account.Permission{account.Tools},
	})
	harness.Await(t, "content of a prompt", func() bool {
		r := h.Do(harness.Ask{Path: "/mcp", Key: key, Body: `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":` +
			`{"name":"peer__greet","arguments":{"who":"Ada"}}}`})
		must.Equal(t, r.Status, http.StatusOK, "%s", r.Body)
		idle(h)
		return len(exported(h, "")) > 0
	})
	got := exported(h, "")[0]
	for _, want := range []string{`"method":"prompts/get"`, `"who":"Ada"`, "Hail Ada"} {
		if !strings.Contains(got, want) {
			t.Errorf("content %s: want %s", got, want)
		}
	}
}
