package dashboard

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/webhook"
)

const sampleHookPath = "/accounts/acme/webhooks"

// sampleHook returns an endpoint of an account.
func sampleHook(change func(*webhook.Endpoint)) webhook.Endpoint {
	e := webhook.Endpoint{
		ID: "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b01", Account: "acc-1", URL: "https://hooks.example.com/weir?from=acme",
		Types: []webhook.Type{webhook.KeyCreated, webhook.BudgetThreshold}, Created: testTime.AddDate(0, 0, -9),
	}
	if change != nil {
		change(&e)
	}
	return e
}

func failingHook(since time.Duration) webhook.Endpoint {
	return sampleHook(func(e *webhook.Endpoint) {
		e.ID, e.Failing, e.Types = "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b02", new(testTime.Add(-since)), nil
		e.URL = "https://a-long-name-of-a-host.internal.example.com:8443/a/long/path/that/breaks/somewhere/" + strings.Repeat("x", 80)
	})
}

func disabledHook(why string) webhook.Endpoint {
	return sampleHook(func(e *webhook.Endpoint) {
		e.ID, e.Disabled, e.Why, e.AllowPrivate = "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b03", new(testTime.AddDate(0, 0, -2)), why, true
		e.URL, e.Types = "https://example.com/"+hostile, nil
		for _, k := range webhook.Kinds() {
			e.Types = append(e.Types, k.Type)
		}
	})
}

// sampleDeliveries returns deliveries in every state, the newest first.
func sampleDeliveries() []webhook.Delivery {
	due := testTime.Add(9 * time.Minute)
	return []webhook.Delivery{
		{ID: "019aa3a0-0000-7000-8000-000000000004", Event: "019aa39e-0000-7000-8000-000000000004", Type: webhook.Test, At: testTime, State: webhook.Pending, Due: &testTime},
		{ID: "019aa3a0-0000-7000-8000-000000000003", Event: "019aa39e-0000-7000-8000-000000000003", Type: webhook.BudgetThreshold, At: testTime.Add(-time.Minute), State: webhook.Pending, Due: &due, Tries: 3, Last: &webhook.Try{N: 3, At: testTime, Took: 15 * time.Second, Error: strings.Repeat("no complete answer within 15s ", 9)}},
		{ID: "019aa3a0-0000-7000-8000-000000000002", Event: "019aa39e-0000-7000-8000-000000000002", Type: webhook.RateLimitExceeded, At: testTime.AddDate(0, 0, -4), State: webhook.Failed, Ended: &testTime, Tries: 14, Last: &webhook.Try{N: 14, At: testTime, Took: 31 * time.Millisecond, Status: 500, Error: "the receiver did not answer with 2xx", Answer: hostile}},
		{ID: "019aa3a0-0000-7000-8000-000000000001", Event: "019aa39e-0000-7000-8000-000000000001", Type: webhook.KeyCreated, At: testTime.AddDate(0, 0, -5), State: webhook.Delivered, Ended: &testTime, Tries: 1, Last: &webhook.Try{N: 1, At: testTime, Took: 48 * time.Millisecond, Status: 204}},
	}
}

func webhookSamples() []sample {
	home := hookHome{"acc-1", sampleHookPath}
	well, failing, off := sampleHook(nil), failingHook(50*time.Hour), disabledHook("its receiver answered 410 Gone")
	deliveries := sampleDeliveries()
	crowd := []webhook.Endpoint{well, failing, off}
	for len(crowd) < webhook.MaxEndpoints {
		crowd = append(crowd, well)
	}
	list := func(home hookHome, list []webhook.Endpoint) page {
		return page{name: "webhooks", title: "Webhooks", data: hooksPageOf(home, list, map[string]webhook.Delivery{well.ID: deliveries[3], off.ID: deliveries[2]})}
	}
	wrong := &form{values: url.Values{"url": {hostile}, "events": {string(webhook.KeyCreated), hostile}, "allow_private": {"on"}}}
	readHook(home, false, wrong)
	wrong.mistake("url", "The address \"ftp://example.com/\" is invalid. Write it like \"https://example.com/hooks/weir\".")
	entry := func(home hookHome, operator bool, f *form) page {
		return page{name: "webhook-new", title: "Add an endpoint", data: newHookPageOf(home, operator, f)}
	}
	secret := func(former *time.Time) page {
		return page{name: "webhook-secret", title: "Secret of the new endpoint", data: hookSecretPage{
			Title: "Secret of the new endpoint", URL: failing.URL, Secret: "whsec_VGhpcyBpcyBubyBzZWNyZXQsIGJ1dCBhcyBsb25nPT0=", Former: former, Back: home.path + "/" + well.ID, Check: checkSnippets,
		}}
	}
	return append([]sample{
		{"webhooks", sampleHookPath, people.Owner, list(home, crowd[:3])},
		{"webhooks-full", sampleHookPath, people.Owner, list(home, crowd)},
		{"webhooks-empty", sampleHookPath, people.Owner, list(home, nil)},
		{"webhooks-operator", webhooksPath, "", list(hookHome{path: webhooksPath}, crowd[:1])},
		{"webhook-new", sampleHookPath + "/new", people.Owner, entry(home, false, &form{})},
		{"webhook-new-operator", webhooksPath + "/new", "", entry(hookHome{path: webhooksPath}, true, &form{})},
		{"webhook-new-wrong", sampleHookPath + "/new", people.Owner, entry(home, false, wrong)},
		{"webhook-secret", sampleHookPath + "/new", people.Owner, secret(nil)},
		{"webhook-secret-rotated", sampleHookPath + "/new", people.Owner, secret(new(testTime.Add(webhook.RotateFor)))},
	}, oneWebhookSamples(home, deliveries)...)
}

func oneWebhookSamples(home hookHome, deliveries []webhook.Delivery) []sample {
	one := func(e webhook.Endpoint, operator bool, f *form, q webhook.DeliveryQuery, list []webhook.Delivery) page {
		p := hookPageOf(home, operator, &e, f)
		p.list(q, list)
		return page{name: "webhook", title: "Webhook endpoint", data: p}
	}
	var many []webhook.Delivery
	for len(many) <= deliveriesShown {
		many = append(many, deliveries...)
	}
	wrong := &form{values: url.Values{"url": {hostile}}}
	wrong.mistake("url", "The address \"ftp://example.com/\" is invalid. Write it like \"https://example.com/hooks/weir\".")
	rotated := sampleHook(func(e *webhook.Endpoint) { e.Rotated, e.AllowPrivate = new(testTime.Add(20*time.Hour)), true })
	at := sampleHookPath + "/" + rotated.ID
	details := func(e webhook.Endpoint, d webhook.Delivery, tries int, answer string) page {
		full := webhook.Detail{Delivery: d, URL: e.URL, Payload: []byte(`{"id":"019aa39e","type":"key.created","version":1,"data":{"key":{"label":"\u003cb\u003e"}}}`)}
		if d.Last != nil {
			for n := range tries {
				t := *d.Last
				t.N, t.Answer = n+1, answer
				full.History = append(full.History, t)
			}
		}
		return page{name: "webhook-delivery", title: "Delivery", data: deliveryPageOf(home, &e, &full)}
	}
	return []sample{
		{"webhook", at, people.Owner, one(rotated, false, &form{}, webhook.DeliveryQuery{}, deliveries)},
		{"webhook-failing", at, "", one(failingHook(3*time.Hour), true, &form{}, webhook.DeliveryQuery{State: webhook.Failed, Before: "x"}, many)},
		{"webhook-disabled", at, "", one(disabledHook(webhook.ByHand), true, &form{}, webhook.DeliveryQuery{State: webhook.Failed}, nil)},
		{"webhook-fresh", at, people.Owner, one(sampleHook(nil), false, wrong, webhook.DeliveryQuery{}, nil)},
		{"webhook-delivery", at + "/deliveries/x", people.Owner, details(rotated, deliveries[2], 2, hostile+"\u202eesrever\n"+strings.Repeat("x", 300))},
		{"webhook-delivery-waiting", at + "/deliveries/x", people.Owner, details(rotated, deliveries[0], 0, "")},
		{"webhook-delivery-retried", at + "/deliveries/x", people.Owner, details(rotated, deliveries[1], 3, "")},
		{"webhook-delivery-disabled", at + "/deliveries/x", people.Owner, details(disabledHook(webhook.ByHand), deliveries[3], 1, "ok")},
		{"webhook-delivery-most", at + "/deliveries/x", people.Owner, details(rotated, deliveries[2], mostTries+5, strings.Repeat(`"`, 4<<10))},
		{"start-webhooks", "/accounts/acme", people.Owner, page{name: "start", title: "Overview", data: startPage{
			KeysPath: "/accounts/acme/keys", MembersAt: "/accounts/acme/members", Curl: Code{Ident: "first-call", Label: "A first call", Text: "curl"},
			Hooks: hookNoticesOf(home, []webhook.Endpoint{failingHook(50 * time.Hour), disabledHook("its receiver answered 410 Gone")}, testTime),
		}}},
	}
}

// TestHookNotices checks which endpoints other pages report.
func TestHookNotices(t *testing.T) {
	t.Parallel()
	home := hookHome{path: webhooksPath}
	for name, c := range map[string]struct {
		endpoint webhook.Endpoint
		want     []string // kinds
	}{
		"well":                      {sampleHook(nil), nil},
		"failing for an hour":       {failingHook(time.Hour), nil},
		"failing for a day":         {failingHook(noticedAfter), []string{"warn"}},
		"disabled by hand":          {disabledHook(webhook.ByHand), nil},
		"disabled for its failures": {disabledHook("every delivery has failed for 5 days"), []string{"bad"}},
	} {
		var got []string
		for _, n := range hookNoticesOf(home, []webhook.Endpoint{c.endpoint}, testTime) {
			got = append(got, n.Kind)
			if want := webhooksPath + "/" + c.endpoint.ID; n.Href != want {
				t.Errorf("%s: got a link to %s, want %s", name, n.Href, want)
			}
		}
		must.Equal(t, got, c.want, "%s: notices", name)
	}
}

// TestCutKeepsCharactersWhole checks that a text is cut between its characters.
func TestCutKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"river", 5, "river"}, {"rivers", 5, "river…"}, {"flüsse", 3, "fl…"}, {"€", 2, "…"}, {"", 0, ""}} {
		if got := cut(c.text, c.most); got != c.want {
			t.Errorf("%q to %d bytes: got %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
