package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/store"
	"weir/internal/webhook"
)

// TestClosedAccountIsAnonymous closes an account: the database then has nothing that could name a person, nothing of
// the account can be changed, and the audit log still verifies.
func TestClosedAccountIsAnonymous(t *testing.T) {
	t.Parallel()
	everywhere(t, testClosedAccountIsAnonymous)
}

func testClosedAccountIsAnonymous(t *testing.T, o store.Options) {
	s := open(t, o)
	ctx, now, root := t.Context(), time.Now().UTC().Truncate(time.Microsecond), audit.Actor{Kind: audit.Command, Name: "root"}
	joined(t, s, "ann") // owns a
	must.Do(t, s.Accounts.CreateAccount(ctx, root, account.Account{ID: "b-1", Name: "team-of-cy", Created: now}))
	made := account.Key{
		ID: "k", AccountID: "b-1", Label: "Cy's laptop", Permissions: []account.Permission{account.Chat}, Created: now,
		Tags: account.KeyTags{Defaults: []llm.Tag{{Name: "person", Value: "cy-marker"}}},
	}
	must.Do(t, s.Accounts.CreateKey(ctx, root, made, account.Hash{1}))
	must.Get(s.Webhooks.MasterKey(ctx, "master"))(t)
	endpoint := webhook.Endpoint{ID: "w", Account: "b-1", URL: "https://cy.example/hook", Created: now}
	must.Do(t, s.Webhooks.AddWebhook(ctx, root, endpoint, webhook.Sealed{Key: "master", Text: "sealed"}))
	invitation := people.Invitation{
		ID: "i", Email: "ann@x.example", AccountID: "b-1", Role: people.Owner, By: "root", Created: now, Expires: now.Add(time.Hour),
	}
	must.Get(s.Invitations.Invite(ctx, root, invitation, people.Hash{9}))(t)
	marks := []string{"team-of-cy", "Cy's laptop", "cy-marker"}
	for _, mark := range marks {
		if found := holding(t, o, mark); len(found) == 0 {
			t.Errorf("before: %q is nowhere, so that this test would find nothing", mark)
		}
	}
	others := holding(t, o, "ann@x.example")
	closed := must.Get(s.Accounts.CloseAccount(ctx, root, "b-1", now))(t)
	if closed.Name != "closed-b1" || !closed.Suspended || closed.Closed == nil || !closed.Closed.Equal(now) {
		t.Errorf("closed: got %+v, want it suspended, under another name", closed)
	}
	for _, mark := range marks {
		found := slices.DeleteFunc(holding(t, o, mark), func(table string) bool {
			return strings.HasPrefix(table, "events ") // on its way to receivers
		})
		if len(found) > 0 {
			t.Errorf("after: %q is in %v", mark, found)
		}
	}
	if got := holding(t, o, "ann@x.example"); slices.Equal(got, others) {
		t.Errorf("an invited person: got them in %v, want no invitation", got)
	}
	k := must.Get(s.Accounts.Key(ctx, "k"))(t)
	if k.Revoked == nil || k.Label != "closed" || len(must.Get(s.Webhooks.Webhooks(ctx, "b-1"))(t)) != 0 {
		t.Errorf("got the key %+v, want it revoked, and no endpoint", k)
	}
	entries := must.Get(s.Audit.Verify(ctx, audit.Hash{}))(t)
	again := must.Get(s.Accounts.CloseAccount(ctx, root, "b-1", now.Add(time.Hour)))(t)
	must.Equal(t, again, closed, "closed again")
	made.ID = "k2"
	for what, change := range map[string]func() error{
		"resume": func() error {
			_, err := s.Accounts.UpdateAccount(ctx, root, "b-1", account.Update{Suspended: new(false)})
			return err
		},
		"a price list": func() error {
			_, err := s.Accounts.UpdateAccount(ctx, root, "b-1", account.Update{PriceList: &account.PriceList{Since: now}})
			return err
		},
		"credit": func() error {
			_, err := s.Accounts.AddCredit(ctx, root, account.CreditEntry{ID: "c", AccountID: "b-1", Amount: llm.USD, At: now})
			return err
		},
		"a key": func() error { return s.Accounts.CreateKey(ctx, root, made, account.Hash{2}) },
		"an invitation": func() error {
			_, err := s.Invitations.Invite(ctx, root, invitation, people.Hash{8})
			return err
		},
		"an endpoint": func() error {
			return s.Webhooks.AddWebhook(ctx, root, endpoint, webhook.Sealed{Key: "master", Text: "sealed"})
		},
	} {
		if err := change(); err == nil || !strings.Contains(err.Error(), "The account is closed") {
			t.Errorf("%s: got %v, want that the account is closed", what, err)
		}
	}
	if v := must.Get(s.Audit.Verify(ctx, audit.Hash{}))(t); !v.Whole() || v.Entries != entries.Entries {
		t.Errorf("the chain: got %+v, want it whole, with %d entries", v, entries.Entries)
	}
	must.Do(t, s.Accounts.CreateAccount(ctx, root, account.Account{ID: "c", Name: "team-of-cy", Created: now}))
}
