package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
)

// keyOfNew makes an account of that name, and a key of it.
func (h *testGateway) keyOfNew(name string) string {
	h.t.Helper()
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), name)
		return err
	})
	return h.newKey(account.KeyOptions{Account: name})
}

const ownShare = "more than its share of the requests in flight"

// TestSlowSenders holds that an account which sends as slowly as it can takes no
// more than its share of the places, and another one is served meanwhile.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	const places = 40
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url) + fmt.Sprintf("max_concurrency: %d\n", places)})
	slow := h.keyOfNew("slow")
	address := strings.TrimPrefix(h.url, "http://")
	for range places {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/chat HTTP/1.1\r\nHost: weir\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", slow)
	}
	ask := ask{path: "/v1/chat", body: hello("house/chat"), key: slow}
	await(t, "the account's own refusal", func() bool {
		r := h.do(ask)
		return r.status == 503 && strings.Contains(r.body, ownShare)
	})
	for range 5 {
		if r := h.chat("house/chat"); r.status != 200 {
			t.Errorf("another account: got %d %s, want it served", r.status, r.body)
		}
	}
}

// TestGreedyStreams holds that accounts which want all places for streams that take long
// leave room for another one, and that all they had is given back.
func TestGreedyStreams(t *testing.T) {
	t.Parallel()
	const places = 40
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url) + fmt.Sprintf("max_concurrency: %d\n", places)})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	served := 0
	for _, name := range []string{"one", "two", "three"} {
		key, refused := h.keyOfNew(name), ""
		for range places {
			resp, err := h.client.Do(h.request(ask{path: "/v1/chat", key: key, body: hello("house/chat:tokens=50,pace=30s"), header: []string{"Accept", "text/event-stream"}}).WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if served++; resp.StatusCode != http.StatusOK {
				body, _ := io.ReadAll(resp.Body)
				refused = string(body)
				served--
				break
			}
		}
		if !strings.Contains(refused, ownShare) {
			t.Errorf("%s: told %q, want that it has its share", name, refused)
		}
	}
	if served < places*9/10 || served == places {
		t.Errorf("%d streams of accounts that want all of %d places", served, places)
	}
	h.mustAnswer(h.chat("house/chat"))
	if r := h.do(ask{path: "/metrics"}); !strings.Contains(r.body, `weir_shed_total{priority="interactive",reason="account_concurrency"} 3`) {
		t.Error("the refusals are not counted as those of accounts")
	}
	leave()
	await(t, "all places to be free", func() bool {
		return strings.Contains(h.do(ask{path: "/metrics"}).body, "weir_requests_in_flight 0")
	})
}
