package dashboard_test

import (
	"net/http"
	"net/url"
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
		of := alert.Source{Kind: kind, Account: account, Subject: subject, Own: account != ""}
		return alert.Condition{Source: of, Value: 9, Limit: 5, Text: text}
	}
	all := []alert.Condition{
		condition(alert.KeyRefusals, s.acme.ID, k.ID, "Nine were refused."), condition(alert.ErrorRate, s.other.ID, "", "Theirs failed."),
		condition(alert.UnpricedUsage, "", "house/new", "It has no price."),
	}
	ofOperators := condition(alert.KeyRefusals, s.acme.ID, k.ID, "Nine for operators.")
	ofOperators.Own = false
	all = append(all, ofOperators)
	_, _, err := s.store.Alerts.Write(t.Context(), all, s.store.Now())
	must.Do(t, err)
	s.come("ada", people.Viewer)
	for _, path := range []string{"/accounts/acme/alerts", "/accounts/acme"} {
		text := s.see(t, path, "Nine were refused.", "ci")
		if strings.Contains(text, "Theirs failed") || strings.Contains(text, "for operators") || strings.Contains(text, "no price") {
			t.Errorf("%s: got alerts of others", path)
		}
	}
	s.see(t, "/accounts/acme/alerts", "/accounts/acme/keys/"+k.ID, "ci", "The limits are the operator")
	s.come("grace", "")
	s.see(t, "/operator/alerts", "Nine for operators.", "/accounts/acme/keys/"+k.ID, "ci of acme")
	s.come("ada", people.Viewer)
	_, _, err = s.store.Alerts.Write(t.Context(), nil, s.store.Now())
	must.Do(t, err)
	if text := s.see(t, "/accounts/acme"); strings.Contains(text, "Nine were refused") {
		t.Error("overview: got an alert that has ended")
	}
}

// TestOwnersSetLimitsOfAlerts checks that an owner sets limits and removes them, that the page shows the limits in force,
// and that others cannot set them.
func TestOwnersSetLimitsOfAlerts(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	const path = "/accounts/acme/alerts"
	s.see(t, path, "Limits of this account", "from 25 % of attempts")
	send := func(errors, refusals string) answer {
		return s.send(t, http.MethodPost, path+"/set", url.Values{"error_rate": {errors}, "key_refusals": {refusals}}, nil)
	}
	must.Equal(t, send(" 10 ", "off").status, http.StatusSeeOther, "status")
	s.see(t, path, "from 10 % of attempts", "set by the account", `value="10"`, "Off")
	own := must.Get(s.store.Alerts.Limits(t.Context(), s.acme.ID))(t)
	must.Equal(t, own, alert.Limits{alert.ErrorRate: 10, alert.KeyRefusals: 0}, "limits")
	for _, wrong := range []string{"much", "-1", "1.5", "101"} {
		must.Equal(t, send(wrong, "").status, http.StatusUnprocessableEntity, "status of %q", wrong)
	}
	must.Equal(t, must.Get(s.store.Alerts.Limits(t.Context(), s.acme.ID))(t), own, "limits after mistakes")
	send("", "")
	if text := s.see(t, path, "from 25 % of attempts"); strings.Contains(text, "set by the account") {
		t.Error("got limits of the account, want those of the installation")
	}
	s.come("bob", people.Viewer)
	if text := s.see(t, path); strings.Contains(text, "Limits of this account") {
		t.Error("a viewer has the form")
	}
	must.Equal(t, send("1", "1").status, http.StatusForbidden, "status for a viewer")
}
