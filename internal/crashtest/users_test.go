//go:build unix

package crashtest_test

import (
	"strings"

	"weir/internal/budget"
	"weir/internal/llm"
)

// userLimit is the budget of each end user in a race: ten requests.
const userLimit = 10 * llm.USD

// users races for the budgets of three end users of an account, while nodes are killed. None is exceeded by the
// providers' charges, and in the end all of each can be spent.
func (f *fleet) users(name string, kills int) {
	f.t.Helper()
	people := []string{"ada", "bob", "eve"}
	r := race{name: name, kills: kills}
	for _, body := range races()[0].bodies {
		for _, user := range people {
			r.bodies = append(r.bodies, ofUser(body, user))
		}
	}
	m := f.newcomer(name, []string{"budget", "--per-user", "--usd", userLimit.String(), "--period", "month"})
	got := f.hold(&r, &m)
	f.settled(&m)
	for _, user := range people {
		f.fill(&m, ofUser(races()[0].bodies[0], user))
	}
	f.settled(&m)
	truth, all := f.truth(&m), userLimit*llm.Money(len(people))
	if truth > all || truth < all/8 {
		f.t.Errorf("%s: the providers charge $%s, want $%s to $%s", name, truth, all/8, all)
	}
	for _, user := range people {
		of := member{account: budget.UserScope(m.account, user)}
		if spent := f.spent(&of); spent != userLimit {
			f.t.Errorf("%s: %s has spent $%s, want $%s", name, user, spent, userLimit)
		}
	}
	f.t.Logf("%s: the providers charge $%s of $%s for three end users: %s", name, truth, all, got)
	if kills == 0 && got.away.Load() > 0 || got.other.Load() > 0 {
		f.t.Errorf("%s: got %s, want no others", name, got)
	}
}

// ofUser returns a body that names an end user.
func ofUser(body, user string) string { return strings.Replace(body, "{", `{"user":"`+user+`",`, 1) }
