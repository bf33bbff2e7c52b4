package account_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestAccountNames(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, name := range []string{"a", "A-b_c.9", strings.Repeat("x", 64)} {
		if a, err := h.CreateAccount(t.Context(), audit.Gateway(), name); err != nil || a.Name != name || uuid.Validate(a.ID) != nil {
			t.Errorf("%q: got %+v, %v; want it made", name, a, err)
		}
	}
	_, err := h.CreateAccount(t.Context(), audit.Gateway(), strings.Repeat("ü", 40))
	if e := llm.AsError(err); !strings.Contains(e.Message, "invalid character") {
		t.Errorf("40 characters of two bytes: got %q, want a message about the character, not the length", e.Message)
	}
	for _, name := range []string{"", strings.Repeat("x", 65), "a b", "a/b", "ä", ".", "..", "acme", "01a1fcbf-d020-7aa2-b877-c174480a97f9"} {
		_, err := h.CreateAccount(t.Context(), audit.Gateway(), name)
		if e := llm.AsError(err); e.Code != llm.CodeInvalidRequest || e.Param != "name" {
			t.Errorf("%q: got %v, want INVALID_REQUEST about its name", name, err)
		}
	}
}

func TestAccountChanges(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	monthly := account.Budget{Limit: 5 * llm.USD, Period: budget.PeriodMonth}
	if a, err := h.SetBudget(t.Context(), audit.Gateway(), "acme", monthly); err != nil || a.Budget != monthly {
		t.Errorf("set budget: got %+v, %v; want %+v", a.Budget, err, monthly)
	}
	if a, err := h.SetOnDisconnect(t.Context(), audit.Gateway(), "acme", account.DisconnectDrain); err != nil || a.OnDisconnect != account.DisconnectDrain {
		t.Errorf("set on hang-up: got %q, %v; want drain", a.OnDisconnect, err)
	}
	a, err := h.Suspend(t.Context(), audit.Gateway(), "acme")
	if err != nil || !a.Suspended || a.Budget != monthly {
		t.Errorf("suspend: got %+v, %v; want suspended, with the same budget", a, err)
	}
	if b, err := h.Resume(t.Context(), audit.Gateway(), a.ID); err != nil || b.Suspended {
		t.Errorf("resume by id: got %+v, %v; want not suspended", b, err)
	}
	for what, err := range map[string]error{
		"no limit":  second(h.SetBudget(t.Context(), audit.Gateway(), "acme", account.Budget{Period: budget.PeriodDay})),
		"negative":  second(h.SetBudget(t.Context(), audit.Gateway(), "acme", account.Budget{Limit: -1, Period: budget.PeriodDay})),
		"no period": second(h.SetBudget(t.Context(), audit.Gateway(), "acme", account.Budget{Limit: 1})),
		"year":      second(h.SetBudget(t.Context(), audit.Gateway(), "acme", account.Budget{Limit: 1, Period: "year"})),
		"too much":  second(h.SetBudget(t.Context(), audit.Gateway(), "acme", account.Budget{Limit: math.MaxInt64, Period: budget.PeriodTotal})),
		"credit":    second(h.AddCredit(t.Context(), audit.Gateway(), "acme", math.MaxInt64)),
		"hang-up":   second(h.SetOnDisconnect(t.Context(), audit.Gateway(), "acme", "explode")),
		"no name":   second(h.Account(t.Context(), "")),
	} {
		if code(err) != llm.CodeInvalidRequest {
			t.Errorf("%s: got %v, want INVALID_REQUEST", what, err)
		}
	}
	limits := account.Limits{RPM: 5}
	u := account.Update{Suspended: new(true), OnDisconnect: new(account.DisconnectCancel), Limits: &limits, Budget: &account.Budget{}}
	if a, err := h.UpdateAccount(t.Context(), audit.Gateway(), "acme", u); err != nil || !a.Suspended || a.OnDisconnect != account.DisconnectCancel || a.Limits != limits || a.Budget != (account.Budget{}) {
		t.Errorf("all at once: got %+v, %v; want %+v", a, err, u)
	}
	u = account.Update{Suspended: new(false), Limits: &account.Limits{TPM: -1}}
	if err := second(h.UpdateAccount(t.Context(), audit.Gateway(), "acme", u)); code(err) != llm.CodeInvalidRequest || llm.AsError(err).Param != "tpm" {
		t.Errorf("a limit below 0: got %v, want an error about tpm", err)
	}
	if a, err := h.Account(t.Context(), "acme"); err != nil || !a.Suspended || a.Limits != limits {
		t.Errorf("after a change that was refused: got %+v, %v; want nothing of it", a, err)
	}
	if err := second(h.Suspend(t.Context(), audit.Gateway(), "nobody")); code(err) != llm.CodeNotFound {
		t.Errorf("suspend an unknown account: got %v, want NOT_FOUND", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCreateKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k, token := h.key(t, account.KeyOptions{})
	if k.Last4 != token[len(token)-4:] || len(k.Permissions) != 2 || k.Expires != nil || uuid.Validate(k.ID) != nil {
		t.Errorf("got %+v, want the last four of the token and all permissions", k)
	}
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	if k, _ := h.key(t, account.KeyOptions{Expires: at}); k.Expires == nil || !k.Expires.Equal(at) {
		t.Errorf("expires: got %v, want %s", k.Expires, at)
	}
	if list, err := h.Keys(t.Context(), "acme"); err != nil || len(list) != 2 || list[0].ID != k.ID {
		t.Errorf("keys: got %+v, %v; want %s", list, err, k.ID)
	}
	if err := second(h.RevokeKey(t.Context(), audit.Gateway(), "key_0")); code(err) != llm.CodeNotFound {
		t.Errorf("revoke an unknown key: got %v, want NOT_FOUND", err)
	}
}

// TestBoundedKeys checks that members create no further key if 1,000 are in use, and operators do.
func TestBoundedKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first, _ := h.key(t, account.KeyOptions{Bounded: true})
	for range account.MaxBounded - 1 {
		h.key(t, account.KeyOptions{})
	}
	more := account.KeyOptions{Account: "acme", Label: "one more", Bounded: true}
	_, _, err := h.CreateKey(t.Context(), audit.Gateway(), more)
	if code(err) != llm.CodeInvalidRequest {
		t.Errorf("one more: got %v, want INVALID_REQUEST", err)
	}
	h.key(t, account.KeyOptions{})
	for _, id := range []string{first.ID, must.Get(h.Keys(t.Context(), "acme"))(t)[1].ID} {
		must.Get(h.RevokeKey(t.Context(), audit.Gateway(), id))(t)
	}
	if _, _, err := h.CreateKey(t.Context(), audit.Gateway(), more); err != nil {
		t.Errorf("after two were revoked: %v", err)
	}
}

func TestKeyOptions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, test := range []struct {
		name   string
		change func(*account.KeyOptions)
		param  string // the invalid one; empty for none
	}{
		{"plain", func(*account.KeyOptions) {}, ""},
		{"long label", func(o *account.KeyOptions) { o.Label = strings.Repeat("ü", 100) }, ""},
		{"no label", func(o *account.KeyOptions) { o.Label = "" }, "label"},
		{"blank label", func(o *account.KeyOptions) { o.Label = "  " }, "label"},
		{"too long a label", func(o *account.KeyOptions) { o.Label = strings.Repeat("ü", 101) }, "label"},
		{"label with a line end", func(o *account.KeyOptions) { o.Label = "a\nb" }, "label"},
		{"label that is not UTF-8", func(o *account.KeyOptions) { o.Label = "a\xff" }, "label"},
		{"permission", func(o *account.KeyOptions) { o.Permissions = []account.Permission{"fly"} }, "permissions"},
		{"admin", func(o *account.KeyOptions) { o.Permissions = []account.Permission{account.Admin} }, ""},
		{"permission twice", func(o *account.KeyOptions) { o.Permissions = []account.Permission{"chat", "chat"} }, "permissions"},
		{"models", func(o *account.KeyOptions) { o.Models = []string{"a/*", "fast"} }, ""},
		{"empty model", func(o *account.KeyOptions) { o.Models = []string{""} }, "models"},
		{"model with a space", func(o *account.KeyOptions) { o.Models = []string{"a b"} }, "models"},
		{"model twice", func(o *account.KeyOptions) { o.Models = []string{"a", "a"} }, "models"},
		{"too many models", func(o *account.KeyOptions) { o.Models = make([]string, 101) }, "models"},
		{"expired", func(o *account.KeyOptions) { o.ExpiresIn = -time.Second }, "expires"},
		{"expired at", func(o *account.KeyOptions) { o.Expires = time.Unix(1, 0) }, "expires"},
		{"expires too late", func(o *account.KeyOptions) { o.Expires = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC) }, "expires"},
		{"rpm", func(o *account.KeyOptions) { o.Limits.RPM = -1 }, "rpm"},
		{"tpm", func(o *account.KeyOptions) { o.Limits.TPM = -1 }, "tpm"},
		{"concurrency", func(o *account.KeyOptions) { o.Limits.Concurrency = -1 }, "concurrency"},
		{"budget", func(o *account.KeyOptions) { o.Budget.Limit = 1 }, "period"},
		{"account", func(o *account.KeyOptions) { o.Account = "nobody" }, "account"},
	} {
		o := account.KeyOptions{Account: "acme", Label: "label"}
		test.change(&o)
		_, token, err := h.CreateKey(t.Context(), audit.Gateway(), o)
		switch {
		case test.param == "" && (err != nil || token.IsZero()):
			t.Errorf("%s: got %v, want a key", test.name, err)
		case test.param != "" && (err == nil || llm.AsError(err).Param != test.param):
			t.Errorf("%s: got %v, want an error about %q", test.name, err, test.param)
		}
	}
}

func TestUpdateKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k, token := h.key(t, account.KeyOptions{Models: []string{"a/*"}, Creator: "user_1"})
	if p, err := h.Authenticate(t.Context(), token); err != nil || p.MayUse("b/m") == nil {
		t.Fatalf("at first: got %v, want a key that may not use b/m", err)
	}
	got, err := h.UpdateKey(t.Context(), audit.Gateway(), k.ID, account.KeyUpdate{Label: new("new"), Models: new([]string{"b/*"})})
	if err != nil || got.Label != "new" || got.Creator != "user_1" {
		t.Errorf("got %+v, %v; want the label new, and its creator", got, err)
	}
	if p, err := h.Authenticate(t.Context(), token); err != nil || p.MayUse("b/m") != nil {
		t.Errorf("at once: got %v, want a key that may use b/m", err)
	}
	if one, err := h.Key(t.Context(), k.ID); err != nil || one.Label != "new" {
		t.Errorf("key: got %+v, %v; want the label new", one, err)
	}
	if err := second(h.Key(t.Context(), "key_0")); code(err) != llm.CodeNotFound {
		t.Errorf("an unknown key: got %v, want NOT_FOUND", err)
	}
	for param, u := range map[string]account.KeyUpdate{
		"label": {Label: new("")}, "models": {Models: new([]string{""})}, "expires": {Expires: new(time.Now().Add(-time.Second))},
		"rpm": {Limits: &account.Limits{RPM: -1}}, "budget": {Budget: &account.Budget{Limit: -1}},
	} {
		if err := second(h.UpdateKey(t.Context(), audit.Gateway(), k.ID, u)); err == nil || llm.AsError(err).Param != param {
			t.Errorf("%+v: got %v, want an error about %s", u, err, param)
		}
	}
	if err := second(h.UpdateKey(t.Context(), audit.Gateway(), "key_0", account.KeyUpdate{})); code(err) != llm.CodeNotFound {
		t.Errorf("change an unknown key: got %v, want NOT_FOUND", err)
	}
	must.Do(t, second(h.RevokeKey(t.Context(), audit.Gateway(), k.ID)))
	if err := second(h.UpdateKey(t.Context(), audit.Gateway(), k.ID, account.KeyUpdate{Label: new("x")})); code(err) != llm.CodeInvalidRequest {
		t.Errorf("change a revoked key: got %v, want INVALID_REQUEST", err)
	}
}

// TestAdminPermissionIsExplicit checks that a key administers the installation only if that is named explicitly.
func TestAdminPermissionIsExplicit(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, test := range []struct {
		given                   []account.Permission
		mayChat, mayUse, mayRun bool
	}{
		{nil, true, true, false},
		{[]account.Permission{account.Admin}, false, false, true},
		{[]account.Permission{account.Admin, account.Chat}, true, false, true},
	} {
		_, token := h.key(t, account.KeyOptions{Permissions: test.given})
		p, err := h.Authenticate(t.Context(), token)
		must.Do(t, err)
		for permission, want := range map[account.Permission]bool{account.Chat: test.mayChat, account.Uses: test.mayUse, account.Admin: test.mayRun} {
			if err := p.May(permission); (err == nil) != want {
				t.Errorf("a key made with %q: may %s: got %v, want %v", test.given, permission, err, want)
			}
		}
	}
}
