package dashboard_test

import (
	"cmp"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/webhook"
)

// hook adds an endpoint, and returns its path among the pages.
func (s *site) hook(t *testing.T, e webhook.Endpoint) (webhook.Endpoint, string) {
	t.Helper()
	if e.URL == "" {
		e.URL = "https://hooks.example.com/weir"
	}
	e, _, err := s.webhooks.Add(t.Context(), audit.Gateway(), e)
	must.Do(t, err)
	switch e.Account {
	case s.acme.ID:
		return e, "/accounts/acme/webhooks/" + e.ID
	case s.other.ID:
		return e, "/accounts/other/webhooks/" + e.ID
	}
	return e, "/operator/webhooks/" + e.ID
}

// hookNow reads the endpoint's current state.
func (s *site) hookNow(t *testing.T, id string) webhook.Endpoint {
	t.Helper()
	e := must.Get(s.webhooks.Endpoint(t.Context(), id))(t)
	return e
}

// sent sends a test event, and ends the try of its delivery with that outcome.
func (s *site) sent(t *testing.T, id string, end webhook.Outcome) (delivery string) {
	t.Helper()
	delivery = must.Get(s.webhooks.Test(t.Context(), id))(t)
	s.tried(t, id, end)
	return delivery
}

// tried takes the due delivery and ends its try.
func (s *site) tried(t *testing.T, id string, end webhook.Outcome) webhook.Job {
	t.Helper()
	jobs, err := s.store.Deliveries.TakeDeliveries(t.Context(), id, 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("deliveries that are due: got %d, %v, want 1", len(jobs), err)
	}
	end.Job, end.Try.N, end.Try.At = &jobs[0], jobs[0].Take, now
	must.Do(t, s.store.Deliveries.EndTries(t.Context(), []webhook.Outcome{end}))
	return jobs[0]
}

func TestWebhookIsAddedAndItsSecretShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	s.see(t, "/accounts/acme/webhooks", "No webhooks", "How a receiver checks the signature", "Add an endpoint")
	if text := s.see(t, "/accounts/acme/webhooks/new", "budget.threshold_reached"); strings.Contains(text, "model.unpriced") || strings.Contains(text, "allow_private") {
		t.Error("an owner's form: got operators' choices")
	}
	add := url.Values{"url": {" https://hooks.example.com/weir "}, "events": {"key.revoked", "key.created"}, "once": {"form-1"}}
	got := s.send(t, "POST", "/accounts/acme/webhooks/new", add, nil)
	secret := html.UnescapeString(between(got.text, `<code id="secret">`, `</code>`))
	list, err := s.webhooks.List(t.Context(), s.acme.ID)
	if err != nil || len(list) != 1 || got.status != http.StatusOK {
		t.Fatalf("got %d and %d endpoints, %v, want one", got.status, len(list), err)
	}
	want := webhook.Endpoint{ID: list[0].ID, Account: s.acme.ID, URL: "https://hooks.example.com/weir", Types: []webhook.Type{webhook.KeyCreated, webhook.KeyRevoked}, Format: webhook.JSON, Created: now}
	must.Equal(t, list[0], want, "endpoint")
	s.do(t, "/accounts/acme/webhooks/new", add, "/accounts/acme/webhooks?done=webhook-made")
	path := "/accounts/acme/webhooks/" + want.ID
	for _, p := range []string{"/accounts/acme/webhooks", path} {
		if text := s.see(t, p, want.URL, "key.created"); strings.Contains(text, "whsec_"+secret[6:]) || secret[:6] != "whsec_" {
			t.Errorf("%s: got the secret %q again, or never", p, secret)
		}
	}
	s.do(t, path+"/test", nil, path+"?done=webhook-tested")
	s.see(t, path, "webhook.test", "Waiting")
	job := s.tried(t, want.ID, webhook.Outcome{State: webhook.Delivered, Try: webhook.Try{Status: 204}})
	if text, err := s.ring.Open(job.Secrets[0], webhook.SecretOf(want.ID)); err != nil || string(text) != secret {
		t.Errorf("the signing secret: got %q, %v, want the shown one, %q", text, err, secret)
	}
}

func TestWebhookFormsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	e, path := s.hook(t, webhook.Endpoint{Account: s.acme.ID})
	e = s.hookNow(t, e.ID)
	for _, c := range []struct {
		form  url.Values
		field string
	}{
		{url.Values{}, "url"},
		{url.Values{"url": {"hooks.example.com"}}, "url"},
		{url.Values{"url": {"http://hooks.example.com"}}, "url"},
		{url.Values{"url": {"https://10.0.0.1/"}}, "url"},
		{url.Values{"url": {"https://ada:secret@example.com/"}}, "url"},
		{url.Values{"url": {"https://example.com/" + strings.Repeat("x", 2048)}}, "url"},
		{url.Values{"url": {e.URL}, "events": {"key.made"}}, "events"},
		{url.Values{"url": {e.URL}, "events": {"model.unpriced"}}, "events"},
		{url.Values{"url": {"https://10.0.0.1/"}, "allow_private": {"on"}}, ""},
	} {
		s.refused(t, "/accounts/acme/webhooks/new", c.form, c.field)
		s.refused(t, path+"/change", c.form, c.field)
	}
	if list, _ := s.webhooks.List(t.Context(), s.acme.ID); len(list) != 1 {
		t.Errorf("endpoints: got %d, want the one that was there", len(list))
	}
	must.Equal(t, s.hookNow(t, e.ID), e, "the endpoint after forms that were refused")
	for range webhook.MaxEndpoints - 1 {
		s.hook(t, webhook.Endpoint{Account: s.acme.ID})
	}
	s.see(t, "/accounts/acme/webhooks", "maximum number of endpoints")
	s.refused(t, "/accounts/acme/webhooks/new", url.Values{"url": {e.URL}}, "")
	for _, query := range []string{"?state=lost", "?before=x", "?before=%00"} {
		if got := s.send(t, "GET", path+query, nil, nil); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", query, got.status)
		}
	}
}

// TestOperatorsPermitPrivateAddresses checks who may permit a private address for an endpoint, and when the permission
// ends.
func TestOperatorsPermitPrivateAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("root", "")
	s.send(t, "POST", "/accounts/acme/webhooks/new", url.Values{"url": {"http://10.0.0.1/hook"}, "allow_private": {"on"}}, nil)
	list, err := s.webhooks.List(t.Context(), s.acme.ID)
	if err != nil || len(list) != 1 || !list[0].AllowPrivate {
		t.Fatalf("an operator's: got %+v, %v, want one on a private address", list, err)
	}
	id, path := list[0].ID, "/accounts/acme/webhooks/"+list[0].ID
	s.come("ada", people.Owner)
	s.see(t, path, "Allowed by an operator")
	s.do(t, path+"/change", url.Values{"url": {"http://10.0.0.1/hook"}, "events": {"key.created"}}, path+"?done=webhook-changed")
	if e := s.hookNow(t, id); !e.AllowPrivate || !slices.Equal(e.Types, []webhook.Type{webhook.KeyCreated}) {
		t.Errorf("after an owner chose events: got %+v, want it on the private address yet", e)
	}
	s.refused(t, path+"/change", url.Values{"url": {"http://10.0.0.2/hook"}}, "url")
	s.do(t, path+"/change", url.Values{"url": {"https://hooks.example.com/"}}, path+"?done=webhook-changed")
	if e := s.hookNow(t, id); e.AllowPrivate || len(e.Types) != 0 {
		t.Errorf("after an owner changed the address: got %+v, want no permission", e)
	}
	s.come("root", "")
	s.do(t, path+"/change", url.Values{"url": {"http://10.0.0.3/hook"}, "allow_private": {"on"}}, path+"?done=webhook-changed")
	s.refused(t, path+"/change", url.Values{"url": {"http://10.0.0.3/hook"}}, "url") // without the permission it cannot stay
	s.refused(t, "/operator/webhooks/new", url.Values{"url": {"http://10.0.0.1/hook"}}, "url")
	s.send(t, "POST", "/operator/webhooks/new", url.Values{"url": {"http://10.0.0.1/hook"}, "allow_private": {"on"}, "events": {"model.unpriced"}}, nil)
	if list, err := s.webhooks.List(t.Context(), ""); err != nil || len(list) != 1 || !list[0].AllowPrivate || !list[0].Wants(webhook.ModelUnpriced) {
		t.Errorf("the installation's: got %+v, %v, want one on a private address", list, err)
	}
}

// TestWebhooksOfOthersAreNotFound requests every page of endpoints with those of another account, of the installation,
// and with an unknown one.
func TestWebhooksOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	mine, path := s.hook(t, webhook.Endpoint{Account: s.acme.ID})
	beside, _ := s.hook(t, webhook.Endpoint{Account: s.acme.ID})
	others, _ := s.hook(t, webhook.Endpoint{Account: s.other.ID})
	all, _ := s.hook(t, webhook.Endpoint{})
	deliveries := map[string]string{}
	for _, e := range []webhook.Endpoint{mine, beside, others, all} {
		deliveries[e.ID] = s.sent(t, e.ID, webhook.Outcome{State: webhook.Failed, Try: webhook.Try{Status: 500}})
	}
	asked := 0
	ask := func(pattern, hook, delivery string) {
		t.Helper()
		method, to, _ := strings.Cut(pattern, " ")
		to = strings.NewReplacer("{account}", "acme", "{webhook}", hook, "{delivery}", delivery).Replace(to)
		got := s.send(t, method, to, url.Values{"url": {"https://evil.example/"}}, nil)
		if asked++; got.status != http.StatusNotFound {
			t.Errorf("%s %s: got %d, want 404", method, to, got.status)
		}
	}
	for _, route := range s.dashboard.Routes() {
		if !strings.Contains(route.Pattern, "{webhook}") {
			continue
		}
		account := strings.Contains(route.Pattern, "{account}")
		for _, role := range []people.Role{people.Owner, ""} {
			s.come("ada", role)
			for _, id := range []string{others.ID, all.ID, mine.ID, "nothing", "%00", "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b77"} {
				if account && id != mine.ID || !account && id != all.ID && role == "" {
					ask(route.Pattern, id, cmp.Or(deliveries[id], "nothing"))
				}
			}
			for _, delivery := range []string{deliveries[beside.ID], deliveries[others.ID], "nothing", "%ff"} {
				if account && strings.Contains(route.Pattern, "{delivery}") {
					ask(route.Pattern, mine.ID, delivery)
				}
			}
		}
	}
	if asked < 100 {
		t.Errorf("got %d requests, want more than 100", asked)
	}
	s.come("ada", people.Owner)
	s.see(t, path, "webhook.test") // the control: their own endpoint exists
	for _, e := range []webhook.Endpoint{mine, beside, others, all} {
		must.Equal(t, s.hookNow(t, e.ID).URL, e.URL, "an endpoint after it")
		if d, err := s.webhooks.Delivery(t.Context(), deliveries[e.ID]); err != nil || d.State != webhook.Failed {
			t.Errorf("its delivery: got %s, %v, want it as it was", d.State, err)
		}
	}
}

func TestDeliveriesAreShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	e, path := s.hook(t, webhook.Endpoint{Account: s.acme.ID})
	const answer = `<script>alert("answer")</script>`
	failed := s.sent(t, e.ID, webhook.Outcome{State: webhook.Failed, Try: webhook.Try{Status: 500, Took: 31 * time.Millisecond, Error: "the receiver did not answer with 2xx", Answer: answer}})
	page := path + "/deliveries/" + failed
	text := s.see(t, page, "webhook-id: ", "Try 1", "31 ms", "500", "the receiver did not answer with 2xx", html.EscapeString(answer), "&#34;type&#34;: &#34;webhook.test&#34;")
	if strings.Contains(text, answer) {
		t.Error("a receiver's answer: got it unescaped")
	}
	s.do(t, page+"/redeliver", nil, page+"?done=webhook-redelivered")
	s.tried(t, e.ID, webhook.Outcome{State: webhook.Delivered, Try: webhook.Try{Status: 204}})
	s.see(t, page, "Try 1", "Try 2", "204", "Delivered")
	for range 26 {
		s.sent(t, e.ID, webhook.Outcome{State: webhook.Failed, Try: webhook.Try{Error: "the host could not be found"}})
	}
	count := func(text string) int { return strings.Count(text, `/deliveries/`) }
	first := s.see(t, path+"?state=failed", "the host could not be found")
	if got := count(first); got != 25 {
		t.Errorf("the first page: got %d deliveries, want 25", got)
	}
	next := path + "?state=failed&before=" + between(first, "before=", "&amp;")
	if got := count(s.see(t, next, "Newest")); got != 1 {
		t.Errorf("the second page, %s: got %d deliveries, want 1", next, got)
	}
	if got := count(s.see(t, path+"?state=delivered")); got != 1 {
		t.Errorf("those delivered: got %d, want 1", got)
	}
	s.see(t, path+"?state=pending", "No deliveries in this view.")
	s.see(t, "/accounts/acme/webhooks", "Failed")
}

// TestWebhookIsChanged disables, enables, rotates and removes.
func TestWebhookIsChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("root", "")
	e, path := s.hook(t, webhook.Endpoint{})
	delivery := s.sent(t, e.ID, webhook.Outcome{State: webhook.Failed, Gone: true, Try: webhook.Try{Status: 410}})
	s.see(t, path, "its receiver answered 410", "Enable the endpoint")
	s.see(t, path+"/deliveries/"+delivery, "The endpoint is disabled.")
	s.refused(t, path+"/test", nil, "")
	s.refused(t, path+"/deliveries/"+delivery+"/redeliver", nil, "")
	s.do(t, path+"/enable", nil, path+"?done=webhook-enabled")
	s.do(t, path+"/disable", nil, path+"?done=webhook-disabled")
	if e := s.hookNow(t, e.ID); e.Disabled == nil || e.Why != webhook.ByHand {
		t.Errorf("disabled: got %+v", e)
	}
	must.Do(t, s.store.Events.Tell(t.Context(), webhook.NewEvent(webhook.ModelUnpriced, "", now, webhook.Data{Model: "x/y"})))
	day := url.Values{"hours": {"24"}}
	if text := s.see(t, path); strings.Contains(text, "/recover") {
		t.Error("a disabled endpoint: got a form to recover, want none")
	}
	s.refused(t, path+"/recover", day, "")
	s.do(t, path+"/enable", nil, path+"?done=webhook-enabled")
	s.refused(t, path+"/recover", url.Values{"hours": {"5"}}, "")
	s.do(t, path+"/recover", day, path+"?done=webhook-recovered")
	s.see(t, path, "model.unpriced", "Waiting")
	s.tried(t, e.ID, webhook.Outcome{State: webhook.Delivered})
	once := url.Values{"once": {"rotate-1"}}
	rotated := s.send(t, "POST", path+"/rotate", once, nil)
	secret := html.UnescapeString(between(rotated.text, `<code id="secret">`, `</code>`))
	if rotated.status != http.StatusOK || !strings.Contains(rotated.text, "Until 22 Nov 2026, 12:00 UTC, the previous secret signs too") {
		t.Errorf("rotated: got %d, want a page with the end of the former secret", rotated.status)
	}
	s.do(t, path+"/rotate", once, path+"?done=webhook-rotated")
	s.see(t, path, "Until 22 Nov 2026, 12:00 UTC, the previous secret signs too")
	s.do(t, path+"/test", nil, path+"?done=webhook-tested")
	job := s.tried(t, e.ID, webhook.Outcome{State: webhook.Delivered})
	if text, err := s.ring.Open(job.Secrets[0], webhook.SecretOf(e.ID)); err != nil || string(text) != secret || len(job.Secrets) != 2 {
		t.Errorf("secrets: got %d, the first one %q, want two, and that one %q", len(job.Secrets), text, secret)
	}
	s.do(t, path+"/remove", nil, "/operator/webhooks?done=webhook-removed")
	s.see(t, "/operator/webhooks", "No webhooks")
	if got := s.send(t, "GET", path, nil, nil); got.status != http.StatusNotFound {
		t.Errorf("a removed one: got %d, want 404", got.status)
	}
}

// TestWebhooksAreMissed checks who sees, on which page, that an endpoint receives no more events.
func TestWebhooksAreMissed(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	own, _ := s.hook(t, webhook.Endpoint{Account: s.acme.ID, URL: "https://own.example.com/"})
	all, _ := s.hook(t, webhook.Endpoint{URL: "https://all.example.com/"})
	told := func(path, address string) bool {
		t.Helper()
		text := s.see(t, path)
		return strings.Contains(text, "A webhook endpoint has not received events") && strings.Contains(text, address)
	}
	pages := map[string]string{"/accounts/acme": own.URL, "/operator/accounts": all.URL}
	for _, missing := range []bool{false, true} {
		for _, role := range []people.Role{people.Viewer, people.Member, people.Owner, ""} {
			s.come("ada", role)
			for path, address := range pages {
				if path == "/operator/accounts" && role != "" {
					continue
				}
				want := missing && (role == "" || role == people.Owner)
				if got := told(path, address); got != want {
					t.Errorf("%s, %q, missing %t: got a notice %t, want %t", path, role, missing, got, want)
				}
			}
		}
		for _, e := range []webhook.Endpoint{own, all} {
			if !missing {
				s.sent(t, e.ID, webhook.Outcome{State: webhook.Failed, Gone: true})
			}
		}
	}
	if told("/accounts/acme", all.URL) {
		t.Error("the page of an account: got a notice of the installation's")
	}
}
