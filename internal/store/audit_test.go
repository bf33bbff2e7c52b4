package store_test

import (
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/store"
)

// audited opens a store with four entries in its audit log.
func audited(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	s := open(t, o)
	for _, name := range []string{"a", "b", "c", "d"} {
		must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: name, Name: name, Created: time.Now()}))
	}
	return s
}

// TestAuditFinds changes one thing without the store, each time.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	everywhere(t, testAuditFinds)
}

func testAuditFinds(t *testing.T, o store.Options) {
	s := audited(t, o)
	before, err := s.Audit.Verify(t.Context(), audit.Hash{})
	if err != nil || !before.Whole() || before.Entries != 4 {
		t.Fatalf("before: got %+v, %v; want four entries, whole", before, err)
	}
	// The next statement undoes each.
	for _, test := range []struct {
		name, statement, undo string
		want                  audit.Verification
	}{
		{
			"who", "UPDATE audit SET actor_name = 'eve' WHERE seq = 2", "UPDATE audit SET actor_name = 'weir' WHERE seq = 2",
			audit.Verification{Entries: 1, Broken: 2},
		},
		{
			"what", "UPDATE audit SET became = replace(became, 'false', 'true') WHERE seq = 3", "UPDATE audit SET became = replace(became, 'true', 'false') WHERE seq = 3",
			audit.Verification{Entries: 2, Broken: 3},
		},
		{
			"when", "UPDATE audit SET at = at + 1 WHERE seq = 4", "UPDATE audit SET at = at - 1 WHERE seq = 4",
			audit.Verification{Entries: 3, Broken: 4},
		},
		{
			"a place", "UPDATE audit SET seq = 9 WHERE seq = 4", "UPDATE audit SET seq = 4 WHERE seq = 9",
			audit.Verification{Entries: 3, Broken: 9},
		},
		{
			"the first one is gone", "UPDATE audit SET seq = -seq WHERE seq = 1", "UPDATE audit SET seq = -seq WHERE seq < 0",
			audit.Verification{Broken: 1},
		},
		{
			"one is gone", "DELETE FROM audit WHERE seq = 3", "",
			audit.Verification{Entries: 2, Broken: 4},
		},
		{
			"the end is gone", "DELETE FROM audit WHERE seq > 2", "",
			audit.Verification{Entries: 2},
		},
		{"all is gone", "DELETE FROM audit", "", audit.Verification{}},
	} {
		tamper(t, o, test.statement)
		got, err := s.Audit.Verify(t.Context(), before.Head)
		if got.Head = (audit.Hash{}); err != nil || got.Whole() {
			t.Errorf("%s: got %+v, %v; want it found", test.name, got, err)
		}
		must.Equal(t, got, test.want, "%s", test.name)
		if test.undo != "" {
			tamper(t, o, test.undo)
		}
	}
}

// TestCutAuditLogNeedsHead shows why --head is needed: without it a truncated log looks complete.
func TestCutAuditLogNeedsHead(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := audited(t, o)
		before := must.Get(s.Audit.Verify(t.Context(), audit.Hash{}))(t)
		tamper(t, o, "DELETE FROM audit WHERE seq = 4")
		if v, err := s.Audit.Verify(t.Context(), audit.Hash{}); err != nil || !v.Whole() || v.Entries != 3 {
			t.Errorf("without a head: got %+v, %v; want three entries, whole", v, err)
		}
		if v, err := s.Audit.Verify(t.Context(), before.Head); err != nil || v.Whole() {
			t.Errorf("with the head: got %+v, %v; want that it does not go on", v, err)
		}
	})
}

// TestNoChangeWithoutEntry checks that a change fails if its entry cannot be written.
func TestNoChangeWithoutEntry(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := audited(t, o)
		tamper(t, o, "UPDATE audit SET hash = 'none' WHERE seq = 4")
		if err := s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "e", Name: "e", Created: time.Now()}); err == nil {
			t.Error("create an account: got no error, want one about the audit log")
		}
		if _, err := s.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "a", account.Update{Suspended: new(true)}); err == nil {
			t.Error("suspend an account: got no error, want one about the audit log")
		}
		list, err := s.Accounts.List(t.Context(), "")
		if err != nil || len(list) != 4 || list[0].Suspended {
			t.Errorf("got %d accounts, the first one suspended %v, %v; want four and not", len(list), list[0].Suspended, err)
		}
		if c, err := s.Accounts.Changes(t.Context(), 4); err != nil || len(c.List) != 0 {
			t.Errorf("the feed: got %+v, %v; want nothing more", c, err)
		}
	})
}
