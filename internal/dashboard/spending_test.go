package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"weir/internal/audit"
	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestUncertainSpendingIsShown checks that pages show the bound and the unpriced mark of a charge with every sum of a
// day, a key or a month, until it is corrected.
func TestUncertainSpendingIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	k := s.key(t, s.acme, "")
	gone, unpriced, october := used(s.acme, ago(0, 0), "openai/gpt"), used(s.acme, ago(0, 1), "openai/new"), used(s.acme, ago(40, 0), "openai/new")
	gone.Key, unpriced.Key = k.ID, k.ID
	gone.Outcome, gone.Provenance, gone.AtMost = ledger.OutcomeClientGone, ledger.Estimated, gone.Cost+llm.USD
	for _, e := range []*ledger.Entry{&unpriced, &october} {
		e.Price, e.Cost, e.Unpriced = llm.Price{}, 0, llm.Classes(0).With(llm.Input)
	}
	s.journal().apply(t, nil, gone, unpriced, october)
	bound := "at most $" + (gone.Cost + llm.USD).String()
	spent := "$" + gone.Cost.String() + ", " + bound + ", some unpriced"
	s.come("olga", "")
	s.do(t, "/accounts/acme/statements/close", url.Values{"month": {"2026-10"}}, "/accounts/acme/statements?done=statement-closed")
	s.come("ada", people.Viewer)
	for _, tt := range []struct{ path, from, to, want string }{
		{"/accounts/acme", "Spend by day", "</table>", spent},
		{"/accounts/acme", "Keys, highest spend first", "</table>", bound},
		{"/accounts/acme", "Keys, highest spend first", "</table>", "Some unpriced"},
		{"/accounts/acme/usage", "Spend by day", "</table>", spent},
		{"/accounts/acme/keys", "<tbody", "</table>", bound},
		{"/accounts/acme/keys", "<tbody", "</table>", "Some unpriced"},
		{"/accounts/acme/keys/" + k.ID, "Spend this month", "</dd>", spent},
		{"/accounts/acme/statements", "<tbody", "</table>", "Some unpriced"},
		{"/accounts/acme/statements/1", "<tfoot", "</table>", "some unpriced"},
	} {
		if part := between(s.see(t, tt.path), tt.from, tt.to); !strings.Contains(part, tt.want) {
			t.Errorf("%s, %s: got %s, want %q in it", tt.path, tt.from, part, tt.want)
		}
	}
	for _, e := range []*ledger.Entry{&unpriced, &october} {
		must.Do(t, s.store.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: 5, Reason: "bill"}))
	}
	for _, path := range []string{"/accounts/acme", "/accounts/acme/usage", "/accounts/acme/keys", "/accounts/acme/keys/" + k.ID, "/accounts/acme/requests"} {
		if text := s.see(t, path); strings.Contains(strings.ToLower(text), "unpriced") {
			t.Errorf("%s: got a mark after the correction", path)
		}
	}
	s.see(t, "/accounts/acme/requests/"+unpriced.ID.Request.String(), "bill; sets the cost of the usage without a price")
}

// TestMarksOfPurchase checks that members see no mark of a priced charge, and operators the mark of its unpriced cost.
func TestMarksOfPurchase(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	e := used(s.acme, ago(0, 0), "openai/new")
	e.Price, e.Cost, e.Terms = llm.Price{}, 0, &charge.Terms{Price: llm.Price{Version: "list/openai/new#1", Rates: llm.Rates{llm.Input: 1_000_000, llm.Output: 1_000_000}}}
	e.Usage = llm.Usage{llm.Input: 10, llm.Output: 5}
	e.Unpriced = e.Price.Unpriced(&e.Usage, "")
	e.SetCharge(&e.Settlement)
	j := s.journal()
	j.apply(t, nil, e)
	pages := []string{"/accounts/acme/usage", "/accounts/acme/requests", "/accounts/acme/requests/" + e.ID.Request.String()}
	s.come("ada", people.Owner)
	for _, path := range append(pages, "/accounts/acme") {
		text := strings.ToLower(s.see(t, path, "$0.000015"))
		for _, not := range []string{"unpriced", "without a price", "no price", "purchase"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: got %q in it", path, not)
			}
		}
	}
	s.come("olga", "")
	s.see(t, pages[1], "purchase cost: $0.00, some unpriced")
	s.see(t, pages[2], "Classes without a purchase price")
	s.see(t, "/operator/accounts", "purchase cost: $0.00, some unpriced")
}
