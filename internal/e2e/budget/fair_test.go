package budget_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

const ownShare = "more than its share of the requests in flight"

// TestSlowSenders checks that an account that sends as slowly as possible occupies no more than its share of the slots,
// and another one is served meanwhile.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/chat", "/v1/realtime/client_secrets"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			checkSlowSenders(t, path)
		})
	}
}

func checkSlowSenders(t *testing.T, path string) {
	const places = 40
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + fmt.Sprintf("max_concurrency: %d\n", places)})
	slow := h.KeyOfNew("slow")
	address := strings.TrimPrefix(h.URL, "http://")
	for range places {
		conn := must.Get(net.Dial("tcp", address))(t)
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: weir\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", path, slow)
	}
	ask := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat"), Key: slow}
	harness.Await(t, "the account's own refusal", func() bool {
		r := h.Do(ask)
		return r.Status == 503 && strings.Contains(r.Body, ownShare)
	})
	// Refused requests hold a slot until their refusal: for milliseconds, or longer on a busy machine.
	harness.Await(t, "the senders beyond the share to be refused", func() bool { return h.Chat("house/chat").Status == 200 })
	for range 5 {
		if r := h.Chat("house/chat"); r.Status != 200 {
			t.Errorf("another account: got %d %s, want it served", r.Status, r.Body)
		}
	}
}

// TestGreedyStreams checks that accounts that request all slots for long streams leave room for another one, and that
// all their slots are released.
func TestGreedyStreams(t *testing.T) {
	t.Parallel()
	const places = 40
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + fmt.Sprintf("max_concurrency: %d\n", places)})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	served := 0
	for _, name := range []string{"one", "two", "three"} {
		key, refused := h.KeyOfNew(name), ""
		for range places {
			resp, err := h.Client.Do(h.Request(harness.Ask{Path: "/v1/chat", Key: key, Body: harness.Hello("house/chat:tokens=50,pace=30s"), Header: []string{"Accept", "text/event-stream"}}).WithContext(ctx))
			must.Do(t, err)
			defer resp.Body.Close()
			if served++; resp.StatusCode != http.StatusOK {
				body, _ := io.ReadAll(resp.Body)
				refused = string(body)
				served--
				break
			}
		}
		if !strings.Contains(refused, ownShare) {
			t.Errorf("%s: got %q, want the message about its share", name, refused)
		}
	}
	if served < places*9/10 || served == places {
		t.Errorf("%d streams of accounts that want all of %d places", served, places)
	}
	h.MustAnswer(h.Chat("house/chat"))
	if r := h.Do(harness.Ask{Path: "/metrics"}); !strings.Contains(r.Body, `weir_shed_total{priority="interactive",reason="account_concurrency"} 3`) {
		t.Error("the refusals are not counted as those of accounts")
	}
	leave()
	harness.Await(t, "all places to be free", func() bool {
		return strings.Contains(h.Do(harness.Ask{Path: "/metrics"}).Body, "weir_requests_in_flight 0")
	})
}
