package account_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// takeOver adds a key whose token another gateway created, like an import.
func (h fixture) takeOver(token string) account.Hash {
	hash := account.Hash(sha256.Sum256([]byte(token)))
	h.store.set(func() {
		owner := h.store.accounts[0].ID
		h.store.keys[hash] = account.Key{
			ID: "key_" + token, AccountID: owner, Label: "old", Permissions: []account.Permission{account.Chat},
		}
		h.store.imported = append(h.store.imported, hash)
		h.store.changed(account.ChangedImport, owner)
	})
	return hash
}

// TestKeysOfAnotherGateway checks that imported keys are found by tokens of any form, as fast as others, and that the
// store is not asked for other tokens without the form of a key.
func TestKeysOfAnotherGateway(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	old := []string{"sk-1", "sk-" + strings.Repeat("a", 22), strings.Repeat("é", 128), strings.Repeat("k", 49)}
	for _, token := range old {
		h.takeOver(token)
	}
	for range 3 {
		for _, token := range old {
			p, err := h.Authenticate(t.Context(), token)
			if err != nil || p.Key().ID != "key_"+token {
				t.Errorf("%q: got %v, %v; want its key", token, p.Key(), err)
			}
		}
	}
	if n := h.store.looked(); n != len(old) {
		t.Errorf("got %d look-ups of %d keys, want one of each", n, len(old))
	}
	for i := range 1000 {
		check(t, h.Service, fmt.Sprintf("sk-%d", i+2), llm.CodeAuthentication, "a stranger's token")
	}
	check(t, h.Service, strings.Repeat("é", 129), llm.CodeAuthentication, "a token that is too long")
	check(t, h.Service, old[1]+"\x00", llm.CodeAuthentication, "a token with a zero byte behind it")
	if n := h.store.looked(); n != len(old) || h.store.listed != 1 {
		t.Errorf("got %d look-ups, and the hashes read %d times; want no more than before, and once", n, h.store.listed)
	}
}

// TestImportWhileRunning checks that keys of an import during the run are known within a second, and unknown without
// one.
func TestImportWhileRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Watch(ctx, func(string) {}, func(map[string]bool) {})
		}()
		defer func() { cancel(); <-done }()
		time.Sleep(time.Second)
		check(t, h.Service, "sk-old", llm.CodeAuthentication, "before the import")
		h.takeOver("sk-old")
		time.Sleep(time.Second)
		check(t, h.Service, "sk-old", "", "a second after the import")
		h.store.set(func() { h.store.away = true })
		check(t, h.Service, "sk-old", "", "while the store is away, from the cache")
		check(t, h.Service, "sk-none", llm.CodeAuthentication, "another token, while the store is away")
	})
}

// TestImportedStoreAway checks that a token cannot be checked before the imported ones are known, and is found when the
// store is back.
func TestImportedStoreAway(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.takeOver("sk-old")
	h.store.set(func() { h.store.away = true })
	check(t, h.Service, "sk-old", llm.CodeOverloaded, "while the store is away")
	h.store.set(func() { h.store.away = false })
	check(t, h.Service, "sk-old", "", "when it is back")
}
