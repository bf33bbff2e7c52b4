package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestStoredAnswersAreNamed checks that the list and the page of a request name a stored answer, which has no usage, no
// price and no provider's report.
func TestStoredAnswersAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	hit := used(s.acme, ago(2, 0), "openai/gpt")
	hit.Usage, hit.Cost, hit.Price, hit.Cached = llm.Usage{}, 0, llm.Price{}, ledger.Cached{Hit: true, Saved: 4_200_000}
	free := used(s.acme, ago(1, 0), "openai/gpt")
	free.Usage, free.Cost, free.Price, free.Cached = llm.Usage{}, 0, llm.Price{}, ledger.Cached{Hit: true}
	s.journal().apply(t, nil, hit, free)
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme/requests", "<small>stored answer</small>")
	for _, test := range []struct {
		of   ledger.Entry
		want string
	}{{hit, "a stored answer, which saved $0.0042"}, {free, "<dd>a stored answer</dd>"}} {
		text := s.see(t, "/accounts/acme/requests/"+test.of.ID.Request.String(), test.want)
		for _, not := range []string{"reported by the provider", "Version of the price", "saved $0.00<"} {
			if strings.Contains(text, not) {
				t.Errorf("a request with a stored answer: got %q", not)
			}
		}
	}
}

func TestKeyShowsAgeOfItsStoredAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	for age, want := range map[time.Duration]string{
		90 * time.Second: "at most 90s old", 15 * time.Minute: "at most 15m old", time.Hour: "at most 1h old",
		48 * time.Hour: "at most 2d old",
	} {
		k, _, err := s.accounts.CreateKey(t.Context(), audit.Gateway(), account.KeyOptions{
			Account: s.acme.ID, Label: age.String(), AnswerCache: age,
		})
		must.Do(t, err)
		s.see(t, "/accounts/acme/keys/"+k.ID, want)
	}
}
