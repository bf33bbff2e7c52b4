package signin_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestPlaygroundTokenIsSecret tries all ways to obtain the token of the playground's key, or to hide another key
// as one.
func TestPlaygroundTokenIsSecret(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	keys := account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
	boss := h.setUp("ada@example.com")
	member := h.join(boss.Actor(home), "bob@example.com", people.Member)
	by, id := member.Actor(home), member.User().ID
	p := must.Get(keys.Playground(h.ctx, by, &h.account, id, account.Chat))(t)
	k := p.Key()
	wantCode(t, "its member changes it", member.MayChangeKey(k), llm.CodeForbidden)
	must.Do(t, boss.MayChangeKey(k))
	for _, overlap := range []time.Duration{0, time.Hour} {
		_, _, err := keys.RotateKey(h.ctx, boss.Actor(home), k.ID, overlap)
		wantCode(t, fmt.Sprint("rotate it with overlap ", overlap), err, llm.CodeInvalidRequest)
	}
	label, more := "Mine", []account.Permission{account.Chat, account.Uses}
	_, err := keys.UpdateKey(h.ctx, boss.Actor(home), k.ID, account.KeyUpdate{Label: &label})
	wantCode(t, "another label", err, llm.CodeInvalidRequest)
	_, err = keys.UpdateKey(h.ctx, boss.Actor(home), k.ID, account.KeyUpdate{Permissions: &more})
	wantCode(t, "other permissions", err, llm.CodeInvalidRequest)
	limits := account.Limits{RPM: 5}
	must.Get(keys.UpdateKey(h.ctx, boss.Actor(home), k.ID, account.KeyUpdate{Limits: &limits}))(t)
	if again := must.Get(keys.Playground(h.ctx, by, &h.account, id, account.Chat))(t); again.Key().ID != k.ID {
		t.Error("the playground made another key, want the one with the owner's limits")
	}
	for _, label := range []string{"Playground", " playground ", "PLAYGROUND"} {
		_, _, err := keys.CreateKey(h.ctx, by, account.KeyOptions{Account: h.account.ID, Label: label, Creator: id})
		wantCode(t, fmt.Sprintf("a key of one's own with the label %q", label), err, llm.CodeInvalidRequest)
	}
	own, _, err := keys.CreateKey(h.ctx, by, account.KeyOptions{Account: h.account.ID, Label: "own", Creator: id})
	must.Do(t, err)
	label = "Playground"
	_, err = keys.UpdateKey(h.ctx, by, own.ID, account.KeyUpdate{Label: &label})
	wantCode(t, "that label for a key of one's own", err, llm.CodeInvalidRequest)
	must.Do(t, member.MayRevokeKey(&own))
}

// TestPlaygroundsKeyEndsWithTheMembership removes the right to use the playground in all ways.
func TestPlaygroundsKeyEndsWithTheMembership(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *fixture, boss, who *people.Visitor) error{
		"removed from the account": func(h *fixture, boss, who *people.Visitor) error {
			return h.RemoveMember(h.ctx, boss.Actor(home), h.account.ID, who.User().ID)
		},
		"a viewer": func(h *fixture, boss, who *people.Visitor) error {
			return h.SetRole(h.ctx, boss.Actor(home), h.account.ID, who.User().ID, people.Viewer)
		},
		"disabled": func(h *fixture, boss, who *people.Visitor) error {
			return h.SetDisabled(h.ctx, boss.Actor(home), who.User().ID, true)
		},
		"removed": func(h *fixture, boss, who *people.Visitor) error {
			return h.RemoveUser(h.ctx, boss.Actor(home), who.User().ID)
		},
		"no operator any more": func(h *fixture, boss, who *people.Visitor) error {
			must.Do(h.t, h.SetOperator(h.ctx, boss.Actor(home), who.User().ID, true))
			return h.SetOperator(h.ctx, boss.Actor(home), who.User().ID, false)
		},
		"": func(h *fixture, boss, who *people.Visitor) error {
			return h.SetRole(h.ctx, boss.Actor(home), h.account.ID, who.User().ID, people.Owner)
		},
	} {
		h := newFixture(t)
		keys := account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
		boss := h.setUp("ada@example.com")
		member := h.join(boss.Actor(home), "bob@example.com", people.Member)
		p := must.Get(keys.Playground(h.ctx, member.Actor(home), &h.account, member.User().ID, account.Chat))(t)
		own, _, err := keys.CreateKey(h.ctx, member.Actor(home), account.KeyOptions{
			Account: h.account.ID, Label: "own", Creator: member.User().ID,
		})
		must.Do(t, err)
		must.Do(t, end(h, boss, member))
		if k := must.Get(keys.Key(h.ctx, p.Key().ID))(t); (k.Revoked != nil) != (name != "") {
			t.Errorf("%q: got the playground's key revoked %v, want %v", name, k.Revoked != nil, name != "")
		}
		if k := must.Get(keys.Key(h.ctx, own.ID))(t); k.Revoked != nil {
			t.Errorf("%q: got another key revoked, want it to stay", name)
		}
	}
}
