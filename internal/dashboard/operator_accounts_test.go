package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestAccountsAreSortedAndFound sorts the accounts of a month, shows how much of their budgets is used, and opens the
// one that is sought in the account switcher.
func TestAccountsAreSortedAndFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("olga", "")
	by := s.visitor.Actor(people.Origin{})
	must.Get(s.accounts.SetBudget(t.Context(), by, "acme", account.Budget{Limit: llm.USD / 200, Period: budget.PeriodMonth}))(t)
	s.journal().apply(t, nil, used(s.acme, ago(0, 0), "openai/gpt"), used(s.other, ago(0, 1), "openai/gpt"), used(s.other, ago(0, 2), "openai/gpt"), used(s.acme, ago(40, 0), "openai/gpt"))
	order := func(query string) bool { // whether acme is first
		t.Helper()
		text := s.see(t, "/operator/accounts?"+query, "Find an account")
		_, table, _ := strings.Cut(text, "<tbody>")
		return strings.Index(table, `href="/accounts/acme"`) < strings.Index(table, `href="/accounts/other"`)
	}
	if order("") || !order("sort=name") || order("sort=requests") || !order("month=2026-10") {
		t.Error("got acme in a wrong place: want it first by name and in October, and second by spend and requests")
	}
	s.see(t, "/operator/accounts", "46 %", "a month", `aria-sort="descending"`)
	if text := s.see(t, "/operator/accounts?month=2026-10", "in 2026-10"); strings.Contains(text, "46 %") {
		t.Error("October: got how much of this month's budget is used")
	}
	for _, query := range []string{"sort=luck", "month=2026-12", "month=x"} {
		if got := s.send(t, "GET", "/operator/accounts?"+query, nil, nil); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", query, got.status)
		}
	}
	for sought, to := range map[string]string{"other": "/accounts/other", "OTH": "/accounts/other", "": "/operator/accounts?q=", "e": "/operator/accounts?q=e"} {
		got := s.send(t, "GET", "/operator/find?q="+sought, nil, nil)
		if got.status != http.StatusSeeOther || got.header.Get("Location") != to {
			t.Errorf("%q: got %d to %q, want %q", sought, got.status, got.header.Get("Location"), to)
		}
	}
	s.come("ada", people.Owner)
	if text := s.see(t, "/accounts/acme"); strings.Contains(text, "/operator/find") {
		t.Error("an owner: got the search over all accounts")
	}
	if got := s.send(t, "GET", "/operator/find?q=other", nil, nil); got.status == http.StatusSeeOther {
		t.Error("an owner: found another account")
	}
}
