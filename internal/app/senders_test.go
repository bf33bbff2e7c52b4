package app_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
)

// TestSlowSenders holds that an account which sends as slowly as it can takes no
// more than half of the places, and another one is served meanwhile.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	const places = 40
	up := newUpstream(t)
	h := open(t, setup{yaml: housed(up.url) + fmt.Sprintf("max_concurrency: %d\n", places)})
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), "slow")
		return err
	})
	slow := h.newKey(account.KeyOptions{Account: "slow"})
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
		return r.status == 503 && strings.Contains(r.body, "still being sent")
	})
	for range 5 {
		if r := h.chat("house/chat"); r.status != 200 {
			t.Errorf("another account: got %d %s, want it served", r.status, r.body)
		}
	}
}
