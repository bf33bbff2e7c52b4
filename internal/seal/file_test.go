//go:build unix

package seal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"weir/internal/must"
	"weir/internal/seal"
)

// ownerOf returns the user and the group that own a file.
func ownerOf(info fs.FileInfo) [2]uint32 {
	s := info.Sys().(*syscall.Stat_t)
	return [2]uint32{s.Uid, s.Gid}
}

// TestKeysStayReadable checks that the readers of the key file can also read its replacement: the command may run as
// another user than the gateway.
func TestKeysStayReadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets.key")
	first, second := seal.NewKey(), seal.NewKey()
	must.Do(t, seal.WriteKeys(path, []seal.Key{first}, os.Link))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("first file: got %v, %v; want it for its owner alone", info.Mode(), err)
	}
	_ = os.Chown(path, 12345, 12345) // root may
	must.Do(t, os.Chmod(path, 0o640))
	before := must.Get(os.Stat(path))(t)
	must.Do(t, seal.WriteKeys(path, []seal.Key{second, first}, os.Rename))
	after := must.Get(os.Stat(path))(t)
	if before.Mode() != after.Mode() || ownerOf(before) != ownerOf(after) {
		t.Errorf("got %v of %v, want %v of %v", after.Mode(), ownerOf(after), before.Mode(), ownerOf(before))
	}
	keys := must.Get(seal.ReadKeys(path))(t)
	var names []string
	for _, k := range keys {
		names = append(names, k.Name())
	}
	if want := []string{second.Name(), first.Name()}; !slices.Equal(names, want) {
		t.Errorf("keys: got %v, want %v", names, want)
	}
	left, err := filepath.Glob(path + "*")
	if err != nil || len(left) != 1 {
		t.Errorf("files: got %v, %v; want the key file alone", left, err)
	}
}
