package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/webhook"
)

// testMovedEndpoint checks that failures of one address do not count against the next one.
func testMovedEndpoint(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	for range 3 {
		tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	}
	jobs := take(t, f, "w", 3)
	end := func(o webhook.Outcome) {
		t.Helper()
		must.Do(t, f.Deliveries.EndTries(t.Context(), []webhook.Outcome{o}))
	}
	end(webhook.Outcome{
		Job: &jobs[0], State: webhook.Pending, Try: webhook.Try{N: 1, At: noon, Error: "no"},
		Rest: 12 * time.Hour,
	})
	elsewhere := "https://example.com/elsewhere"
	if e, err := f.Webhooks.UpdateWebhook(t.Context(), root, "w", webhook.Update{URL: &elsewhere}); err != nil ||
		e.Failing != nil {
		t.Errorf("moved: got %+v, %v; want it not failing", e, err)
	}
	if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) != 1 {
		t.Errorf("moved: got %+v, %v; want it waiting, because the new address asked for no pause", waiting, err)
	}
	end(webhook.Outcome{
		Job: &jobs[1], State: webhook.Pending, Try: webhook.Try{N: 1, At: noon, Error: "no"},
		Rest: 12 * time.Hour,
	})
	end(webhook.Outcome{Job: &jobs[2], State: webhook.Failed, Try: webhook.Try{
		N: 1, At: noon, Status: 410,
		Error: "gone",
	}, Gone: true})
	if e, err := f.Webhooks.Webhook(t.Context(), "w"); err != nil || e.Disabled != nil || e.Failing != nil {
		t.Errorf("410 from where it was: got %+v, %v; want it fine", e, err)
	}
	if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) != 1 {
		t.Errorf("a pause asked for at the old address: got %+v, %v; want it waiting", waiting, err)
	}
}

// testTriesKept checks that sending one delivery again and again fills neither the database nor the memory of a
// reader.
func testTriesKept(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	const tries = 70
	for n := 1; n <= tries; n++ {
		jobs := take(t, f, "w", 1)
		if len(jobs) != 1 {
			t.Fatalf("try %d: got %+v, want the delivery", n, jobs)
		}
		if err := f.Deliveries.EndTries(t.Context(), []webhook.Outcome{{
			Job: &jobs[0], State: webhook.Delivered,
			Try: webhook.Try{N: jobs[0].Take, At: noon, Status: 200},
		}}); err != nil {
			t.Fatal(err)
		}
		must.Do(t, f.Deliveries.Redeliver(t.Context(), jobs[0].ID))
	}
	d, err := f.Deliveries.Delivery(t.Context(), deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 1})[0].ID)
	if err != nil || len(d.History) != webhook.MaxTries || d.Tries != webhook.MaxTries ||
		*d.Last != d.History[webhook.MaxTries-1] || d.Last.N < tries {
		t.Errorf("got %d tries, the last one %+v, %v; want the last %d", len(d.History), d.Last, err, webhook.MaxTries)
	}
}

// testCreditAgain checks that a credit that starts anew causes new events, even with the same amount as the previous
// one.
func testCreditAgain(t *testing.T, f *fixture) {
	create(t, f, "a")
	endpoint(t, f, "w", "acc_a", webhook.BudgetExceeded)
	j := newTape()
	for round := range 3 {
		_, err := f.Accounts.AddCredit(t.Context(), audit.Gateway(), account.CreditEntry{
			ID:        uuid.NewString(),
			AccountID: "acc_a", Amount: 2000, At: noon,
		})
		must.Do(t, err)
		apply(t, f, j.costing(costing(2*round, 1500)))
		if got := len(typesOf(t, f, "w")); got != round {
			t.Errorf("round %d, 1500 of 2000 spent: got %d events, want %d", round, got, round)
		}
		apply(t, f, j.costing(costing(2*round+1, 500)))
		if got := len(typesOf(t, f, "w")); got != round+1 {
			t.Errorf("round %d, all spent: got %d events, want %d", round, got, round+1)
		}
		if _, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a",
			account.Update{EndCredit: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// testRemoved checks that a removed endpoint disappears immediately, and its deliveries later.
func testRemoved(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	for range 3 {
		tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	}
	jobs := take(t, f, "w", 1)
	if err := f.Deliveries.EndTries(t.Context(), []webhook.Outcome{{
		Job: &jobs[0], State: webhook.Delivered,
		Try: webhook.Try{N: 1, At: noon},
	}}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, f.Webhooks.RemoveWebhook(t.Context(), ann(), "w"))
	if _, err := f.Deliveries.Delivery(t.Context(), jobs[0].ID); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("its delivery: got %v, want ErrNotFound", err)
	}
	if err := f.Deliveries.Redeliver(t.Context(), jobs[0].ID); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("send its delivery again: got %v, want ErrNotFound", err)
	}
	if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) > 0 {
		t.Errorf("waiting: got %+v, %v; want none", waiting, err)
	}
	must.Do(t, f.Deliveries.RetainEvents(t.Context()))
	if left := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 9}); len(left) > 0 {
		t.Errorf("left behind: got %+v, want nothing", left)
	}
}

// testUnpricedOrder checks that events of many models are written in one order, because another node may write the
// same ones, and they would deadlock. There is no event for a model that does not exist, because clients can invent
// any number.
func testUnpricedOrder(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	var list []ledger.Entry
	for i := range 40 {
		e := entry(i)
		e.Model, e.Price.Version, e.Cost, e.Provenance = fmt.Sprintf("odd-%02d", i*7%20), "", 0, ledger.Estimated
		e.Unpriced = e.Price.Unpriced(&e.Usage, "")
		if e.Key = "key_b"; i%2 == 0 {
			e.Key = "key_a"
		}
		if i >= 20 {
			e.Model, e.Outcome, e.Status, e.Usage = fmt.Sprintf("made-up-%02d", i), ledger.OutcomeRejected, 404,
				llm.Usage{}
		}
		list = append(list, e)
	}
	apply(t, f, newTape().next(nil, list...))
	var models []string
	for _, d := range slices.Backward(deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 100})) {
		detail := must.Get(f.Deliveries.Delivery(t.Context(), d.ID))(t)
		_, model, _ := strings.Cut(string(detail.Payload), `"model":"`)
		models = append(models, model)
	}
	if !slices.IsSorted(models) || len(models) != 20 || strings.Contains(strings.Join(models, ""), "made-up") {
		t.Errorf("got %d models, %v; want the 20 that were used, in order", len(models), models)
	}
}

// testEverybody sends one event to more endpoints than one statement writes.
func testEverybody(t *testing.T, f *fixture) {
	const accounts, each = 23, 19
	for i := range accounts {
		must.Do(t, f.Accounts.CreateAccount(t.Context(), root, newAccount(fmt.Sprint(i))))
	}
	for i := range accounts * each {
		endpoint(t, f, fmt.Sprintf("w%03d", i), fmt.Sprintf("acc_%d", i/each))
	}
	tell(t, f, webhook.NewEvent(webhook.ProviderUnavailable, "", noon,
		webhook.Data{Target: &webhook.Target{Provider: "p", Model: "m"}}))
	for i := range accounts * each {
		if got := typesOf(t, f, fmt.Sprintf("w%03d", i)); len(got) != 1 {
			t.Errorf("endpoint %d: got %v, want one delivery", i, got)
		}
	}
}

// testWrongClock writes an event of a limit in a node with a clock a month ahead, and checks that the others write it
// too, each minute.
func testWrongClock(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	for i, step := range []struct {
		at   time.Time
		told int
	}{{noon.AddDate(0, 1, 0), 1}, {noon, 2}, {noon.Add(time.Second), 2}, {noon.Add(time.Minute), 3}} {
		e := webhook.NewEvent(webhook.RateLimitExceeded, "acc_a", step.at, webhook.Data{Key: &webhook.Key{ID: "gone"}})
		e.Once, e.Until = "limit of a key", step.at.Add(time.Minute)
		tell(t, f, e)
		if got := len(typesOf(t, f, "w")); got != step.told {
			t.Errorf("step %d, at %s: got %d events, want %d", i, step.at, got, step.told)
		}
	}
}

// testWebhookMakers checks that endpoints of the installation are disabled when their maker is no longer an operator,
// and that a person who changes the address or enables one becomes its maker.
func testWebhookMakers(t *testing.T, f *fixture) {
	create(t, f, "a")
	boss, former := admit(t, f, "boss", "", ""), admit(t, f, "former", "", "")
	hers, his := audit.Actor{Kind: audit.User, ID: boss.ID, Name: boss.Email}, audit.Actor{
		Kind: audit.User,
		ID:   former.ID, Name: former.Email,
	}
	k := newKey("key_former", "acc_a")
	k.Creator, k.Permissions = former.ID, []account.Permission{account.Admin}
	must.Do(t, f.Accounts.CreateKey(t.Context(), root, k, account.Hash{1}))
	must.Get(f.Webhooks.MasterKey(t.Context(), "k1"))(t)
	change := func(by audit.Actor, id string, u webhook.Update) {
		t.Helper()
		must.Get(f.Webhooks.UpdateWebhook(t.Context(), by, id, u))(t)
	}
	makers := []struct {
		id, account string
		by          audit.Actor
	}{
		{"account", "acc_a", his},
		{"by-key", "", audit.Actor{Kind: audit.Key, ID: k.ID}},
		{"commanded", "", root},
		{"enabled", "", his},
		{"hers", "", hers},
		{"his", "", his},
		{"labelled", "", his},
		{"moved", "", hers},
	}
	for _, m := range makers {
		e := webhook.Endpoint{ID: m.id, Account: m.account, URL: "https://example.com/" + m.id, Created: noon}
		must.Do(t, f.Webhooks.AddWebhook(t.Context(), m.by, e, webhook.Sealed{Text: "sealed", Key: "k1"}))
	}
	change(hers, "enabled", webhook.Update{Disabled: new(true)})
	change(hers, "enabled", webhook.Update{Disabled: new(false)})
	change(hers, "labelled", webhook.Update{Types: &[]webhook.Type{webhook.KeyCreated}})
	change(his, "moved", webhook.Update{URL: new("https://his.example.com/")})
	must.Do(t, f.Users.SetOperator(t.Context(), hers, former.ID, false))
	stopped := map[string]bool{"by-key": true, "his": true, "labelled": true, "moved": true}
	for _, m := range makers {
		e, err := f.Webhooks.Webhook(t.Context(), m.id)
		if err != nil || (e.Disabled != nil) != stopped[m.id] || (e.Why == webhook.ByFormerOperator) != stopped[m.id] {
			t.Errorf("%s: got disabled %v, %q, %v; want %v", m.id, e.Disabled, e.Why, err, stopped[m.id])
		}
	}
	list, err := f.Audit.Entries(t.Context(), audit.Query{Object: "his", Limit: 1})
	if err != nil || len(list) != 1 || list[0].Action != audit.WebhookChanged || list[0].Actor.ID != boss.ID ||
		!strings.Contains(string(list[0].After), "no longer an operator") {
		t.Errorf("audit log: got %+v, %v; want that the endpoint was disabled, and why", list, err)
	}
	change(hers, "his", webhook.Update{Disabled: new(false)}) // he is its maker now
	must.Do(t, f.Users.SetOperator(t.Context(), hers, former.ID, true))
	must.Do(t, f.Users.SetOperator(t.Context(), hers, former.ID, false))
	if e, err := f.Webhooks.Webhook(t.Context(), "his"); err != nil || e.Disabled != nil {
		t.Errorf("one that another operator enabled: got %+v, %v; want it on", e, err)
	}
}
