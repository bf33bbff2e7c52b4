package tools_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// subscribable returns the options of a server to whose resources clients may subscribe.
func subscribable() *sdk.ServerOptions {
	return &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	}
}

// TestClientsHearOfChangedListsAndResources listens with the official client, in the newest revision and an older one,
// to a server without sessions and to one with them.
func TestClientsHearOfChangedListsAndResources(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		for _, revision := range []string{"2026-07-28", "2025-11-25"} {
			t.Run(fmt.Sprintf("stateless %v, %s", stateless, revision), func(t *testing.T) {
				t.Parallel()
				p := openPeer(t, stateless, subscribable())
				p.offer()
				h := harness.Open(t, harness.Setup{YAML: p.yaml(offered)})
				var tools, prompts, resources, updated atomic.Int64
				session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", revision, &sdk.ClientOptions{
					ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { tools.Add(1) },
					PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) {
						prompts.Add(1)
					},
					ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {
						resources.Add(1)
					},
					ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
						if r.Params.URI != "doc://readme" {
							t.Errorf("updated: got %s, want only the resource that is allowed", r.Params.URI)
						}
						updated.Add(1)
					},
				})
				p.addSum("adds two numbers, and more")
				harness.Await(t, "the tools to change", func() bool { return tools.Load() > 0 })
				if got := names(must.Get(session.ListTools(t.Context(), nil))(t).Tools); strings.Contains(got, "sum") {
					t.Errorf("tools after the notification: got %s, want none that has changed", got)
				}
				must.Do(t, session.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "doc://readme"}))
				harness.Await(t, "the resource to change", func() bool {
					for _, uri := range []string{"secret://all", "doc://readme"} {
						must.Do(t, p.sdk.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: uri}))
					}
					return updated.Load() > 0
				})
				p.sdk.RemovePrompts("greet")
				p.sdk.RemoveResources("doc://readme")
				harness.Await(t, "all lists to change", func() bool {
					return prompts.Load() > 0 && resources.Load() > 0
				})
			})
		}
	}
}

// stream is the answer to a client that listens.
type stream struct {
	response *http.Response
	lines    *bufio.Scanner
}

const listening = `{"jsonrpc":"2.0","id":"l1","method":"subscriptions/listen","params":{"notifications":` +
	`{"toolsListChanged":true,"resourceSubscriptions":["doc://readme","secret://all"]},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// listen begins a stream, and reads the agreement.
func listen(t *testing.T, h *harness.Gateway, key string) *stream {
	t.Helper()
	s := openStream(t, h, harness.Ask{
		Path: "/mcp", Body: listening, Key: key, Header: []string{
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen",
		},
	})
	must.Equal(t, s.next(), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":`+
		`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["doc://readme"]},`+
		`"_meta":{"io.modelcontextprotocol/subscriptionId":"l1"}}}`, "the first event")
	return s
}

// openStream sends a request whose answer is a stream.
func openStream(t *testing.T, h *harness.Gateway, ask harness.Ask) *stream {
	t.Helper()
	response := must.Get(h.Client.Do(h.Request(ask)))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	must.Equal(t, response.StatusCode, http.StatusOK, "status")
	return &stream{response, bufio.NewScanner(response.Body)}
}

// next returns the data of the next event; empty at the end.
func (s *stream) next() string {
	for s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

func TestStreamOfNotificationsEndsWithItsKeyAndWithTheGateway(t *testing.T) {
	t.Parallel()
	p := openPeer(t, true, subscribable())
	p.offer()
	h := harness.Open(t, harness.Setup{YAML: p.yaml(offered)})
	revoked, lasting := toolKey(h, account.KeyOptions{}), toolKey(h, account.KeyOptions{})
	first, second := listen(t, h, revoked), listen(t, h, lasting)
	h.Administer(func(ctx context.Context, s *account.Service) error {
		p, err := s.Authenticate(ctx, revoked)
		if err == nil {
			_, err = s.RevokeKey(ctx, audit.Gateway(), p.Key().ID)
		}
		return err
	})
	if got := first.next(); !strings.Contains(got, `"error"`) || first.next() != "" {
		t.Errorf("the stream of a revoked key: got %q, want an error and the end", got)
	}
	p.addSum("adds two numbers, and more")
	want := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":` +
		`{"_meta":{"io.modelcontextprotocol/subscriptionId":"l1"}}}`
	must.Equal(t, second.next(), want, "after a change")
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop() }()
	got := second.next()
	for got == want { // the server's notification, and the changed list
		got = second.next()
	}
	must.Equal(t, got, `{"jsonrpc":"2.0","id":"l1","result":{"resultType":"complete",`+
		`"_meta":{"io.modelcontextprotocol/subscriptionId":"l1"}}}`, "when the gateway stops")
	_, err := io.Copy(io.Discard, second.response.Body)
	must.Do(t, err)
	must.Do(t, <-stopped)
}

// TestStreamEndsWhenFollowedServerChanges changes the server whose resource a stream follows.
func TestStreamEndsWhenFollowedServerChanges(t *testing.T) {
	t.Parallel()
	p := openPeer(t, true, subscribable())
	p.offer()
	h := harness.Open(t, harness.Setup{YAML: p.yaml(offered)})
	s := listen(t, h, toolKey(h, account.KeyOptions{}))
	h.Configure(p.yaml(offered + "    timeout: 30s\n"))
	h.Reloads <- struct{}{}
	for {
		switch got := s.next(); {
		case strings.Contains(got, "list_changed"):
			continue
		case !strings.Contains(got, `"result"`):
			t.Errorf("after another configuration: got %q, want the end of the stream", got)
		}
		return
	}
}
