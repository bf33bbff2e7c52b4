package account_test

import (
	"testing"
	"time"

	"weir/internal/account"
)

// TestKeyState checks when a key may be used: until it expires, and never after it is revoked.
func TestKeyState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	before, after := now.Add(-time.Microsecond), now.Add(time.Microsecond)
	for _, tt := range []struct {
		name             string
		expires, revoked *time.Time
		want             account.KeyState
	}{
		{"without an end", nil, nil, account.KeyActive},
		{"before its end", &after, nil, account.KeyActive},
		{"at its end", &now, nil, account.KeyExpired},
		{"behind its end", &before, nil, account.KeyExpired},
		{"revoked", nil, &before, account.KeyRevoked},
		{"revoked and behind its end", &before, &before, account.KeyRevoked},
	} {
		if got := (&account.Key{Expires: tt.expires, Revoked: tt.revoked}).State(now); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
