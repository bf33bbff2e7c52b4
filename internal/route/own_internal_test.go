package route

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/must"
	"weir/internal/provider"
)

// TestOwnStateIsBounded checks that the state that accounts cause is bounded, and that later accounts find free places
// again.
func TestOwnStateIsBounded(t *testing.T) {
	t.Parallel()
	h, now := NewHealth(nil), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p, err := provider.New(provider.Options{Name: "a", Dialect: registrytest.All()[1], BaseURL: "https://a.example.com/v1"})
	must.Do(t, err)
	t.Cleanup(p.Close)
	fail := func(account, model string) {
		h.makeOwn(account, &Target{Provider: p, Model: model}, now).failed(now, "", 1)
	}
	for i := range 3 * maxOwn {
		fail("a", fmt.Sprint("m", i))
	}
	for i := range 2 * maxAccounts {
		fail(fmt.Sprint("account ", i), "m")
	}
	if len(h.owned) != maxAccounts || len(h.owned["a"]) != maxOwn {
		t.Errorf("%d accounts, %d circuits of one; want %d, %d", len(h.owned), len(h.owned["a"]), maxAccounts, maxOwn)
	}
	now = now.Add(longestOpen + time.Second)
	fail("late", "m")
	if len(h.owned) != 1 {
		t.Errorf("%d accounts after all is over, want the one that is new", len(h.owned))
	}
}
