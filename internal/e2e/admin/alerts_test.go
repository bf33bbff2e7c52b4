package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/alert"
	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/webhook"
)

// runAlerts runs the operations on alerts, with endpoints of each format.
func (o *office) runAlerts() {
	t := o.T
	o.call(400, "POST /alerts/{kind}/test", "", "spend_jump") // nobody receives it
	bodies := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.URL.Path + string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(receiver.Close)
	var made []string
	for _, format := range []string{"json", "slack", "teams"} {
		e := o.call(201, "POST /webhooks", fmt.Sprintf(`{"url":"%s/%s","format":%[2]q,"events":["alert.fired"],"allow_private":true}`, receiver.URL, format))
		if made = append(made, at(e, "id")); at(e, "format") != format {
			t.Errorf("the endpoint has the format %s, want %s", at(e, "format"), format)
		}
	}
	o.call(400, "POST /webhooks", `{"url":"https://example.com/x","format":"fax"}`)
	o.call(400, "POST /webhooks", `{"url":"mailto:ops@example.com","format":"mail"}`) // no mail is configured
	o.call(400, "POST /accounts/{account}/webhooks", `{"url":"mailto:ops@example.com","format":"mail"}`, "default")
	sent := o.call(200, "POST /alerts/{kind}/test", "", "spend_jump")
	if at(sent, "kind") != "spend_jump" || at(sent, "deliveries", "2") == "nothing" {
		t.Errorf("the test: got %v, want three deliveries", sent)
	}
	for range made {
		got := <-bodies
		want := map[string]string{
			"/json{": `"type":"alert.fired"`, "/slack": `{"text":"Weir: test of the alert spend jump\nThis is a test. `,
			"/teams": `{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive"`,
		}[got[:6]]
		if want == "" || !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	list := o.call(200, "GET /alerts", "")
	if at(list, "kinds", "0", "kind") != "budget_forecast" || at(list, "kinds", "0", "limit") != "100" || at(list, "alerts") != "[]" {
		t.Errorf("alerts: got %v, want all kinds, and none that fired: a test is no alert", list)
	}
	own := o.call(200, "GET /accounts/{account}/alerts", "", "default")
	if at(own, "kinds", "3", "kind") != "key_refusals" || at(own, "kinds", "4") != "nothing" || at(own, "alerts") != "[]" {
		t.Errorf("alerts of an account: got %v, want the kinds of accounts", own)
	}
	const limits = "PATCH /accounts/{account}/alerts"
	own = o.call(200, limits, `{"error_rate":10,"key_refusals":0,"spend_jump":null}`, "default")
	if at(own, "kinds", "2", "limit") != "10" || at(own, "kinds", "2", "default") != "25" || at(own, "kinds", "2", "own") != "true" ||
		at(own, "kinds", "3", "limit") != "0" || at(own, "kinds", "1", "own") != "false" {
		t.Errorf("limits of an account: got %v", own)
	}
	for _, wrong := range []string{`{"error_rate":-1}`, `{"error_rate":"10"}`, `{"spend_jump":50}`, `{"prices_old":5}`, `{"error_rate":1000001}`} {
		o.call(400, limits, wrong, "default")
	}
	list = o.call(200, "GET /alerts", "")
	if at(list, "kinds", "2", "limit") != "25" || at(list, "kinds", "3", "limit") != "100" {
		t.Errorf("got %v, want the limits of the installation", list)
	}
	o.call(200, limits, `{"error_rate":null,"key_refusals":null}`, "default")
	for _, id := range made {
		o.call(204, "DELETE /webhooks/{webhook}", "", id)
	}
}

// TestAlertsFireOnceAcrossRestarts refuses requests of a key until an alert fires, once in two gateways one after the
// other, and ends as it is switched off.
func TestAlertsFireOnceAcrossRestarts(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := harness.ProvidersYAML(up.URL) + "alerts: {refusals: 3, prices_days: 0}\n"
	h := harness.Open(t, harness.Setup{YAML: yaml})
	x := hook(h, t, "", webhook.AlertFired, webhook.AlertEnded)
	other := hook(h, t, "default", webhook.AlertFired)
	for range 4 {
		harness.WantError(t, h.Chat("nobody/has-this"), 404, "MODEL_NOT_FOUND")
	}
	must.Do(t, h.Stop())
	for i := range 3 { // within the five minutes that receivers accept
		later, want := time.Duration(i+1)*70*time.Second, webhook.AlertFired
		if i == 2 {
			want, yaml = webhook.AlertEnded, strings.Replace(yaml, "refusals: 3", "refusals: 0", 1)
		}
		h = harness.Open(t, harness.Setup{YAML: yaml, Dir: h.Data, Key: h.Key, Now: func() time.Time { return time.Now().Add(later) }})
		harness.Await(t, string(want), func() bool { return len(x.of(want)) > 0 && len(other.of(webhook.AlertFired)) > 0 })
		wantOwnAlert(t, h, want == webhook.AlertEnded)
		must.Do(t, h.Stop())
	}
	fired, ended := x.of(webhook.AlertFired), x.of(webhook.AlertEnded)
	if len(fired) != 1 || len(ended) != 1 {
		t.Fatalf("%d fired and %d ended, want one each", len(fired), len(ended))
	}
	a := fired[0].Data.Alert
	if a.Kind != string(alert.KeyRefusals) || a.Value != 4 || a.Limit != 3 || fired[0].Data.Account.Name != "default" ||
		fired[0].Data.Key.Last4 != h.Key[len(h.Key)-4:] {
		t.Errorf("got %+v of %+v, %+v", a, fired[0].Data.Account, fired[0].Data.Key)
	}
	if ended[0].Data.Alert.ID != a.ID || ended[0].Data.Alert.Ended == nil {
		t.Errorf("got %+v, want the end of %s", ended[0].Data.Alert, a.ID)
	}
}

// wantOwnAlert checks that the account of the key has the one alert.
func wantOwnAlert(t *testing.T, h *harness.Gateway, ended bool) {
	t.Helper()
	var list admin.AlertReport
	key := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "admin", Permissions: []account.Permission{account.Admin}})
	harness.Decode(t, h.Do(harness.Ask{Method: http.MethodGet, Path: "/admin/v1/accounts/default/alerts", Key: key}).Body, &list)
	if len(list.Alerts) != 1 || list.Alerts[0].Kind != alert.KeyRefusals || (list.Alerts[0].Ended != nil) != ended {
		t.Errorf("got %+v, want the alert of the account, ended: %t", list, ended)
	}
}
