package tools_test

import (
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// inSession sends a message of the session s1.
func inSession(h *harness.Gateway, key, method, uri string) harness.Reply {
	return h.Do(harness.Ask{
		Path: "/mcp", Key: key, Header: []string{"Mcp-Session-Id", "s1", "Accept", "application/json, text/event-stream"},
		Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/%s","params":{"uri":%q}}`, method, uri),
	})
}

// TestUnsubscribingLeavesOtherResources ends the notifications about one of two resources that a new stream of their
// session has got together.
func TestUnsubscribingLeavesOtherResources(t *testing.T) {
	t.Parallel()
	p := openPeer(t, true, subscribable())
	p.offer()
	h := harness.Open(t, harness.Setup{YAML: p.yaml(offered)})
	key := toolKey(h, account.KeyOptions{})
	for _, uri := range []string{"doc://readme", "doc://pages/7"} {
		must.Equal(t, inSession(h, key, "subscribe", uri).Status, http.StatusOK, "status")
	}
	s := openStream(t, h, harness.Ask{Path: "/mcp", Key: key, Header: []string{"Mcp-Session-Id", "s1"}})
	update := func(uri string) {
		must.Do(t, p.sdk.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: uri}))
	}
	heard := make(chan string, 100)
	go func() {
		for data := s.next(); data != ""; data = s.next() {
			heard <- data
		}
	}()
	harness.Await(t, "the resource to change", func() bool { update("doc://pages/7"); return len(heard) > 0 })
	must.Equal(t, inSession(h, key, "unsubscribe", "doc://pages/7").Status, http.StatusOK, "status")
	for len(heard) > 0 {
		<-heard
	}
	harness.Await(t, "the other resource to change", func() bool { update("doc://readme"); return len(heard) > 0 })
}
