package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"weir/internal/store"
)

// ann returns an actor with all fields set.
func ann() audit.Actor {
	return audit.Actor{Kind: audit.User, ID: "user_1", Name: "ann@example.com", Address: "192.0.2.7", Request: "req_1"}
}

// step is one change, with the expected audit log entry.
type step struct {
	name   string
	do     func(ctx context.Context, f *fixture) error
	action audit.Action // empty if nothing changes
	object audit.Object
	before string // JSON; empty for none
	after  string
}

// second returns the error of a change.
func second[T any](_ T, err error) error { return err }

func updates(u account.Update) func(context.Context, *fixture) error {
	return func(ctx context.Context, f *fixture) error {
		return second(f.Accounts.UpdateAccount(ctx, ann(), "acc_a", u))
	}
}

func credits(id string, amount llm.Money) func(context.Context, *fixture) error {
	return func(ctx context.Context, f *fixture) error {
		return second(f.Accounts.AddCredit(ctx, ann(), account.CreditEntry{
			ID: id, AccountID: "acc_a", Amount: amount,
			At: f.now,
		}))
	}
}

func changesKey(u account.KeyUpdate) func(context.Context, *fixture) error {
	return func(ctx context.Context, f *fixture) error {
		return second(f.Accounts.UpdateKey(ctx, ann(), "key_1", u))
	}
}

func revokes(ctx context.Context, f *fixture) error {
	return second(f.Accounts.RevokeKey(ctx, ann(), "key_1", noon))
}

func resolves(n int, release bool) func(context.Context, *fixture) error {
	return func(ctx context.Context, f *fixture) error {
		return f.Corrections.Resolve(ctx, ann(), attempt(n).ID, 77, release)
	}
}

// accountSteps returns changes of an account.
func accountSteps() []step {
	acc := audit.Object{Kind: "account", ID: "acc_a", Name: "a"}
	budget := account.Budget{Limit: 5*llm.USD + llm.USD/2, Period: budget.PeriodMonth}
	return []step{
		{
			"first account", func(ctx context.Context, f *fixture) error {
				return second(f.Accounts.Bootstrap(ctx, ann(), newAccount("a")))
			},
			audit.AccountCreated, acc, "", `{"name":"a","on_hangup":"cancel","suspended":false}`,
		},
		{"first account again", func(ctx context.Context, f *fixture) error {
			return second(f.Accounts.Bootstrap(ctx, ann(), newAccount("b")))
		}, "", acc, "", ""},
		{
			"another account", func(ctx context.Context, f *fixture) error {
				return f.Accounts.CreateAccount(ctx, ann(),
					newAccount("c"))
			},
			audit.AccountCreated,
			audit.Object{Kind: "account", ID: "acc_c", Name: "c"},
			"", `{"name":"c","on_hangup":"cancel","suspended":false}`,
		},
		{
			"suspend", updates(account.Update{Suspended: new(true)}), audit.AccountSuspended, acc,
			`{"suspended":false}`,
			`{"suspended":true}`,
		},
		{"suspend again", updates(account.Update{Suspended: new(true)}), "", acc, "", ""},
		{
			"resume", updates(account.Update{Suspended: new(false)}), audit.AccountResumed, acc, `{"suspended":true}`,
			`{"suspended":false}`,
		},
		{
			"budget", updates(account.Update{Budget: &budget}), audit.AccountChanged, acc,
			`{"budget_period":null,"budget_usd":null}`, `{"budget_period":"month","budget_usd":"5.5"}`,
		},
		{"budget again", updates(account.Update{Budget: &budget}), "", acc, "", ""},
		{
			"no budget", updates(account.Update{Budget: &account.Budget{}}), audit.AccountChanged, acc,
			`{"budget_period":"month","budget_usd":"5.5"}`, `{"budget_period":null,"budget_usd":null}`,
		},
		{
			"limits", updates(account.Update{Limits: &account.Limits{RPM: 600, Concurrency: 4}}), audit.AccountChanged,
			acc,
			`{"concurrency":null,"rpm":null}`, `{"concurrency":4,"rpm":600}`,
		},
		{
			"one limit", updates(account.Update{Limits: &account.Limits{RPM: 60, Concurrency: 4}}),
			audit.AccountChanged,
			acc, `{"rpm":600}`, `{"rpm":60}`,
		},
		{
			"hang-up", updates(account.Update{OnDisconnect: new(account.DisconnectDrain)}), audit.AccountChanged, acc,
			`{"on_hangup":"cancel"}`, `{"on_hangup":"drain"}`,
		},
		{
			"first credit", credits("1", 20*llm.USD), audit.AccountCredited, acc,
			`{"credit_from_usd":null,"credit_usd":null}`, `{"credit_from_usd":"0.0049452","credit_usd":"20"}`,
		},
		{
			"less credit", credits("2", -llm.USD/4), audit.AccountCredited, acc, `{"credit_usd":"20"}`,
			`{"credit_usd":"19.75"}`,
		},
		{
			"no credit", updates(account.Update{EndCredit: true}), audit.AccountChanged, acc,
			`{"credit_from_usd":"0.0049452","credit_usd":"19.75"}`, `{"credit_from_usd":null,"credit_usd":null}`,
		},
	}
}

// otherSteps returns changes of other objects, to be made after those of an account.
func otherSteps(e *ledger.Entry) []step {
	key, renamed := audit.Object{Kind: "key", ID: "key_1", Name: "über label"}, audit.Object{
		Kind: "key", ID: "key_1",
		Name: "renamed",
	}
	k := newKey("key_1", "acc_a")
	k.Creator = "user_1"
	tokens := e.Usage.TotalTokens()
	resolved := func(n int) audit.Object { return audit.Object{Kind: "attempt", ID: attempt(n).ID.String()} }
	before := fmt.Sprintf(`{"cost_usd":%q,"resolved":false}`, e.Cost)
	return []step{
		{
			"key", func(ctx context.Context, f *fixture) error {
				return f.Accounts.CreateKey(ctx, ann(), k, account.Hash{1})
			},
			audit.KeyCreated, key, "",
			`{"budget_period":"month","budget_usd":"5","concurrency":3,"creator":"user_1",` +
				`"expires":"2027-01-01T00:00:00.000001Z","label":"über label",` +
				`"last4":"abcd","models":["openai/*","fast"],"permissions":["chat"],"rpm":1,"tpm":2}`,
		},
		{"same label", changesKey(account.KeyUpdate{Label: &k.Label}), "", key, "", ""},
		{
			"label and models", changesKey(account.KeyUpdate{Label: new("renamed"), Models: new([]string{})}),
			audit.KeyChanged, renamed,
			`{"label":"über label","models":["openai/*","fast"]}`, `{"label":"renamed","models":null}`,
		},
		{
			"never expires", changesKey(account.KeyUpdate{Expires: &time.Time{}}), audit.KeyChanged, renamed,
			`{"expires":"2027-01-01T00:00:00.000001Z"}`, `{"expires":null}`,
		},
		{
			"limits and budget of a key", changesKey(account.KeyUpdate{
				Limits: &account.Limits{RPM: 9, TPM: 2},
				Budget: &account.Budget{Limit: 1, Period: budget.PeriodMonth},
			}),
			audit.KeyChanged, renamed, `{"budget_usd":"5","concurrency":3,"rpm":1}`,
			`{"budget_usd":"0.000000001","concurrency":null,"rpm":9}`,
		},
		{"revoke", revokes, audit.KeyRevoked, renamed, `{"revoked":null}`, `{"revoked":"` +
			noon.Format(time.RFC3339Nano) + `"}`},
		{"revoke again", revokes, "", renamed, "", ""},
		{
			"cost", resolves(1, false), audit.AttemptResolved, resolved(1), before,
			`{"cost_usd":"0.000000077","resolved":true}`,
		},
		{
			"release", resolves(2, true), audit.AttemptResolved, resolved(2),
			fmt.Sprintf(`{"cost_usd":%q,"resolved":false,"tokens":%d}`, e.Cost, tokens),
			`{"cost_usd":"0","resolved":true,"tokens":0}`,
		},
		{
			"credit note", func(ctx context.Context, f *fixture) error {
				return f.Corrections.Correct(ctx, ann(), ledger.Correct{
					ID: attempt(1).ID, Amount: -70,
					Reason: "credit note",
				})
			},
			audit.AttemptCorrected, resolved(1), `{"cost_usd":"0.000000077"}`,
			`{"cost_usd":"0.000000007","reason":"credit note"}`,
		},
		{
			"set-up link", func(ctx context.Context, f *fixture) error {
				return f.Accounts.CreateSetupToken(ctx, ann(), account.Hash{1}, f.now, noon.Add(time.Hour))
			},
			audit.SetupLinkCreated,
			audit.Object{Kind: "setup_link"},
			"", `{"expires":"` + noon.Add(time.Hour).Format(time.RFC3339Nano) + `"}`,
		},
	}
}

// testAudit makes every kind of change, and compares the last entry of the log.
func testAudit(t *testing.T, f *fixture) {
	e := unknown(1)
	apply(t, f, newTape().next(nil, e, unknown(2)))
	seq := int64(0)
	for _, test := range append(accountSteps(), otherSteps(&e)...) {
		f.advance(time.Second)
		if err := test.do(t.Context(), f); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		want := audit.Entry{
			Actor: ann(), Action: test.action, Object: test.object, At: f.now, Account: "acc_a",
			Before: raw(test.before), After: raw(test.after),
		}
		switch test.object.Kind {
		case "account":
			want.Account = test.object.ID
		case "setup_link":
			want.Account = ""
		}
		got := logged(t, f, audit.Query{Limit: 1})
		if test.action == "" {
			if got[0].Seq != seq {
				t.Errorf("%s, which changes nothing: got the entry %+v", test.name, got[0])
			}
			continue
		}
		seq++
		want.Seq, want.Hash, want.Proofs = seq, got[0].Hash, got[0].Proofs
		must.Equal(t, got[0], want, "%s", test.name)
	}
	whole(t, f, seq)
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func logged(t *testing.T, f *fixture, q audit.Query) []audit.Entry {
	t.Helper()
	list, err := f.Audit.Entries(t.Context(), q)
	if err != nil {
		t.Fatalf("read audit log by %+v: %v", q, err)
	}
	return list
}

// whole checks that the log has that many entries in an intact chain.
func whole(t *testing.T, f *fixture, entries int64) (head audit.Hash) {
	t.Helper()
	v, err := f.Audit.Verify(t.Context(), audit.Hash{})
	if err != nil || !v.Whole() || v.Entries != entries {
		t.Errorf("verify: got %+v, %v; want %d entries of a whole chain", v, err, entries)
	}
	return v.Head
}

// testAuditFailed checks that a failed change leaves no entry.
func testAuditFailed(t *testing.T, f *fixture) {
	create(t, f, "a")
	apply(t, f, newTape().next(nil, entry(1)))
	for name, test := range map[string]struct {
		do   func(ctx context.Context, f *fixture) error
		want error // nil for any
	}{
		"taken name": {func(ctx context.Context, f *fixture) error {
			return f.Accounts.CreateAccount(ctx, ann(),
				newAccount("a"))
		}, account.ErrExists},
		"no account": {func(ctx context.Context, f *fixture) error {
			return second(f.Accounts.UpdateAccount(ctx, ann(), "b", account.Update{}))
		}, account.ErrNotFound},
		"overdrawn": {credits("1", -1), account.ErrOverdrawn},
		"key of no account": {func(ctx context.Context, f *fixture) error {
			return f.Accounts.CreateKey(ctx, ann(), newKey("key_2", "b"), account.Hash{1})
		}, nil},
		"no key":           {revokes, account.ErrNotFound},
		"no key to change": {changesKey(account.KeyUpdate{Label: new("x")}), account.ErrNotFound},
		"known outcome":    {resolves(1, false), ledger.ErrKnown},
		"no attempt":       {resolves(9, true), ledger.ErrNoAttempt},
		"no node": {func(ctx context.Context, f *fixture) error {
			return f.Leases.ForgetNode(ctx, ann(), uuid.New())
		}, store.ErrNoNode},
	} {
		if err := test.do(t.Context(), f); err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	whole(t, f, 1)
	if a, err := f.Accounts.List(t.Context(), "a"); err != nil || a[0].Credit != nil {
		t.Errorf("after an overdrawn credit: got %+v, %v; want none", a[0].Credit, err)
	}
}

// testKeyChanges checks UpdateKey, except for its entries.
func testKeyChanges(t *testing.T, f *fixture) {
	create(t, f, "a")
	k := newKey("key_1", "acc_a")
	k.Creator = "user_1"
	must.Do(t, f.Accounts.CreateKey(t.Context(), ann(), k, account.Hash{1}))
	k.Label, k.Expires = "new", new(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	if got, err := f.Accounts.UpdateKey(t.Context(), ann(), k.ID, account.KeyUpdate{
		Label:   &k.Label,
		Expires: k.Expires,
	}); err != nil || !cmp.Equal(got, k) {
		t.Errorf("change: err %v\n%s", err, cmp.Diff(got, k))
	}
	if got, err := f.Accounts.Key(t.Context(), k.ID); err != nil || !cmp.Equal(got, k) {
		t.Errorf("key: err %v\n%s", err, cmp.Diff(got, k))
	}
	if c, err := f.Accounts.Changes(t.Context(), 2); err != nil || len(c.List) != 1 || c.List[0].ID != k.ID {
		t.Errorf("the feed: got %+v, %v; want the change of the key", c, err)
	}
	loose, err := f.Accounts.UpdateKey(t.Context(), ann(), k.ID, account.KeyUpdate{
		Expires: &time.Time{}, Label: new("newer"),
		Tighten: true,
	})
	if err == nil || llm.AsError(err).Code != llm.CodeForbidden {
		t.Errorf("tighten by taking the expiry away: got %+v, %v; want FORBIDDEN", loose, err)
	}
	if got, err := f.Accounts.Key(t.Context(), k.ID); err != nil || !cmp.Equal(got, k) {
		t.Errorf("after a change that is refused: err %v\n%s", err, cmp.Diff(got, k))
	}
	k.Expires = new(k.Expires.Add(-time.Hour))
	if got, err := f.Accounts.UpdateKey(t.Context(), ann(), k.ID, account.KeyUpdate{
		Expires: k.Expires,
		Tighten: true,
	}); err != nil || !cmp.Equal(got, k) {
		t.Errorf("tighten: err %v\n%s", err, cmp.Diff(got, k))
	}
	if _, err := f.Accounts.Key(t.Context(), "key_9"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("no such key: got %v, want ErrNotFound", err)
	}
	must.Do(t, revokes(t.Context(), f))
	if _, err := f.Accounts.UpdateKey(t.Context(), ann(), k.ID, account.KeyUpdate{Label: new("x")}); !errors.Is(
		err, account.ErrRevoked) {
		t.Errorf("change a revoked key: got %v, want ErrRevoked", err)
	}
}

// testAuditQueries selects entries by every field of a query.
func testAuditQueries(t *testing.T, f *fixture) {
	create(t, f, "a", "b") // 1, 2
	f.advance(time.Hour)
	for _, do := range []func(context.Context, *fixture) error{
		func(ctx context.Context, f *fixture) error {
			return f.Accounts.CreateKey(ctx, ann(), newKey("key_1", "acc_a"), account.Hash{1})
		}, // 3
		updates(account.Update{Suspended: new(true)}), // 4
		revokes, // 5
	} {
		must.Do(t, do(t.Context(), f))
	}
	for _, test := range []struct {
		q    audit.Query
		want string
	}{
		{audit.Query{Limit: 9}, "5 4 3 2 1"},
		{audit.Query{Limit: 2}, "5 4"},
		{audit.Query{Limit: 2, Before: 4}, "3 2"},
		{audit.Query{Limit: 2, After: 2}, "4 3"},
		{audit.Query{Limit: 9, After: 1, Before: 4, Account: "acc_a"}, "3"},
		{audit.Query{Limit: 9, Account: "acc_a"}, "5 4 3 1"},
		{audit.Query{Limit: 9, Actor: "weir"}, "2 1"},
		{audit.Query{Limit: 9, Actor: "user_1"}, "5 4 3"},
		{audit.Query{Limit: 9, Actor: "ann@example.com", Action: "key."}, "5 3"},
		{audit.Query{Limit: 9, Action: audit.KeyRevoked}, "5"},
		{audit.Query{Limit: 9, Action: "key.%"}, ""},
		{audit.Query{Limit: 9, Object: "key_1"}, "5 3"},
		{audit.Query{Limit: 9, From: f.now}, "5 4 3"},
		{audit.Query{Limit: 9, To: f.now}, "2 1"},
		{audit.Query{Limit: 9, Account: "' OR 1 = 1 --"}, ""},
	} {
		if got := places(logged(t, f, test.q)); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.q, got, test.want)
		}
	}
	var all []audit.Entry
	err := f.Audit.Export(t.Context(), audit.Query{Account: "acc_a"}, func(e *audit.Entry) error {
		all = append(all, *e)
		return nil
	})
	if got := places(all); err != nil || got != "1 3 4 5" {
		t.Errorf("export: got %q, %v; want the oldest first", got, err)
	}
}

func places(list []audit.Entry) string {
	var all []string
	for i := range list {
		all = append(all, fmt.Sprint(list[i].Seq))
	}
	return strings.Join(all, " ")
}

// testAuditWriters makes changes in many processes concurrently, and checks that each entry follows from the one
// before.
func testAuditWriters(t *testing.T, f *fixture) {
	const nodes, each = 6, 8
	create(t, f, "a")
	head := whole(t, f, 1)
	var all sync.WaitGroup
	for i := range nodes {
		node := f.open(t)
		all.Go(func() {
			for n := range each {
				_, err := node.Accounts.UpdateAccount(t.Context(), ann(), "acc_a",
					account.Update{Limits: &account.Limits{RPM: int64(1 + i*each + n)}})
				if err != nil {
					t.Errorf("node %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	whole(t, f, 1+nodes*each)
	if v, err := f.Audit.Verify(t.Context(), head); err != nil || !v.GoesOn {
		t.Errorf("after the earlier head: got %+v, %v; want an unbroken chain", v, err)
	}
	// The value before a change is the value after the previous entry.
	list, last := logged(t, f, audit.Query{Limit: nodes * each}), ""
	for i := range list {
		if last != "" && string(list[i].After) != last {
			t.Errorf("entry %d: got %s, want %s, which the next one has changed", list[i].Seq, list[i].After, last)
		}
		last = string(list[i].Before)
	}
}
