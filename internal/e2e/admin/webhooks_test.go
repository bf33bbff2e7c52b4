package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/webhook"
)

// hooked is a receiver of events.
type hooked struct {
	t      *testing.T
	side   *standardwebhooks.Webhook
	mu     sync.Mutex
	events []hookEvent
}

// hookEvent is a payload as a receiver reads it.
type hookEvent struct {
	ID        string       `json:"id"`
	Type      webhook.Type `json:"type"`
	Version   int          `json:"version"`
	Timestamp time.Time    `json:"timestamp"`
	Data      webhook.Data `json:"data"`
}

// hook creates an endpoint of an account, or of the installation if it is empty, at a receiver.
func hook(h *harness.Gateway, t *testing.T, accountName string, types ...webhook.Type) *hooked {
	t.Helper()
	x := &hooked{t: t}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(h.Data, "weir.db")})
	must.Do(t, err)
	defer db.Close()
	s := webhooks(h, t, db)
	e := webhook.Endpoint{URL: server.URL, Types: types, AllowPrivate: true}
	if accountName != "" {
		list, err := db.Accounts.List(t.Context(), accountName)
		if err != nil || len(list) != 1 {
			t.Fatalf("account %s: got %v, %v", accountName, list, err)
		}
		e.Account = list[0].ID
	}
	_, secret, err := s.Add(t.Context(), audit.Gateway(), e)
	must.Do(t, err)
	if x.side, err = standardwebhooks.NewWebhook(secret.Reveal()); err != nil {
		t.Fatal(err)
	}
	return x
}

// webhooks opens the service of a process other than the gateway.
func webhooks(h *harness.Gateway, t testing.TB, db *store.DB) *webhook.Service {
	t.Helper()
	file := filepath.Join(h.Data, "secrets.key")
	if _, err := os.Stat(file); err != nil {
		must.Do(t, os.WriteFile(file, []byte(seal.NewKey().Text().Reveal()), 0o600))
	}
	ring, err := seal.NewRing(func() ([]seal.Key, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		k, err := seal.ParseKey(string(text))
		return []seal.Key{k}, err
	})
	must.Do(t, err)
	return webhook.NewService(webhook.Options{Stores: db.WebhookStores(), Ring: ring, Now: time.Now})
}

func (x *hooked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = x.side.Verify(body, r.Header)
	}
	var e hookEvent
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.DisallowUnknownFields()
		err = d.Decode(&e)
	}
	if err == nil && (e.ID != r.Header.Get("webhook-id") || e.Version != webhook.Version || e.Timestamp.Location() != time.UTC) {
		err = fmt.Errorf("id %q", r.Header.Get("webhook-id"))
	}
	if err != nil {
		x.t.Errorf("delivery %s %s: %v", r.Header, body, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events = append(x.events, e)
	w.WriteHeader(http.StatusNoContent)
}

// of returns the received events of a type.
func (x *hooked) of(types ...webhook.Type) (list []hookEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.events {
		for _, t := range types {
			if e.Type == t {
				list = append(list, e)
			}
		}
	}
	return list
}

// one waits for the only event of a type.
func (x *hooked) one(t webhook.Type) hookEvent {
	x.t.Helper()
	harness.Await(x.t, string(t), func() bool { return len(x.of(t)) > 0 })
	if all := x.of(t); len(all) > 1 {
		x.t.Errorf("%s: arrived %d times, want once: %+v", t, len(all), all)
	}
	return x.of(t)[0]
}

// TestWebhooksOfAKey follows the life of a key and of its account.
func TestWebhooksOfAKey(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	mine, all := hook(h, t, "default"), hook(h, t, "")
	expires := time.Now().Add(30 * 24 * time.Hour).UTC().Truncate(time.Second)
	var k account.Key
	h.Administer(func(ctx context.Context, s *account.Service) (err error) {
		k, _, err = s.CreateKey(ctx, audit.Gateway(), account.KeyOptions{Account: "default", Label: "ci", Expires: expires})
		if err == nil {
			_, err = s.CreateAccount(ctx, audit.Gateway(), "other")
		}
		return err
	})
	want := &webhook.Key{ID: k.ID, Label: "ci", Last4: k.Last4, Expires: &expires}
	for _, x := range []*hooked{mine, all} {
		must.Equal(t, x.one(webhook.KeyCreated).Data.Key, want, "key.created")
	}
	h.Administer(func(ctx context.Context, s *account.Service) error {
		if _, err := s.RevokeKey(ctx, audit.Gateway(), k.ID); err != nil {
			return err
		}
		for _, name := range []string{"default", "other"} {
			if _, err := s.Suspend(ctx, audit.Gateway(), name); err != nil {
				return err
			}
			if _, err := s.Resume(ctx, audit.Gateway(), name); err != nil {
				return err
			}
		}
		return nil
	})
	mine.one(webhook.KeyRevoked)
	if e := mine.one(webhook.AccountSuspended); e.Data.Account == nil || e.Data.Account.Name != "default" {
		t.Errorf("account.suspended: got %+v, want the account", e.Data)
	}
	mine.one(webhook.AccountResumed)
	harness.Await(t, "both accounts' events at the installation's endpoint", func() bool { return len(all.of(webhook.AccountSuspended, webhook.AccountResumed)) == 4 })
}

func TestWebhooksOfABudget(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	x := hook(h, t, "default")
	h.SetBudget(10*llm.USD, budget.PeriodMonth)
	for range 14 {
		h.Chat("house/chat")
	}
	e := x.one(webhook.BudgetExceeded)
	harness.Await(t, "all thresholds", func() bool { return len(x.of(webhook.BudgetThreshold)) >= 4 })
	told := map[int64]int{}
	for _, e := range x.of(webhook.BudgetThreshold) {
		told[e.Data.Threshold]++
	}
	must.Equal(t, told, map[int64]int{50: 1, 80: 1, 95: 1, 100: 1}, "thresholds")
	b := e.Data.Budget
	if b == nil || b.Of != "account" || b.Period != budget.PeriodMonth || b.From == nil || !strings.HasSuffix(*b.From, "-01") || b.LimitUSD != "10" || b.SpentUSD != "10" {
		t.Errorf("budget.exceeded: got %+v, want $10 of the account's $10 in this month", b)
	}
}

// TestWebhooksOfARefusal checks the event of a budget whose rest does not cover a request.
func TestWebhooksOfARefusal(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	x := hook(h, t, "default")
	h.SetBudget(llm.USD*5/2, budget.PeriodDay)
	for i, want := range []int{200, 200, 402, 402} {
		if r := h.Chat("house/chat"); r.Status != want {
			t.Errorf("request %d: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
	if b := x.one(webhook.BudgetExceeded).Data.Budget; b == nil || b.LimitUSD != "2.5" || b.SpentUSD != "2" {
		t.Errorf("got %+v, want 2 of 2.5 dollars", b)
	}
}

func TestWebhooksOfALimit(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	x := hook(h, t, "default", webhook.RateLimitExceeded)
	key := h.NewKey(account.KeyOptions{Account: "default", Label: "slow", Limits: account.Limits{RPM: 1}})
	refused := 0
	for range 5 {
		if r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat"), Key: key}); r.Status == 429 {
			refused++
		}
	}
	if refused != 4 {
		t.Fatalf("%d requests were refused, want 4", refused)
	}
	e := x.one(webhook.RateLimitExceeded)
	if diff := cmp.Diff(e.Data.RateLimit, &webhook.RateLimit{Of: "key", What: "rpm", Limit: 1}); diff != "" || e.Data.Key == nil || e.Data.Key.Label != "slow" {
		t.Errorf("got %+v (-got +want):\n%s", e.Data, diff)
	}
}

func TestWebhooksOfAProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PricesYAML + "aliases:\n  broken: {targets: [\"house/chat:status=500\"]}\n"})
	mine, all := hook(h, t, "default"), hook(h, t, "")
	for _, model := range []string{"house/chat:status=503", "house/chat:status=500"} { // the first of them is not listed
		for range 6 {
			h.Chat(model)
		}
	}
	e := mine.one(webhook.ProviderUnavailable)
	want := &webhook.Target{Provider: "house", Model: "chat:status=500", Node: hostname(t), Reason: "status 500"}
	must.Equal(t, e.Data, webhook.Data{Target: want}, "an account gets an event")
	harness.Await(t, "both at the installation's endpoint", func() bool { return len(all.of(webhook.ProviderUnavailable)) == 2 })
}

func hostname(t *testing.T) string {
	t.Helper()
	name := must.Get(os.Hostname())(t)
	return name
}

func TestWebhooksOfAnUnpricedModel(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL)})
	mine, all := hook(h, t, "default"), hook(h, t, "")
	for range 3 {
		h.Chat("house/chat")
	}
	if e := all.one(webhook.ModelUnpriced); e.Data.Model != "house/chat" {
		t.Errorf("got %+v, want house/chat", e.Data)
	}
	if got := mine.of(webhook.ModelUnpriced); len(got) > 0 {
		t.Errorf("an account gets the operators' events: %+v", got)
	}
}

// TestWebhooksOfASubstitutedModel checks that operators get one event a day for a model that another one answers for.
func TestWebhooksOfASubstitutedModel(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"gpt-5.6-luna","choices":[{"index":0,`+
			`"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL) +
		"aliases: {accepted: {targets: [house/gpt-6-sol], served_model: accept}}\n"})
	mine, all := hook(h, t, "default"), hook(h, t, "")
	for _, model := range []string{"house/gpt-5.6-luna", "accepted", "house/gpt-6-astra", "house/gpt-6-astra"} {
		h.Chat(model)
	}
	want := webhook.Data{Model: "house/gpt-6-astra", Served: "house/gpt-5.6-luna"}
	must.Equal(t, all.one(webhook.ModelSubstituted).Data, want, "the event")
	if got := mine.of(webhook.ModelSubstituted); len(got) > 0 {
		t.Errorf("an account gets the operators' events: %+v", got)
	}
}

// TestWebhooksWhereTheKeyIsMissing checks that a node that cannot decrypt the secrets sends nothing, loses nothing, and
// logs that; once it has the key it continues.
func TestWebhooksWhereTheKeyIsMissing(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	x := hook(h, t, "default", webhook.KeyCreated)
	file := filepath.Join(h.Data, "secrets.key")
	text := must.Get(os.ReadFile(file))(t)
	must.Do(t, os.Remove(file))
	h.NewKey(account.KeyOptions{Account: "default"})
	harness.Await(t, "the complaint", func() bool { return strings.Contains(h.Log.String(), "could not be signed") })
	must.Do(t, h.Stop())
	if strings.Contains(h.Log.String(), "whsec_") || strings.Contains(h.Log.String(), strings.TrimSpace(string(text))) {
		t.Error("the log has a secret")
	}
	must.Do(t, os.WriteFile(file, text, 0o600))
	later := time.Now().Add(webhook.LeaseFor + time.Second)
	begun := time.Now()
	harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML("http://127.0.0.1:9"), Dir: h.Data, Key: h.Key, Now: func() time.Time { return later.Add(time.Since(begun)) }})
	x.one(webhook.KeyCreated)
}
