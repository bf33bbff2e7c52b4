package account_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a service over a store in memory with the account "acme".
type fixture struct {
	*account.Service
	store *memory
	log   *strings.Builder
}

func newFixture(tb testing.TB) fixture {
	tb.Helper()
	h := fixture{store: newMemory(), log: &strings.Builder{}}
	h.Service = h.another()
	must.Get(h.CreateAccount(tb.Context(), audit.Gateway(), "acme"))(tb)
	return h
}

// another returns a service of another process on the same store.
func (h fixture) another() *account.Service {
	return account.NewService(h.store.stores(), time.Now, slog.New(slog.NewTextHandler(h.log, nil)))
}

func (h fixture) key(tb testing.TB, o account.KeyOptions) (account.Key, string) {
	tb.Helper()
	o.Account, o.Label = "acme", "test"
	k, token, err := h.CreateKey(tb.Context(), audit.Gateway(), o)
	must.Do(tb, err)
	return k, token.Reveal()
}

// code returns the code of an error of Authenticate; empty for none.
func code(err error) llm.Code {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Code
}

func check(t *testing.T, s *account.Service, token string, want llm.Code, when string) {
	t.Helper()
	if _, err := s.Authenticate(t.Context(), token); code(err) != want {
		t.Errorf("%s: got %v, want code %q", when, err, want)
	}
}

func TestAuthenticateKnowsKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k, token := h.key(t, account.KeyOptions{})
	for range 3 {
		p, err := h.Authenticate(t.Context(), token)
		if err != nil || p.Key().ID != k.ID || p.Account().Name != "acme" {
			t.Fatalf("got %+v, %v; want key %s of acme", p, err, k.ID)
		}
	}
	if n := h.store.looked(); n != 1 {
		t.Errorf("got %d look-ups for three requests, want 1", n)
	}
}

// TestRefusalsLookTheSame checks that every invalid key is refused with the same message, and a missing one with another.
func TestRefusalsLookTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		revoked, revokedToken := h.key(t, account.KeyOptions{})
		must.Get(h.RevokeKey(t.Context(), audit.Gateway(), revoked.ID))(t)
		_, expired := h.key(t, account.KeyOptions{ExpiresIn: time.Hour})
		_, fresh := h.key(t, account.KeyOptions{ExpiresIn: time.Hour + 1*time.Microsecond})
		_, unknown := newFixture(t).key(t, account.KeyOptions{})
		check(t, h.Service, expired, "", "before it expires")
		time.Sleep(time.Hour)
		check(t, h.Service, fresh, "", "at the last microsecond")
		_, missing := h.Authenticate(t.Context(), "")
		_, want := h.Authenticate(t.Context(), strings.Repeat("w", 8000))
		for _, err := range []error{missing, want} {
			if code(err) != llm.CodeAuthentication || !strings.Contains(err.Error(), "Send a key of this gateway in a header") {
				t.Fatalf("got %v, want AUTHENTICATION_ERROR with the remedy", err)
			}
		}
		if missing.Error() == want.Error() {
			t.Errorf("no token: got %v as for an unknown one", missing)
		}
		for name, token := range map[string]string{
			"revoked": revokedToken, "expired": expired, "unknown": unknown, "malformed": "sk-123", "a typo": typo(fresh),
		} {
			for range 2 { // the second time from the cache
				if _, err := h.Authenticate(t.Context(), token); err == nil || err.Error() != want.Error() {
					t.Errorf("%s: got %v, want %v", name, err, want)
				}
			}
		}
	})
}

// typo changes one character in the middle.
func typo(token string) string {
	c := "x"
	if token[20] == 'x' {
		c = "y"
	}
	return token[:20] + c + token[21:]
}

func TestTyposDoNotReachTheStore(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, token := h.key(t, account.KeyOptions{})
	for _, bad := range []string{"", "wk_", typo(token), token + "a", token[1:] + "a", strings.Repeat("é", 24) + "a"} {
		check(t, h.Service, bad, llm.CodeAuthentication, fmt.Sprintf("%q", bad))
	}
	if n := h.store.looked(); n != 0 {
		t.Errorf("got %d look-ups, want none", n)
	}
}

func TestUnknownKeysAreLookedUpOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, elsewhere := newFixture(t), newFixture(t)
		_, token := elsewhere.key(t, account.KeyOptions{})
		for range 10 {
			check(t, h.Service, token, llm.CodeAuthentication, "before the key is there")
		}
		if n := h.store.looked(); n != 1 {
			t.Errorf("got %d look-ups, want 1", n)
		}
		for hash, k := range elsewhere.store.keys {
			k.AccountID = h.store.accounts[0].ID
			h.store.keys[hash] = k
		}
		time.Sleep(time.Second)
		check(t, h.Service, token, "", "a second after the key was made")
	})
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		_, used := h.key(t, account.KeyOptions{ExpiresIn: time.Minute})
		_, unused := h.key(t, account.KeyOptions{})
		check(t, h.Service, used, "", "before")
		h.store.set(func() { h.store.away = true })
		check(t, h.Service, used, "", "a known key")
		_, err := h.Authenticate(t.Context(), unused)
		if e := llm.AsError(err); e.Code != llm.CodeOverloaded || e.RetryAfter != time.Second {
			t.Errorf("a key that is not known: got %v, retry after %v; want OVERLOADED, 1s", err, e.RetryAfter)
		}
		check(t, h.Service, typo(used), llm.CodeAuthentication, "a typo")
		time.Sleep(time.Minute)
		check(t, h.Service, used, llm.CodeAuthentication, "a known key that has expired")
		h.store.set(func() { h.store.away = false })
		check(t, h.Service, unused, "", "after")
	})
}

// TestChangesReachOtherProcesses changes things in one process and reads them in another one.
func TestChangesReachOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		k, token := h.key(t, account.KeyOptions{})
		node := h.another()
		check(t, node, token, "", "cached before the watch began")
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { node.Watch(ctx, func(string) {}, func(map[string]bool) {}) })
		may := func(want llm.Code, when string) {
			t.Helper()
			time.Sleep(300 * time.Millisecond)
			p, err := node.Authenticate(t.Context(), token)
			if err == nil {
				err = p.May(account.Chat)
			}
			if code(err) != want {
				t.Errorf("%s: got %v, want code %q", when, err, want)
			}
		}
		do := func(_ any, err error) {
			t.Helper()
			must.Do(t, err)
		}
		may("", "at first")
		do(h.Suspend(t.Context(), audit.Gateway(), "acme"))
		may(llm.CodeForbidden, "suspended")
		do(h.Resume(t.Context(), audit.Gateway(), "acme"))
		may("", "resumed")

		h.store.set(func() { h.store.away = true })
		time.Sleep(time.Minute)
		may("", "while the store is away")
		h.store.set(func() { h.store.away = false })
		time.Sleep(time.Second)

		do(h.RevokeKey(t.Context(), audit.Gateway(), k.ID))
		h.store.set(func() { h.store.cut = int64(len(h.store.changes)) }) // before it is read
		may(llm.CodeAuthentication, "revoked, and the feed does not say so")
		stop()
		watching.Wait()
		if n := strings.Count(h.log.String(), "cannot be read"); n != 1 {
			t.Errorf("got %d log lines about one outage, want 1:\n%s", n, h.log)
		}
	})
}

func TestPrincipalPermitsOwnModels(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, all := h.key(t, account.KeyOptions{})
	_, some := h.key(t, account.KeyOptions{Permissions: []account.Permission{account.Uses}, Models: []string{"openai/*", "fast"}})
	p, q := principal(t, h, all), principal(t, h, some)
	for _, test := range []struct {
		name string
		got  error
		want llm.Code
	}{
		{"all: chat", p.May(account.Chat), ""},
		{"all: uses", p.May(account.Uses), ""},
		{"all: no permission", p.May(""), llm.CodeForbidden},
		{"all: any model", p.MayUse("x/y"), ""},
		{"some: chat", q.May(account.Chat), llm.CodeForbidden},
		{"some: uses", q.May(account.Uses), ""},
		{"some: model", q.MayUse("openai/gpt"), ""},
		{"some: alias", q.MayUse("fast"), ""},
		{"some: other model", q.MayUse("anthropic/claude"), llm.CodeForbidden},
	} {
		if code(test.got) != test.want {
			t.Errorf("%s: got %v, want code %q", test.name, test.got, test.want)
		}
	}
	if err := q.MayUse("anthropic/claude"); !strings.Contains(err.Error(), "anthropic/claude") {
		t.Errorf("got %v, want the model's name in it", err)
	}
}

func principal(t *testing.T, h fixture, token string) *account.Principal {
	t.Helper()
	p := must.Get(h.Authenticate(t.Context(), token))(t)
	return p
}

func TestZeroPrincipal(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*account.Principal{"nil": nil, "zero": {}} {
		for what, err := range map[string]error{"May": p.May(account.Chat), "May nothing": p.May(""), "MayUse": p.MayUse("m")} {
			if code(err) != llm.CodeForbidden {
				t.Errorf("%s %s: got %v, want FORBIDDEN", name, what, err)
			}
		}
		if p.Account() != nil || p.Key() != nil {
			t.Errorf("%s: got %v, %v; want nothing", name, p.Account(), p.Key())
		}
	}
}

func TestBootstrapCreatesAccountOnce(t *testing.T) {
	t.Parallel()
	s := account.NewService(newMemory().stores(), time.Now, slog.New(slog.DiscardHandler))
	for _, want := range []bool{true, false} {
		a, created, err := s.Bootstrap(t.Context(), audit.Gateway())
		if err != nil || created != want || (a.Name == account.DefaultName) != want {
			t.Errorf("got %+v, %v, %v; want created %v", a, created, err, want)
		}
	}
}

func TestSetupToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		token, err := h.CreateSetupToken(t.Context(), audit.Gateway())
		if err != nil || len(token.Reveal()) != 43 {
			t.Fatalf("got a token of %d characters, %v; want 43", len(token.Reveal()), err)
		}
		expires, kept := h.store.setups[sha256.Sum256([]byte(token.Reveal()))]
		if want := time.Now().Add(7 * 24 * time.Hour); !kept || !expires.Equal(want) {
			t.Errorf("got cached %v until %v, want until %v", kept, expires, want)
		}
	})
}

// TestAuthenticateDoesNotAllocate checks the allocation budget of the hot path.
func TestAuthenticateDoesNotAllocate(t *testing.T) {
	h := newFixture(t)
	_, token := h.key(t, account.KeyOptions{ExpiresIn: time.Hour, Models: []string{"a/*", "b/*"}})
	const old = "sk-of-another-gateway"
	h.takeOver(old)
	ctx := t.Context()
	for _, token := range []string{token, old} {
		got := testing.AllocsPerRun(100, func() {
			p, err := h.Authenticate(ctx, token)
			if err != nil || p.May(account.Chat) != nil || p.MayUse("b/c") != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations, want 0", token[:3], got)
		}
	}
}
