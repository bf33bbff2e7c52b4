package dashboard_test

import (
	"strings"
	"testing"

	"weir/internal/alert"
	"weir/internal/must"
	"weir/internal/people"
)

// TestAccountSeesItsOwnAlerts checks that readers of an account see its alerts on its page and on the overview, with the
// label of the key, and none of another account or of the installation.
func TestAccountSeesItsOwnAlerts(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	k := s.key(t, s.acme, "ci")
	s.journal().apply(t, nil, used(s.acme, ago(1, 0), "openai/gpt"))
	condition := func(kind alert.Kind, account, subject, text string) alert.Condition {
		return alert.Condition{Source: alert.Source{Kind: kind, Account: account, Subject: subject}, Value: 9, Limit: 5, Text: text}
	}
	all := []alert.Condition{
		condition(alert.KeyRefusals, s.acme.ID, k.ID, "Nine were refused."), condition(alert.ErrorRate, s.other.ID, "", "Theirs failed."),
		condition(alert.UnpricedUsage, "", "house/new", "It has no price."),
	}
	_, _, err := s.store.Alerts.Write(t.Context(), all, s.store.Now())
	must.Do(t, err)
	s.come("ada", people.Viewer)
	for _, path := range []string{"/accounts/acme/alerts", "/accounts/acme"} {
		text := s.see(t, path, "Nine were refused.")
		if strings.Contains(text, "Theirs failed") || strings.Contains(text, "no price") {
			t.Errorf("%s: got alerts of others", path)
		}
	}
	s.see(t, "/accounts/acme/alerts", "/accounts/acme/keys/"+k.ID, "The operator sets the limits")
	_, _, err = s.store.Alerts.Write(t.Context(), nil, s.store.Now())
	must.Do(t, err)
	if text := s.see(t, "/accounts/acme"); strings.Contains(text, "Nine were refused") {
		t.Error("overview: got an alert that has ended")
	}
}
