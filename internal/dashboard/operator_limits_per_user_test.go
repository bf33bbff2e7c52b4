package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestOperatorsLimitEndUsersAndTags sets the limits of each end user of an account, and of each value of a tag, and
// removes them.
func TestOperatorsLimitEndUsersAndTags(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	const page = "/operator/accounts/acme"
	user := url.Values{"per_rpm": {"10"}, "per_budget": {"5"}, "per_period": {"month"}}
	s.come("ada", people.Owner)
	if got := s.send(t, "POST", page+"/per/set", user, nil); got.status != http.StatusForbidden {
		t.Errorf("an owner sets it: got %d, want 403", got.status)
	}
	s.come("olga", "")
	for name, form := range map[string]url.Values{
		"tag":        {"tag": {"a=b"}, "per_rpm": {"1"}},
		"per_rpm":    {"per_rpm": {"many"}},
		"per_budget": {"per_budget": {"0"}, "per_period": {"month"}},
	} {
		s.refused(t, page+"/per/set", form, name)
	}
	if got := s.send(t, "POST", page+"/per/set", url.Values{"per_budget": {"5"}, "per_period": {"total"}}, nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("in total: got %d, want 422", got.status)
	}
	s.do(t, page+"/per/set", user, page+"?done=limits-set")
	s.do(t, page+"/per/set", url.Values{"tag": {" team "}, "per_concurrency": {"2"}}, page+"?done=limits-set")
	must.Equal(t, s.account(t, "acme").Per, []account.Per{
		{Limits: account.Limits{RPM: 10}, Budget: account.Budget{Limit: 5 * llm.USD, Period: budget.PeriodMonth}},
		{Tag: "team", Limits: account.Limits{Concurrency: 2}},
	}, "limits of each")
	s.see(t, page, "Each end user", "requests per minute: 10, budget: $5.00 a month", "Each value of team")
	s.do(t, page+"/per/set", url.Values{"tag": {"team"}}, page+"?done=limits-set")
	if left := s.account(t, "acme").Per; len(left) != 1 || left[0].Tag != "" {
		t.Errorf("removed: got %+v", left)
	}
}
