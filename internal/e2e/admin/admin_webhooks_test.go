package admin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/webhook"
)

// hookServer is a receiver of events that stores them, and answers with a status.
type hookServer struct {
	url    string
	status atomic.Int64
	came   chan http.Header
}

func newHookServer(t testing.TB) *hookServer {
	t.Helper()
	h := &hookServer{came: make(chan http.Header, 100)}
	h.status.Store(http.StatusNoContent)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.came <- r.Header
		w.WriteHeader(int(h.status.Load()))
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// runWebhooks runs all operations on endpoints of an account, and of the installation.
func (o *office) runWebhooks() {
	receiver := newHookServer(o.T)
	o.runWebhooksAt(receiver, "/accounts/{account}/webhooks", "default")
	o.runWebhooksAt(receiver, "/webhooks")
}

func (o *office) runWebhooksAt(receiver *hookServer, base string, account ...string) {
	t := o.T
	of := func(id ...string) []string { return append(slices.Clone(account), id...) }
	made := o.call(201, "POST "+base, fmt.Sprintf(`{"url":%q,"events":["key.revoked","key.created"],"allow_private":true}`, receiver.url), account...)
	id, secret := at(made, "id"), at(made, "secret")
	if at(made, "events") != "[key.created key.revoked]" || at(made, "state") != "active" || (at(made, "account_id") == "<nil>") != (account == nil) {
		t.Errorf("the new endpoint: got %v", made)
	}
	if list := o.call(200, "GET "+base, "", account...); at(list, "data", "0", "id") != id || strings.Contains(fmt.Sprint(list), secret) {
		t.Errorf("endpoints: got %v, want the new one without its secret", list)
	}
	one := base + "/{webhook}"
	o.call(400, "PATCH "+one, `{"url":"http://10.0.0.1/"}`, of(id)...) // the permission was for another address
	if got := o.call(200, "PATCH "+one, `{"events":null}`, of(id)...); at(got, "events") != "[]" || at(got, "allow_private") != "true" {
		t.Errorf("all received events: got %v", got)
	}
	sent := o.call(202, "POST "+one+"/test", ``, of(id)...)
	delivery := at(sent, "id")
	if got := (<-receiver.came).Get("Webhook-Id"); got != at(sent, "event_id") {
		t.Errorf("the received event: got %s, want %s", got, at(sent, "event_id"))
	}
	detail := map[string]any{}
	harness.Await(t, "the delivery's end", func() bool {
		detail = o.call(200, "GET "+one+"/deliveries/{delivery}", "", of(id, delivery)...)
		return at(detail, "state") == "delivered"
	})
	if at(detail, "history", "0", "status") != "204" || at(detail, "request", "body", "type") != "webhook.test" || at(detail, "request", "headers", "webhook-id") != at(sent, "event_id") || at(detail, "url") != receiver.url {
		t.Errorf("the delivery: got %v", detail)
	}
	receiver.status.Store(http.StatusGone)
	o.call(202, "POST "+one+"/deliveries/{delivery}/redeliver", `{}`, of(id, delivery)...)
	<-receiver.came
	harness.Await(t, "the endpoint's end", func() bool {
		return at(o.call(200, "GET "+one, "", of(id)...), "state") == "disabled"
	})
	receiver.status.Store(http.StatusNoContent)
	if list := o.call(200, "GET "+one+"/deliveries?state=failed", "", of(id)...); at(list, "data", "0", "last_status") != "410" || at(list, "data", "0", "tries") != "2" {
		t.Errorf("deliveries that failed: got %v, want the one that was answered 410", list)
	}
	o.call(400, "POST "+one+"/test", `{}`, of(id)...) // it is disabled
	lately := fmt.Sprintf(`{"since":%q}`, time.Now().Add(-time.Hour).Format(time.RFC3339))
	o.call(400, "POST "+one+"/recover", lately, of(id)...) // so it is
	o.call(201, "POST /accounts/{account}/keys", `{"label":"made meanwhile"}`, "default")
	if got := o.call(200, "PATCH "+one, `{"disabled":false}`, of(id)...); at(got, "state") != "active" || at(got, "disabled_why") != "<nil>" {
		t.Errorf("enabled again: got %v", got)
	}
	if got := o.call(202, "POST "+one+"/recover", lately, of(id)...); at(got, "deliveries") == "0" {
		t.Errorf("recovered: got %v, want the key that was made meanwhile", got)
	}
	<-receiver.came
	o.call(400, "POST "+one+"/recover", `{"since":"2999-01-01T00:00:00Z"}`, of(id)...)
	o.call(400, "POST "+one+"/recover", `{}`, of(id)...)
	if got := o.call(200, "POST "+one+"/rotate-secret", `{}`, of(id)...); at(got, "secret") == secret || at(got, "former_secret_until") == "<nil>" {
		t.Errorf("rotated: got %v, want another secret, and until when the former one signs", got)
	}
	o.call(204, "DELETE "+one, "", of(id)...)
	o.call(404, "DELETE "+one, "", of(id)...)
}

// TestWebhooksOnce checks that nothing is created twice with one Idempotency-Key.
func TestWebhooksOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	once := []string{"Idempotency-Key", "once"}
	const body = `{"url":"https://hooks.example.com/weir"}`
	first := o.callAs(o.admin, 201, "POST /accounts/{account}/webhooks", body, once, "default")
	again := o.callAs(o.admin, 201, "POST /accounts/{account}/webhooks", body, once, "default")
	if at(first, "id") != at(again, "id") || at(first, "secret") != at(again, "secret") {
		t.Errorf("again: got %v, want %v", again, first)
	}
	if list := o.call(200, "GET /accounts/{account}/webhooks", "", "default"); at(list, "data", "1") != "nothing" {
		t.Errorf("endpoints: got %v, want one", list)
	}
}

// TestWebhooksRefuse checks the answers to invalid endpoints.
func TestWebhooksRefuse(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, tt := range []struct{ path, body, param, says string }{
		{"/webhooks", `{}`, "url", "is invalid"},
		{"/webhooks", `{"url":"http://example.com/"}`, "url", "https"},
		{"/webhooks", `{"url":"https://169.254.169.254/","allow_private":true}`, "url", "cannot be an endpoint"},
		{"/webhooks", `{"url":"https://example.com/","events":["key.made"]}`, "events[0]", "key.created"},
		{"/webhooks", `{"url":"https://example.com/","events":"key.created"}`, "events", "a list"},
		{"/webhooks", `{"url":"https://example.com/","secret":"x"}`, "secret", "not a field"},
		{"/accounts/default/webhooks", `{"url":"https://example.com/","events":["key.created","model.unpriced"]}`, "events[1]", "Only endpoints of the installation"},
	} {
		r := o.Do(harness.Ask{Method: "POST", Path: "/admin/v1" + tt.path, Body: tt.body, Key: o.admin})
		p := map[string]any{}
		harness.Decode(t, r.Body, &p)
		if r.Status != http.StatusBadRequest || p["param"] != tt.param || !strings.Contains(at(p, "detail"), tt.says) {
			t.Errorf("%s %s: got %d %s, want 400 at %q that contains %q", tt.path, tt.body, r.Status, r.Body, tt.param, tt.says)
		}
	}
}

// TestDocumentHasEvents checks that the document describes every event, with all members, and with a matching example.
func TestDocumentHasEvents(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	_, c := h.Document()
	events := c.Tree["webhooks"].(map[string]any)
	want := []string{string(webhook.Test)}
	subscribed := []any{}
	for _, k := range webhook.Kinds() {
		want, subscribed = append(want, string(k.Type)), append(subscribed, string(k.Type))
		post := events[string(k.Type)].(map[string]any)["post"].(map[string]any)
		payload := must.Get(k.Example.Payload())(t)
		var example any
		harness.Decode(t, string(payload), &example)
		content := post["requestBody"].(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)
		if diff := cmp.Diff(plain(t, content["example"]), example); diff != "" || post["summary"] != k.About {
			t.Errorf("%s: got %q and an example (-got +want):\n%s", k.Type, post["summary"], diff)
		}
	}
	slices.Sort(want)
	must.Equal(t, slices.Sorted(maps.Keys(events)), want, "events")
	schemas := c.Tree["components"].(map[string]any)["schemas"].(map[string]any)
	must.Equal(t, schemas["EventType"].(map[string]any)["enum"], subscribed, "types to choose from")
	for name, item := range events {
		place := harness.Pointer("webhooks", name, "post", "requestBody", "content", "application/json")
		text, _ := json.Marshal(item.(map[string]any)["post"].(map[string]any)["requestBody"].(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)["example"])
		if err := c.Violation(place+"/schema", string(text)); err != nil {
			t.Errorf("%s: the example: %v", name, err)
		}
		if c.Violation(place+"/schema", strings.Replace(string(text), `"data":`, `"date":`, 1)) == nil {
			t.Errorf("%s without its data: got it accepted", name)
		}
	}
	for name, of := range map[string]any{
		"EventAccount": webhook.Account{}, "EventKey": webhook.Key{}, "EventBudget": webhook.Budget{}, "EventRateLimit": webhook.RateLimit{},
		"EventTarget": webhook.Target{}, "EventUsage": webhook.Usage{},
	} {
		got := slices.Sorted(maps.Keys(schemas[name].(map[string]any)["properties"].(map[string]any)))
		must.Equal(t, got, membersOf(of), "%s", name)
	}
	parts := map[string]bool{}
	for name, s := range schemas {
		if strings.HasPrefix(name, "EventData.") {
			for part := range s.(map[string]any)["properties"].(map[string]any) {
				parts[part] = true
			}
		}
	}
	must.Equal(t, slices.Sorted(maps.Keys(parts)), membersOf(webhook.Data{}), "parts of data")
}

// plain converts a value to its JSON form.
func plain(t *testing.T, v any) (out any) {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	harness.Decode(t, string(text), &out)
	return out
}

// membersOf returns the names of a struct's members in JSON.
func membersOf(v any) (names []string) {
	of := reflect.TypeOf(v)
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
