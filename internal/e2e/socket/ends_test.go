package socket_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/must"
	"weir/internal/websocket"
)

// TestHandshakesAreChecked checks that the key, the rights of the account, the version and the origin decide about a
// WebSocket before it opens.
func TestHandshakesAreChecked(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "\ncors: {origins: [\"https://friend.example\"]}\n"})
	uses := h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	for name, tc := range map[string]struct {
		key    string
		header []string
		status int
	}{
		"no key":                 {"", nil, 401},
		"a wrong key":            {harness.StrangersKey(), nil, 401},
		"another permission":     {uses, nil, 403},
		"a stranger's site":      {h.Key, []string{"Origin", "https://stranger.example"}, 403},
		"an origin of no site":   {h.Key, []string{"Origin", "null"}, 403},
		"the friend's site":      {h.Key, []string{"Origin", "https://friend.example"}, 101},
		"the gateway's own site": {h.Key, []string{"Origin", h.URL}, 101},
		"a program":              {h.Key, nil, 101},
	} {
		c, res := handshake(t, h, tc.key, tc.header...)
		if (c != nil) != (tc.status == 101) || c == nil && res.StatusCode != tc.status {
			t.Errorf("%s: got %v, want %d", name, res, tc.status)
			continue
		}
		if c != nil {
			c.create(`"model":"house/chat","input":"x"`)
			c.completed()
		}
	}
	for name, header := range map[string][]string{
		"a plain GET":     nil,
		"another version": {"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "8"},
	} {
		r := h.Do(harness.Ask{Path: "/v1/responses", Header: header})
		if r.Status != http.StatusUpgradeRequired || r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-Websocket-Version") != "13" {
			t.Errorf("%s: got %d with %v, want 426: %s", name, r.Status, r.Header, r.Body)
		}
	}
}

// TestClosedWebSocketCancelsRequests checks that requests in flight end when their WebSocket does, and are charged for
// what the provider had done.
func TestClosedWebSocketCancelsRequests(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	c := dial(t, h)
	c.create(`"model":"house/chat:tokens=1000000,pace=10ms","stream_id":"a","input":"x"`)
	c.create(`"model":"house/chat:ttft=1h","stream_id":"b","input":"x"`)
	for c.next().Type != "response.output_text.delta" { //nolint:revive // until the answer has begun
	}
	harness.Await(t, "both requests at the provider", func() bool { return up.Ledger().Totals().Requests == 2 })
	c.Close(websocket.Normal, "")
	for _, r := range up.Records(t) {
		if !r.Canceled {
			t.Errorf("the provider's request was not cancelled: %+v", r)
		}
	}
	harness.Await(t, "two rows", func() bool { return h.Uses("").Total.Requests == "2" })
	h.Verify(t)
}

// TestRevokedKeysEndWebSockets checks that a WebSocket and its requests end when its key is revoked or its account is
// suspended, and that one with another key goes on.
func TestRevokedKeysEndWebSockets(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	own, asked := h.KeyOfNew("other"), int64(0)
	for name, do := range map[string]func(ctx context.Context, s *account.Service) error{
		"revoked": func(ctx context.Context, s *account.Service) error {
			keys, err := s.Keys(ctx, "default")
			if err == nil {
				_, err = s.RevokeKey(ctx, audit.Gateway(), keys[0].ID)
			}
			return err
		},
		"suspended": func(ctx context.Context, s *account.Service) error {
			_, err := s.Suspend(ctx, audit.Gateway(), "other")
			return err
		},
	} {
		key := map[string]string{"revoked": h.Key, "suspended": own}[name]
		c, _ := handshake(t, h, key)
		c.create(`"model":"house/chat:ttft=1h","input":"x"`)
		asked++
		harness.Await(t, "the request at the provider", func() bool { return up.Ledger().Totals().Requests == asked })
		h.Administer(do)
		code, messages := c.ended()
		if code != websocket.Refused || len(messages) == 0 || !strings.Contains(messages[len(messages)-1], `"status":40`) {
			t.Errorf("%s: got the code %d after %q, want 1008 after an error", name, code, messages)
		}
		if c, res := handshake(t, h, key); c != nil {
			t.Errorf("%s: got a WebSocket, want a refusal, %v", name, res)
		}
	}
}

// TestStoppingGatewayTellsClientsToComeAgain checks that an idle WebSocket is closed with 1012 when the gateway stops,
// and another after its answer in flight, and that it then takes no request.
func TestStoppingGatewayTellsClientsToComeAgain(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	idle, busy := dial(t, h), dial(t, h)
	busy.create(`"model":"house/chat:tokens=200,pace=10ms","input":"x"`)
	for busy.next().Type != "response.output_text.delta" { //nolint:revive // until the answer has begun
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop() }()
	if code, _ := idle.ended(); code != websocket.Restart {
		t.Errorf("an idle one: got the code %d, want 1012", code)
	}
	busy.create(`"model":"house/chat","stream_id":"late","input":"x"`)
	code, messages := busy.ended()
	all := strings.Join(messages, "\n")
	if code != websocket.Restart || !strings.Contains(all, `"response.completed"`) || !strings.Contains(all, `"stream_id":"late"`) {
		t.Errorf("a busy one: got the code %d, and the end of its answer: %t", code, strings.Contains(all, `"response.completed"`))
	}
	must.Do(t, <-stopped)
}

// TestOldWebSocketsEnd checks that a WebSocket ends after its life with an error, behind the answers in flight. A
// WebSocket that ends before its answer has begun shows only the error, so several are tried.
func TestOldWebSocketsEnd(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{
		YAML:   harness.ProvidersYAML(up.URL),
		Timing: gateway.Timing{Sockets: websocket.Timing{Life: time.Millisecond, Look: 500 * time.Millisecond}},
	})
	for range 20 {
		c := dial(t, h)
		c.create(`"model":"house/chat:tokens=100,pace=10ms","input":"x"`)
		code, messages := c.ended()
		last := len(messages) - 1
		if code != websocket.GoingAway || !strings.Contains(messages[last], `"websocket_connection_limit_reached"`) {
			t.Fatalf("got the code %d after %q", code, messages[max(0, last-1):])
		}
		if last < 5 {
			continue
		}
		if !strings.Contains(messages[last-1], `"response.completed"`) {
			t.Errorf("got %q before the end, want a whole answer", messages[last-1])
		}
		return
	}
	t.Error("no WebSocket lived until its answer began")
}
