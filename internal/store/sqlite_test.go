package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

func TestFileModes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my data 100%?#", "weir.db")
	s := open(t, store.Options{Path: path})
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0)))
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + "-lock": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", filepath.Base(name), got, want)
		}
	}
}

func TestOptionsHideSecrets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options store.Options
		want    string
	}{
		{store.Options{URL: llm.NewSecret("postgres://u:hid%den@localhost:port/weir")}, "not of the form postgres://"},
		{store.Options{URL: llm.NewSecret("postgresql://u:hidden@localhost/weir?sslmode=hidden")}, "sslmode is invalid"},
		{store.Options{URL: llm.NewSecret("mysql://localhost/weir")}, `scheme "mysql"`},
		{store.Options{URL: llm.NewSecret("weir.db")}, "not a URL"},
		{store.Options{}, "no path"},
		{store.Options{Path: "/dev/null/weir.db"}, "not a directory"},
	} {
		_, err := store.Open(t.Context(), test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("open %+v: got %v, want an error with %q", test.options, err, test.want)
		}
	}
}

// TestBackupIsPutBack opens a copy that is not in WAL mode.
func TestBackupIsPutBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	open(t, store.Options{Path: path})
	copied := filepath.Join(t.TempDir(), "copy.db")
	tamper(t, store.Options{Path: path}, "VACUUM INTO '"+copied+"'")
	s := open(t, store.Options{Path: copied})
	if err := s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, settled(time.Now(), 1))); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(copied + "-wal"); err != nil {
		t.Errorf("the copy is not in WAL mode: %v", err)
	}
}
