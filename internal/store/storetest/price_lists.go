package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/pricing"
)

// testPriceLists checks that price lists are stored as they were set, that a new one replaces later ones, and that
// the account does not see them in the audit log.
func testPriceLists(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	noon := time.Date(2026, 5, 5, 12, 0, 0, 1000, time.UTC)
	now := account.PriceList{Since: noon, Markup: 1500}
	later := account.PriceList{
		Since: noon.Add(time.Hour), Markup: -500,
		Prices: map[string]pricing.PriceOverride{"openai/*": {"input": "1.5"}},
	}
	sooner := account.PriceList{Since: noon.Add(time.Minute)}
	for _, tt := range []struct {
		set  account.PriceList
		want []account.PriceList
	}{
		{now, []account.PriceList{now}},
		{later, []account.PriceList{now, later}},
		{sooner, []account.PriceList{now, sooner}},
	} {
		a, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a", account.Update{PriceList: &tt.set})
		if err != nil || !cmp.Equal(a.PriceLists, tt.want) {
			t.Errorf("set %+v: err %v\n%s", tt.set, err, cmp.Diff(a.PriceLists, tt.want))
		}
		if got := must.Get(f.Accounts.List(t.Context(), "a"))(t); !cmp.Equal(got[0].PriceLists, tt.want) {
			t.Errorf("read back: %s", cmp.Diff(got[0].PriceLists, tt.want))
		}
	}
	if got := must.Get(f.Accounts.List(t.Context(), "b"))(t); got[0].PriceLists != nil {
		t.Errorf("another account: got %+v, want no list", got[0].PriceLists)
	}
	entries := logged(t, f, audit.Query{Action: audit.AccountPriced, Limit: 10})
	if len(entries) != 3 {
		t.Fatalf("%d entries of the audit log, want 3", len(entries))
	}
	for _, e := range entries {
		if e.Account != "" || e.Object.ID != "acc_a" {
			t.Errorf("an entry of the account %q about %q, want one of the installation", e.Account, e.Object.ID)
		}
	}
}
