//go:build linux

package rawio

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"weir/internal/must"
)

// TestFileIsSyncedByKernelOrInCall checks both ways to sync a file, and the error of a file that cannot be synced.
func TestFileIsSyncedByKernelOrInCall(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} { // true: as if the kernel had no queue
		f := NewFile(must.Get(os.Create(filepath.Join(t.TempDir(), "segment")))(t))
		f.asked = asked
		for i := range int64(3) {
			must.Get(f.WriteAt([]byte("record"), 6*i))(t)
			if err := f.Sync(); err != nil {
				t.Errorf("sync %d: %v", i, err)
			}
		}
		if q, err := openSyncQueue(); err != nil {
			t.Logf("the kernel has no queue: %v", err)
		} else if must.Do(t, q.close()); asked == (f.queue != nil) {
			t.Errorf("used the queue: %v, without one: %v", f.queue != nil, asked)
		}
		must.Do(t, f.Close())

		r, w, err := os.Pipe()
		must.Do(t, err)
		p := NewFile(w)
		p.asked = asked
		if err := p.Sync(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("sync of a pipe: %v, want EINVAL", err)
		}
		must.Do(t, errors.Join(p.Close(), r.Close()))
	}
}

// TestSlowFileIsAnnounced checks that writes after a slow one take the other way, with the same result.
func TestSlowFileIsAnnounced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	f := NewFile(must.Get(os.Create(path))(t))
	defer func() { _ = f.Close() }()
	must.Get(f.WriteAt([]byte("ab"), 0))(t)
	f.slow = time.Now().Add(time.Hour)
	must.Get(f.WriteAt([]byte("cd"), 2))(t)
	if got := string(must.Get(os.ReadFile(path))(t)); got != "abcd" {
		t.Errorf("the file has %q", got)
	}
	f.slow = time.Time{}
	must.Do(t, f.Close())
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Error("a closed file is written to")
	}
	if err := f.Sync(); err == nil {
		t.Error("a closed file is synced")
	}
}
