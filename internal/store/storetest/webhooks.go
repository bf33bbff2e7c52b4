package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/seal"
	"weir/internal/webhook"
)

// endpoint adds an endpoint of an account, or of the installation if it is empty.
func endpoint(t *testing.T, f *fixture, id, accountID string, types ...webhook.Type) webhook.Endpoint {
	t.Helper()
	must.Get(f.Webhooks.MasterKey(t.Context(), "k1"))(t)
	e := webhook.Endpoint{
		ID: id, Account: accountID, URL: "https://example.com/" + id, Types: types, Format: webhook.JSON, Created: noon,
	}
	must.Do(t, f.Webhooks.AddWebhook(t.Context(), root, e, webhook.Sealed{Text: "sealed " + id, Key: "k1"}))
	return e
}

func tell(t *testing.T, f *fixture, e webhook.Event) {
	t.Helper()
	if err := f.Events.Tell(t.Context(), e); err != nil {
		t.Fatalf("tell %+v: %v", e, err)
	}
}

// take takes the due deliveries of an endpoint.
func take(t *testing.T, f *fixture, id string, n int) []webhook.Job {
	t.Helper()
	jobs := must.Get(f.Deliveries.TakeDeliveries(t.Context(), id, n))(t)
	return jobs
}

func deliveries(t *testing.T, f *fixture, q webhook.DeliveryQuery) []webhook.Delivery {
	t.Helper()
	list := must.Get(f.Deliveries.Deliveries(t.Context(), q))(t)
	return list
}

// typesOf returns the types of the deliveries to an endpoint, oldest first.
func typesOf(t *testing.T, f *fixture, id string) (types []webhook.Type) {
	t.Helper()
	for _, d := range slices.Backward(deliveries(t, f, webhook.DeliveryQuery{Webhook: id, Limit: 100})) {
		types = append(types, d.Type)
	}
	return types
}

func testWebhooks(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	mine := endpoint(t, f, "w1", "acc_a", webhook.KeyCreated)
	endpoint(t, f, "w2", "")
	list, err := f.Webhooks.Webhooks(t.Context(), "acc_a")
	if diff := cmp.Diff(list, []webhook.Endpoint{mine}); diff != "" || err != nil {
		t.Errorf("endpoints of the account: %v (-got +want):\n%s", err, diff)
	}
	to, private := "http://10.0.0.1/", true
	types := []webhook.Type{}
	mine.URL, mine.Types, mine.AllowPrivate = to, nil, true
	got, err := f.Webhooks.UpdateWebhook(t.Context(), root, "w1", webhook.Update{
		URL: &to, Types: &types,
		AllowPrivate: &private,
	})
	if got.Types = nilIfNone(got.Types); err != nil || cmp.Diff(got, mine) != "" {
		t.Errorf("changed: got %+v, %v; want %+v", got, err, mine)
	}
	off, on := true, false
	for _, step := range []struct {
		disabled *bool
		why      string
	}{{&off, "by hand"}, {&on, ""}} {
		got, err := f.Webhooks.UpdateWebhook(t.Context(), root, "w1", webhook.Update{Disabled: step.disabled})
		if err != nil || (got.Disabled != nil) != *step.disabled || got.Why != step.why {
			t.Errorf("disabled %t: got %+v, %v", *step.disabled, got, err)
		}
	}
	if _, err := f.Webhooks.UpdateWebhook(t.Context(), root, "w9", webhook.Update{}); !errors.Is(err,
		webhook.ErrNotFound) {
		t.Errorf("one that is not there: got %v, want ErrNotFound", err)
	}
	at := must.Get(f.Time(t.Context()))(t)
	until := at.Add(webhook.RotateFor)
	rotated, err := f.Webhooks.RotateWebhook(t.Context(), root, "w1", webhook.Sealed{Text: "another", Key: "k1"})
	if err != nil || rotated.Rotated == nil || rotated.Rotated.Before(until) || rotated.Rotated.After(
		until.Add(time.Minute)) {
		t.Errorf("rotated: got %+v, %v; want the secret before it until %s", rotated, err, until)
	}
	must.Do(t, f.Webhooks.RemoveWebhook(t.Context(), ann(), "w1"))
	if _, err := f.Webhooks.Webhook(t.Context(), "w1"); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("removed: got %v, want ErrNotFound", err)
	}
	var actions []audit.Action
	for _, e := range slices.Backward(logged(t, f, audit.Query{Object: "w1", Limit: 20})) {
		actions = append(actions, e.Action)
		if strings.Contains(string(e.Before)+string(e.After), "sealed") || e.Account != "acc_a" {
			t.Errorf("audit log: got %+v, want the account and no secret", e)
		}
	}
	want := []audit.Action{
		audit.WebhookCreated, audit.WebhookChanged, audit.WebhookChanged, audit.WebhookChanged,
		audit.WebhookRotated, audit.WebhookRemoved,
	}
	must.Equal(t, actions, want, "audit log")
}

func nilIfNone[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func testWebhookBounds(t *testing.T, f *fixture) {
	create(t, f, "a")
	for i := range webhook.MaxEndpoints {
		endpoint(t, f, fmt.Sprintf("w%02d", i), "acc_a")
	}
	e := webhook.Endpoint{ID: "one more", Account: "acc_a", URL: "https://example.com"}
	if err := f.Webhooks.AddWebhook(t.Context(), root, e, webhook.Sealed{Text: "x", Key: "k1"}); !errors.Is(
		err, webhook.ErrTooMany) {
		t.Errorf("one more than there may be: got %v, want ErrTooMany", err)
	}
	if err := f.Webhooks.AddWebhook(t.Context(), root, webhook.Endpoint{ID: "w"},
		webhook.Sealed{Text: "x", Key: "k0"}); !errors.Is(err, webhook.ErrOtherKey) {
		t.Errorf("sealed with another key: got %v, want ErrOtherKey", err)
	}
	if _, err := f.Webhooks.RotateWebhook(t.Context(), root, "w00", webhook.Sealed{Text: "x", Key: "k0"}); !errors.Is(
		err, webhook.ErrOtherKey) {
		t.Errorf("rotated with another key: got %v, want ErrOtherKey", err)
	}
	if name, err := f.Webhooks.MasterKey(t.Context(), "k2"); name != "k1" || err != nil {
		t.Errorf("a second master key: got %q, %v; want the first", name, err)
	}
}

// testAudience checks that each endpoint receives the events that it may and wants to receive.
func testAudience(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	endpoint(t, f, "all", "")
	endpoint(t, f, "a", "acc_a")
	endpoint(t, f, "b", "acc_b")
	endpoint(t, f, "a keys", "acc_a", webhook.KeyCreated, webhook.KeyRevoked)
	endpoint(t, f, "off", "acc_a")
	off := true
	must.Get(f.Webhooks.UpdateWebhook(t.Context(), root, "off", webhook.Update{Disabled: &off}))(t)
	keyed(t, f, "key_1", "acc_a", nil)
	must.Get(f.Accounts.RevokeKey(t.Context(), ann(), "key_1", noon))(t)
	suspended := true
	for range 2 { // the second time nothing changes
		must.Get(f.Accounts.UpdateAccount(t.Context(), ann(), "acc_b", account.Update{Suspended: &suspended}))(t)
	}
	tell(t, f, webhook.NewEvent(webhook.ProviderUnavailable, "", noon, webhook.Data{}))
	tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	for id, want := range map[string][]webhook.Type{
		"all": {
			webhook.KeyCreated, webhook.KeyRevoked, webhook.AccountSuspended, webhook.ProviderUnavailable,
			webhook.ModelUnpriced,
		},
		"a":      {webhook.KeyCreated, webhook.KeyRevoked, webhook.ProviderUnavailable},
		"a keys": {webhook.KeyCreated, webhook.KeyRevoked},
		"b":      {webhook.AccountSuspended, webhook.ProviderUnavailable},
		"off":    nil,
	} {
		must.Equal(t, typesOf(t, f, id), want, "deliveries to %s", id)
	}
	jobs := take(t, f, "a keys", 9)
	var body struct {
		ID, Type  string
		Version   int
		Timestamp time.Time
		Data      webhook.Data
	}
	must.Do(t, json.Unmarshal(jobs[0].Payload, &body))
	key := &webhook.Key{ID: "key_1", Label: "label of key_1", Last4: "last"}
	want := webhook.Data{Account: &webhook.Account{ID: "acc_a", Name: "a"}, Key: key}
	if diff := cmp.Diff(body.Data, want); diff != "" || body.ID != jobs[0].Event || body.Type != "key.created" ||
		body.Version != 1 || !body.Timestamp.Equal(f.clock()) {
		t.Errorf("payload %s (-got +want):\n%s", jobs[0].Payload, diff)
	}
	if jobs[0].URL != "https://example.com/a keys" || !slices.Equal(jobs[0].Secrets, []string{"sealed a keys"}) {
		t.Errorf("job: got %+v, want it with the endpoint's address and secret", jobs[0])
	}
}

// keyed adds a key.
func keyed(t *testing.T, f *fixture, id, accountID string, expires *time.Time) {
	t.Helper()
	k := account.Key{ID: id, AccountID: accountID, Label: "label of " + id, Last4: "last", Created: noon.AddDate(0, -1,
		0), Expires: expires}
	must.Do(t, f.Accounts.CreateKey(t.Context(), ann(), k, account.Hash([]byte(fmt.Sprintf("%032s", id)))))
}

// testOnce checks that an event with a name is written once until its time.
func testOnce(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	e := webhook.NewEvent(webhook.RateLimitExceeded, "acc_a", noon, webhook.Data{Key: &webhook.Key{ID: "gone"}})
	e.Once, e.Until = "limit of a key", noon.Add(time.Minute)
	for _, after := range []time.Duration{0, time.Second, 59 * time.Second, time.Minute, 61 * time.Second} {
		again := e
		again.ID, again.At, again.Until = uuid.New(), noon.Add(after), noon.Add(after+time.Minute)
		tell(t, f, again)
	}
	if got := len(typesOf(t, f, "w")); got != 2 {
		t.Errorf("got %d events in a minute and a second, want 2", got)
	}
	e.Once = ""
	tell(t, f, e)
	tell(t, f, e)
	if got := len(typesOf(t, f, "w")); got != 3 {
		t.Errorf("one event written twice: %d deliveries, want one more than 2", got)
	}
}

func testDeliveries(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	endpoint(t, f, "other", "")
	for range 5 {
		tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	}
	waiting, err := f.Deliveries.WaitingWebhooks(t.Context())
	if diff := cmp.Diff(waiting, []webhook.Waiting{{Webhook: "other"}, {Webhook: "w"}}); diff != "" || err != nil {
		t.Errorf("waiting: %v (-got +want):\n%s", err, diff)
	}
	first, second := take(t, f, "w", 2), take(t, f, "w", 9)
	if len(first) != 2 || len(second) != 3 || len(take(t, f, "w", 9)) != 0 || first[0].Take != 1 {
		t.Fatalf("took %+v and %+v, want 2, 3 and none", first, second)
	}
	jobs := slices.Concat(first, second)
	said := webhook.Try{N: 1, At: noon, Took: 35 * time.Millisecond, Status: 200, Answer: "thanks"}
	err = f.Deliveries.EndTries(t.Context(), []webhook.Outcome{
		{Job: &jobs[0], State: webhook.Delivered, Try: said},
		{Job: &jobs[1], State: webhook.Pending, Try: webhook.Try{N: 1, At: noon, Status: 500, Error: "no"}},
		{Job: &jobs[2], State: webhook.Pending, Try: webhook.Try{N: 1, At: noon, Error: "no"}, After: time.Hour},
		{Job: &jobs[3], State: webhook.Failed, Try: webhook.Try{N: 1, At: noon, Error: "no"}},
		{Job: &jobs[4], Undone: true},
	})
	must.Do(t, err)
	for i, want := range []webhook.State{
		webhook.Delivered, webhook.Pending, webhook.Pending, webhook.Failed,
		webhook.Pending,
	} {
		d, err := f.Deliveries.Delivery(t.Context(), jobs[i].ID)
		if err != nil || d.State != want || (d.Due == nil) != (want != webhook.Pending) ||
			(d.Ended == nil) != (want == webhook.Pending) {
			t.Errorf("delivery %d: got %+v, %v; want %s", i, d.Delivery, err, want)
		}
		if tries := 1 - i/4; len(d.History) != tries || d.Tries != tries || tries > 0 && *d.Last != d.History[0] {
			t.Errorf("delivery %d: got tries %+v, the last one %+v; want %d", i, d.History, d.Last, tries)
		}
		if i == 0 && (d.History[0] != said || d.URL != "https://example.com/w" || !strings.Contains(string(d.Payload),
			"x/y")) {
			t.Errorf("delivery: got %+v, want the try, the address and the payload", d)
		}
	}
	again := take(t, f, "w", 9) // the failed one, and the one that was not tried
	if len(again) != 2 || again[0].Failed+again[1].Failed != 1 || again[0].Take != 2 {
		t.Errorf("due again: got %+v, want two, one of them failed before", again)
	}
	if got := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", State: webhook.Failed, Limit: 9}); len(got) != 1 ||
		got[0].ID != jobs[3].ID {
		t.Errorf("failed ones: got %+v", got)
	}
	all := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 9})
	some := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 2})
	rest := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Before: some[1].ID, Limit: 9})
	if diff := cmp.Diff(slices.Concat(some, rest), all); diff != "" || len(all) != 5 {
		t.Errorf("in pages (-got +want):\n%s", diff)
	}
}

// testStale checks that a late result of a delivery that another node has taken since is ignored, unless it was
// delivered.
func testStale(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	for range 2 {
		tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	}
	old := take(t, f, "w", 2)
	for i := range old {
		must.Do(t, f.Deliveries.Redeliver(t.Context(), old[i].ID))
	}
	fresh := take(t, f, "w", 2)
	if len(fresh) != 2 {
		t.Fatalf("begun anew: got %+v, want both due", fresh)
	}
	err := f.Deliveries.EndTries(t.Context(), []webhook.Outcome{
		{Job: &old[0], State: webhook.Failed, Try: webhook.Try{N: 1, At: noon, Error: "no"}},
		{Job: &old[1], State: webhook.Delivered, Try: webhook.Try{N: 1, At: noon, Status: 204}},
	})
	must.Do(t, err)
	for i, want := range []webhook.State{webhook.Pending, webhook.Delivered} {
		if d, err := f.Deliveries.Delivery(t.Context(), old[i].ID); err != nil || d.State != want {
			t.Errorf("after a late word: got %+v, %v; want %s", d.Delivery, err, want)
		}
	}
	if err := f.Deliveries.EndTries(t.Context(), []webhook.Outcome{{
		Job: &fresh[1], State: webhook.Pending,
		Try: webhook.Try{N: 3, At: noon, Error: "no"},
	}}); err != nil {
		t.Fatal(err)
	}
	if d, err := f.Deliveries.Delivery(t.Context(), old[1].ID); err != nil || d.State != webhook.Delivered {
		t.Errorf("a failure after a success: got %+v, %v; want it delivered", d.Delivery, err)
	}
}

// testTakers takes concurrently, and checks that each delivery is taken once.
func testTakers(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	const events = 200
	for range events {
		tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	}
	other := f.open(t)
	var mu sync.Mutex
	taken := map[string]int{}
	var wg sync.WaitGroup
	for i := range 4 {
		s := []webhook.Outbox{f.Deliveries, other.Deliveries}[i%2]
		wg.Go(func() {
			for {
				jobs, err := s.TakeDeliveries(t.Context(), "w", 7)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for i := range jobs {
					taken[jobs[i].ID]++
				}
				n := len(taken)
				mu.Unlock()
				if n == events || len(jobs) == 0 && n == events {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, n := range taken {
		if n != 1 {
			t.Errorf("delivery %s was taken %d times", id, n)
		}
	}
	if len(taken) != events {
		t.Errorf("%d were taken, want %d", len(taken), events)
	}
}

func testEndpointFares(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	for range 3 {
		tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	}
	jobs := take(t, f, "w", 3)
	end := func(o webhook.Outcome) webhook.Endpoint {
		t.Helper()
		must.Do(t, f.Deliveries.EndTries(t.Context(), []webhook.Outcome{o}))
		e := must.Get(f.Webhooks.Webhook(t.Context(), "w"))(t)
		return e
	}
	failed := webhook.Outcome{
		Job: &jobs[0], State: webhook.Pending, Try: webhook.Try{N: 1, At: noon, Error: "no"},
		Rest: time.Hour,
	}
	if e := end(failed); e.Failing == nil || e.Disabled != nil {
		t.Errorf("after a failure: got %+v, want it failing", e)
	}
	if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) != 0 {
		t.Errorf("an endpoint that wants to hear nothing: got %+v, %v", waiting, err)
	}
	if e := end(webhook.Outcome{Job: &jobs[1], State: webhook.Delivered, Try: webhook.Try{
		N: 1, At: noon,
		Status: 200,
	}}); e.Failing != nil {
		t.Errorf("after a success: got %+v, want it not failing", e)
	}
	e := end(webhook.Outcome{Job: &jobs[2], State: webhook.Failed, Try: webhook.Try{
		N: 1, At: noon, Status: 410,
		Error: "gone",
	}, Gone: true})
	if e.Disabled == nil || !strings.Contains(e.Why, "410") {
		t.Errorf("after 410: got %+v, want it disabled", e)
	}
	log := logged(t, f, audit.Query{Object: "w", Limit: 1})
	if len(log) != 1 || log[0].Actor != audit.Gateway() || !strings.Contains(string(log[0].After),
		`"disabled": true`) && !strings.Contains(string(log[0].After), `"disabled":true`) {
		t.Errorf("audit log: got %+v, want that the gateway disabled it", log)
	}
	if err := f.Deliveries.Redeliver(t.Context(), jobs[0].ID); !errors.Is(err, webhook.ErrDisabled) {
		t.Errorf("redeliver to it: got %v, want ErrDisabled", err)
	}
	if _, err := f.Deliveries.TellOne(t.Context(), "w", webhook.NewEvent(webhook.Test, "", noon,
		webhook.Data{})); !errors.Is(
		err, webhook.ErrDisabled) {
		t.Errorf("test it: got %v, want ErrDisabled", err)
	}
	on := false
	if e, err := f.Webhooks.UpdateWebhook(t.Context(), root, "w", webhook.Update{Disabled: &on}); err != nil ||
		e.Disabled != nil || e.Failing != nil {
		t.Errorf("enabled again: got %+v, %v", e, err)
	}
	id, err := f.Deliveries.TellOne(t.Context(), "w", webhook.NewEvent(webhook.Test, "", noon,
		webhook.Data{WebhookID: "w"}))
	must.Do(t, err)
	if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) != 1 {
		t.Errorf("enabled again: got %+v, %v; want it waiting", waiting, err)
	}
	if got := take(t, f, "w", 9); len(got) != 2 || got[1].ID != id {
		t.Errorf("took %+v, want the failed one, and the test event %s", got, id)
	}
}

// testExceeded checks that a refusal writes the event of a used up budget, once, and not of one that is only held.
func testExceeded(t *testing.T, f *fixture) {
	a := uuid.New()
	budgeted(t, f, 100, budget.PeriodMonth, a)
	endpoint(t, f, "w", "acc_a", webhook.BudgetExceeded)
	refused := budget.Exceeded{Budget: budget.Budget{
		Scope: "acc_a", Of: "account", Period: budget.PeriodMonth,
		Limit: 100,
	}, At: noon, Least: 30}
	j := &tape{journal: a}
	for i, step := range []struct {
		cost llm.Money
		told int
	}{{40, 0}, {20, 0}, {20, 1}, {10, 1}, {20, 1}} { // 40, 60, 80, 90, 110 of 100 spent
		apply(t, f, j.costing(costing(i, step.cost)))
		for range 2 {
			must.Get(f.Events.TellExceeded(t.Context(), refused))(t)
		}
		if got := len(typesOf(t, f, "w")); got != step.told {
			t.Errorf("after step %d: got %d events, want %d", i, got, step.told)
		}
	}
	next := refused
	next.At, next.Least = noon.AddDate(0, 1, 0), 101
	if told, err := f.Events.TellExceeded(t.Context(), next); err != nil || !told {
		t.Errorf("in the next month: got %t, %v; want an event", told, err)
	}
	other := refused
	other.Budget.Period = budget.PeriodDay // which the account no longer has
	if told, err := f.Events.TellExceeded(t.Context(), other); err != nil || told {
		t.Errorf("of a removed budget: got %t, %v; want no event", told, err)
	}
	perUser := []account.Per{{Budget: account.Budget{Limit: 10, Period: budget.PeriodMonth}}}
	must.Get(f.Accounts.UpdateAccount(t.Context(), root, "acc_a", account.Update{Per: &perUser}))(t)
	madeUp := refused
	madeUp.Budget.Scope = budget.UserScope("acc_a", "made up")
	if told, err := f.Events.TellExceeded(t.Context(), madeUp); err != nil || told {
		t.Errorf("of an end user without spending: got %t, %v; want no event", told, err)
	}
}

func testExpiring(t *testing.T, f *fixture) {
	create(t, f, "a")
	endpoint(t, f, "w", "acc_a", webhook.KeyExpiring)
	at := func(d time.Duration) *time.Time { at := noon.Add(d); return &at }
	keyed(t, f, "soon", "acc_a", at(20*24*time.Hour))
	keyed(t, f, "never", "acc_a", nil)
	keyed(t, f, "revoked", "acc_a", at(20*24*time.Hour))
	must.Get(f.Accounts.RevokeKey(t.Context(), ann(), "revoked", noon))(t)
	late := account.Key{
		ID: "late", AccountID: "acc_a", Created: noon.Add(19 * 24 * time.Hour),
		Expires: at(20 * 24 * time.Hour),
	}
	must.Do(t, f.Accounts.CreateKey(t.Context(), ann(), late, account.Hash{9}))
	for _, step := range []struct {
		after time.Duration
		told  int
	}{
		{0, 0},
		{13*24*time.Hour - time.Second, 0},
		{13 * 24 * time.Hour, 1},
		{14 * 24 * time.Hour, 1},
		{19*24*time.Hour + time.Minute, 3},
		{20 * 24 * time.Hour, 3},
		{21 * 24 * time.Hour, 3},
	} {
		for range 2 {
			must.Do(t, f.Events.TellExpiring(t.Context(), noon.Add(step.after)))
		}
		if got := len(typesOf(t, f, "w")); got != step.told {
			t.Errorf("after %s: got %d events, want %d", step.after, got, step.told)
		}
	}
}

func testUsageDaily(t *testing.T, f *fixture) {
	create(t, f, "a")
	endpoint(t, f, "w", "acc_a", webhook.UsageDaily)
	apply(t, f, newTape().costing(costing(1, 30), costing(2, 12)))
	night := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after time.Duration
		told  int
	}{{59 * time.Minute, 0}, {time.Hour, 1}, {2 * time.Hour, 1}, {30 * time.Hour, 1}} {
		must.Do(t, f.Events.TellUsage(t.Context(), night.Add(step.after)))
		if got := len(typesOf(t, f, "w")); got != step.told {
			t.Errorf("%s after the end of the day: got %d events, want %d", step.after, got, step.told)
		}
	}
	var body struct{ Data webhook.Data }
	must.Do(t, json.Unmarshal(take(t, f, "w", 1)[0].Payload, &body))
	want := &webhook.Usage{
		Date: "2026-11-21", AsOf: night.Add(time.Hour), Requests: 2, Tokens: 42,
		CostUSD: "0.000000042",
	}
	must.Equal(t, body.Data.Usage, want, "usage")
}

// testUnpricedEvents checks that operators receive an event of a model without a price once a day.
func testUnpricedEvents(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	j := newTape()
	for i := range 4 {
		e := entry(i)
		e.Model, e.Price.Version, e.Cost, e.Provenance = "odd", "", 0, ledger.Estimated
		e.Unpriced = e.Price.Unpriced(&e.Usage, "")
		if i == 3 {
			e.Opened, e.Arrived = noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 1)
		}
		apply(t, f, j.next(nil, e))
		if i == 1 { // another process remembers nothing
			f.DB = f.open(t)
		}
	}
	must.Equal(t, typesOf(t, f, "w"), []webhook.Type{webhook.ModelUnpriced, webhook.ModelUnpriced},
		"two days without a price")
}

func testRetainEvents(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	endpoint(t, f, "gone", "")
	for i := range 3 {
		e := webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"})
		e.Once, e.Until = fmt.Sprint(i), noon.Add(time.Hour)
		tell(t, f, e)
	}
	must.Do(t, f.Webhooks.RemoveWebhook(t.Context(), ann(), "gone"))
	jobs := take(t, f, "w", 2)
	for i := range jobs {
		if err := f.Deliveries.EndTries(t.Context(), []webhook.Outcome{{
			Job: &jobs[i], State: webhook.Delivered,
			Try: webhook.Try{N: 1, At: noon},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	f.advance(31 * 24 * time.Hour)
	must.Do(t, f.Deliveries.RetainEvents(t.Context()))
	if got := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 9}); len(got) != 1 ||
		got[0].State != webhook.Pending {
		t.Errorf("stored: got %+v, want the pending one", got)
	}
	if d, err := f.Deliveries.Delivery(t.Context(),
		deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 9})[0].ID); err != nil || len(d.Payload) == 0 {
		t.Errorf("its event: got %+v, %v; want it stored", d, err)
	}
	if _, err := f.Deliveries.Delivery(t.Context(), jobs[0].ID); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("one that ended: got %v, want ErrNotFound", err)
	}
}

func testReseal(t *testing.T, f *fixture) {
	first, second := seal.NewKey(), seal.NewKey()
	ring, err := seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{first}, nil })
	must.Do(t, err)
	must.Get(f.Webhooks.MasterKey(t.Context(), ring.Newest()))(t)
	sealed := func(text string) webhook.Sealed {
		out := must.Get(ring.Seal(ring.Newest(), []byte(text), webhook.SecretOf("w")))(t)
		return webhook.Sealed{Text: out, Key: ring.Newest()}
	}
	must.Do(t, f.Webhooks.AddWebhook(t.Context(), root, webhook.Endpoint{ID: "w", Created: noon}, sealed("one")))
	must.Get(f.Webhooks.RotateWebhook(t.Context(), root, "w", sealed("two")))(t)
	both := must.Get(seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{second, first}, nil }))(t)
	if _, err := f.Webhooks.Reseal(t.Context(), ann(), ring); err != nil {
		t.Errorf("with the same key: %v", err)
	}
	if n, err := f.Webhooks.Reseal(t.Context(), ann(), both); n != 2 || err != nil {
		t.Errorf("sealed anew: got %d, %v; want 2", n, err)
	}
	tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	alone, err := seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{second}, nil })
	must.Do(t, err)
	secrets := take(t, f, "w", 1)[0].Secrets
	for i, want := range []string{"two", "one"} {
		if got, err := alone.Open(secrets[i], webhook.SecretOf("w")); err != nil || string(got) != want {
			t.Errorf("secret %d with the new key alone: got %q, %v; want %q", i, got, err, want)
		}
	}
	if name, err := f.Webhooks.MasterKey(t.Context(), "x"); name != second.Name() || err != nil {
		t.Errorf("master key: got %q, %v; want the new one", name, err)
	}
	if _, err := f.Webhooks.Reseal(t.Context(), ann(), ring); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("with a ring that has not the key: got %v, want ErrNoKey", err)
	}
}
