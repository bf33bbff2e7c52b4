package tools_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// asking returns a server with sessions and a tool that asks the client's person, and then its model.
func asking(t *testing.T) *peer {
	p := openPeer(t, false, nil)
	sdk.AddTool(p.sdk, &sdk.Tool{Name: "slow", Description: "asks"},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			asked, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which city?"})
			if err != nil {
				return nil, nil, err
			}
			_, err = r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1}) //nolint:staticcheck // older servers ask so
			return nil, map[string]any{"city": asked.Content["city"], "samples": err == nil}, nil
		})
	return p
}

// TestServerAsksClientOfOlderRevision calls a tool that asks during the call, with clients that can answer and with
// one that cannot.
func TestServerAsksClientOfOlderRevision(t *testing.T) {
	t.Parallel()
	p := asking(t)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	key := toolKey(h, account.KeyOptions{})
	call := func(revision string, o *sdk.ClientOptions) *sdk.CallToolResult {
		session := client(t, h, key, "/mcp", revision, o)
		return must.Get(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "peer__slow"}))(t)
	}
	able := func(city string) *sdk.ClientOptions {
		return &sdk.ClientOptions{
			ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"city": city}}, nil
			},
		}
	}
	for _, city := range []string{"Oslo", "Rome"} {
		got := call("2025-11-25", able(city))
		answer, _ := got.StructuredContent.(map[string]any)
		if got.IsError || answer["city"] != city || answer["samples"] != false {
			t.Errorf("a client in %s: got %v, want its city, and no model", city, got.StructuredContent)
		}
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		if got := call(revision, nil); !got.IsError {
			t.Errorf("%s, a client that cannot answer: got %v, want the tool's error", revision, got.StructuredContent)
		}
	}
	h.Verify(t)
}

// TestOnlyAskedSessionAnswers sends an answer with another key and with another session before the right one.
func TestOnlyAskedSessionAnswers(t *testing.T) {
	t.Parallel()
	p := asking(t)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	key, other := toolKey(h, account.KeyOptions{}), toolKey(h, account.KeyOptions{})
	begun := h.Do(harness.Ask{Path: "/mcp", Key: key, Body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}`})
	id := begun.Header.Get("Mcp-Session-Id")
	must.Equal(t, strings.HasSuffix(id, ".e"), true, "the session %s", id)
	s := openStream(t, h, harness.Ask{
		Path: "/mcp", Key: key, Header: []string{"Mcp-Session-Id", id},
		Body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"peer__slow"}}`,
	})
	asked := s.next()
	_, rest, _ := strings.Cut(asked, `"id":`)
	question, _, _ := strings.Cut(rest, ",")
	var wrong atomic.Int64
	for _, by := range []struct{ key, session, city string }{
		{other, id, "wrong"}, {key, "another" + id, "wrong"}, {key, "", "wrong"}, {key, id, "Oslo"},
	} {
		got := h.Do(harness.Ask{Path: "/mcp", Key: by.key, Header: []string{"Mcp-Session-Id", by.session}, Body: `{"jsonrpc":"2.0","id":` +
			question + `,"result":{"action":"accept","content":{"city":"` + by.city + `"}}}`})
		if got.Status != http.StatusAccepted {
			wrong.Add(1)
		}
	}
	must.Equal(t, wrong.Load(), int64(0), "answers that were not accepted")
	if got := s.next(); !strings.Contains(got, `"city":"Oslo"`) {
		t.Errorf("got %s, want the answer of the session that was asked", got)
	}
}
