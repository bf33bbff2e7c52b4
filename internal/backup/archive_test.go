package backup_test

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/internal/backup"
	"weir/internal/must"
)

// made builds an archive of two files.
func made(t *testing.T) (path string, m backup.Manifest) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "a.backup")
	w := must.Get(backup.Create(path))(t)
	for name, text := range map[string]string{"weir.db": strings.Repeat("database ", 10_000), "identity": "x"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must.Do(t, w.Add("weir.db", filepath.Join(dir, "weir.db"), nil))
	must.Do(t, w.Add("journal/identity", filepath.Join(dir, "identity"), nil))
	m = must.Get(w.Finish(backup.Manifest{Created: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), Version: "1", Schema: 15}))(t)
	must.Do(t, w.Abandon()) // has no effect any more
	return path, m
}

func TestArchiveRestoresFiles(t *testing.T) {
	t.Parallel()
	path, m := made(t)
	info := must.Get(os.Stat(path))(t)
	must.Equal(t, info.Mode().Perm(), os.FileMode(0o600), "mode of the archive")
	to := filepath.Join(t.TempDir(), "to")
	var done, total int64
	got := must.Get(backup.Extract(path, to, func(d, t int64) { done, total = d, t }))(t)
	must.Equal(t, got, m, "manifest")
	must.Equal(t, [2]int64{done, total}, [2]int64{info.Size(), info.Size()}, "progress at the end")
	must.Equal(t, string(must.Get(os.ReadFile(filepath.Join(to, "journal", "identity")))(t)), "x", "file of the journal")
	must.Equal(t, [2]bool{got.Has("weir.db"), got.Has("secrets.key")}, [2]bool{true, false}, "Has")
	if _, err := backup.Create(path); err == nil {
		t.Error("an archive that exists was begun again")
	}
	if _, err := backup.Extract(path, to, nil); err == nil {
		t.Error("files that exist were replaced")
	}
}

// TestArchiveDamaged changes every byte, and cuts at every end.
func TestArchiveDamaged(t *testing.T) {
	t.Parallel()
	path, want := made(t)
	whole := must.Get(os.ReadFile(path))(t)
	damaged := filepath.Join(t.TempDir(), "damaged")
	extract := func(text []byte) (backup.Manifest, error) {
		must.Do(t, os.WriteFile(damaged, text, 0o600))
		return backup.Extract(damaged, "", nil)
	}
	harmless := 0
	for at := range whole {
		if _, err := extract(whole[:at]); err == nil {
			t.Errorf("the end from byte %d of %d is missing: got no error", at, len(whole))
		}
		changed := slices.Clone(whole)
		changed[at] ^= 0x10
		got, err := extract(changed)
		if err == nil { // such as the size of the window
			must.Equal(t, got, want, "manifest with byte %d changed", at)
			harmless++
		}
	}
	if harmless > len(whole)/20 {
		t.Errorf("%d of %d bytes can be changed", harmless, len(whole))
	}
}

// TestArchiveForeign reads archives of other programs.
func TestArchiveForeign(t *testing.T) {
	t.Parallel()
	const manifest = `{"format":1,"files":[]}`
	for name, heads := range map[string][]tar.Header{
		"a path above":      {{Name: "../x", Typeflag: tar.TypeReg}},
		"an absolute path":  {{Name: "/tmp/x", Typeflag: tar.TypeReg}},
		"a symbolic link":   {{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"a device":          {{Name: "x", Typeflag: tar.TypeChar}},
		"backslashes":       {{Name: `..\x`, Typeflag: tar.TypeReg}},
		"a file too many":   {{Name: "x", Typeflag: tar.TypeReg}, {Name: "manifest.json", Typeflag: tar.TypeReg, Size: int64(len(manifest))}},
		"no manifest":       {{Name: "x", Typeflag: tar.TypeReg}},
		"an empty manifest": {{Name: "manifest.json", Typeflag: tar.TypeReg}},
		"more than a disk":  {{Name: "x", Typeflag: tar.TypeReg, Size: 1 << 60, Format: tar.FormatGNU}},
		"nothing":           {},
	} {
		path := filepath.Join(t.TempDir(), "foreign")
		f := must.Get(os.Create(path))(t)
		z := must.Get(zstd.NewWriter(f))(t)
		w := tar.NewWriter(z)
		for i := range heads {
			must.Do(t, w.WriteHeader(&heads[i]))
			_, err := w.Write([]byte(manifest)[:min(heads[i].Size, int64(len(manifest)))])
			must.Do(t, err)
		}
		_ = w.Close() // a file may be shorter than its header claims
		must.Do(t, z.Close())
		must.Do(t, f.Close())
		to := filepath.Join(t.TempDir(), "to")
		if _, err := backup.Extract(path, to, nil); err == nil {
			t.Errorf("an archive with %s: got no error", name)
		}
		if left, err := os.ReadDir(to); err == nil && len(left) > 0 {
			t.Errorf("an archive with %s: got %v written, want nothing", name, left)
		}
	}
}

// TestArchiveOfManyFiles reads a small archive of more files than permitted, each of which would need memory.
func TestArchiveOfManyFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "many")
	f := must.Get(os.Create(path))(t)
	z := must.Get(zstd.NewWriter(f))(t)
	w := tar.NewWriter(z)
	for i := range 10_000 {
		must.Do(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("journal/%d", i), Typeflag: tar.TypeReg}))
	}
	must.Do(t, errors.Join(w.Close(), z.Close(), f.Close()))
	if _, err := backup.Extract(path, "", nil); err == nil || !strings.Contains(err.Error(), "more than 8192 files") {
		t.Errorf("got %v, want an error about too many files", err)
	}
}

// TestArchiveBomb reads a small archive of many zeros: nothing of it is written unless its manifest has the same size.
func TestArchiveBomb(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	for _, told := range []int64{0, size - 1, size} {
		path := filepath.Join(t.TempDir(), "bomb")
		f := must.Get(os.Create(path))(t)
		z := must.Get(zstd.NewWriter(f))(t)
		w := tar.NewWriter(z)
		must.Do(t, w.WriteHeader(&tar.Header{Name: "weir.db", Typeflag: tar.TypeReg, Size: size}))
		zeros, sum := make([]byte, 1<<20), sha256.New()
		for range size / len(zeros) {
			_, err := io.MultiWriter(w, sum).Write(zeros)
			must.Do(t, err)
		}
		text := fmt.Sprintf(`{"format":1,"files":[{"name":"weir.db","size":%d,"sha256":"%x"}]}`, told, sum.Sum(nil))
		must.Do(t, w.WriteHeader(&tar.Header{Name: "manifest.json", Typeflag: tar.TypeReg, Size: int64(len(text))}))
		_, err := io.WriteString(w, text)
		must.Do(t, errors.Join(err, w.Close(), z.Close(), f.Close()))
		to := filepath.Join(t.TempDir(), "to")
		_, err = backup.Extract(path, to, nil)
		left, _ := os.ReadDir(to)
		if taken := told == size; taken != (err == nil) || taken != (len(left) == 1) {
			t.Errorf("a manifest of %d bytes for %d: got %v and %d files, want accepted %v", told, size, err, len(left), taken)
		}
	}
}
