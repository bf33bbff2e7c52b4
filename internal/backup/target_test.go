package backup_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"weir/internal/backup"
	"weir/internal/llm"
	"weir/internal/must"
)

// targets returns a directory and a bucket, empty.
func targets(t *testing.T) map[string]backup.Target {
	t.Helper()
	storage := s3mem.New()
	must.Do(t, storage.CreateBucket("weir"))
	server := httptest.NewServer(gofakes3.New(storage).Server())
	t.Cleanup(server.Close)
	o := backup.BucketOptions{
		Endpoint: server.URL, Region: "us-east-1", AccessKeyID: "id", SecretAccessKey: llm.NewSecret("secret"),
	}
	return map[string]backup.Target{
		"directory":        must.Get(backup.OpenTarget(t.TempDir()+"/new", o))(t),
		"bucket":           must.Get(backup.OpenTarget("s3://weir", o))(t),
		"part of a bucket": must.Get(backup.OpenTarget("s3://weir/a/b/", o))(t),
	}
}

func TestTargetsStoreFiles(t *testing.T) {
	t.Parallel()
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			must.Equal(t, len(must.Get(target.List(ctx, "full/"))(t)), 0, "files at first")
			for _, name := range []string{"journal/x/2", "full/b", "journal/x/10", "full/a"} {
				must.Do(t, target.Put(ctx, name, strings.NewReader("old "+name), int64(len("old "+name))))
				must.Do(t, target.Put(ctx, name, strings.NewReader(name), int64(len(name))))
			}
			must.Equal(t, must.Get(target.List(ctx, "journal/x/"))(t), []string{"journal/x/10", "journal/x/2"}, "names")
			from := must.Get(target.Get(ctx, "full/b"))(t)
			must.Equal(t, string(must.Get(io.ReadAll(from))(t)), "full/b", "text of a file")
			must.Do(t, from.Close())
			must.Do(t, target.Remove(ctx, "full/b"))
			must.Equal(t, must.Get(target.List(ctx, "full/"))(t), []string{"full/a"}, "names after one was removed")
			if err := target.Put(ctx, "full/c", strings.NewReader("short"), 100); err == nil {
				t.Error("a file that is shorter than announced: got no error")
			}
			if got := must.Get(target.List(ctx, "full/c"))(t); len(got) > 0 {
				t.Errorf("it is there nonetheless: %q", got)
			}
			gone, err := target.Get(ctx, "full/b")
			if err == nil {
				_, err = io.ReadAll(gone)
			}
			if err == nil {
				t.Error("a file that is not there was read")
			}
		})
	}
}

func TestOpenTargetRefuses(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"s3://", "s3:///x"} {
		if _, err := backup.OpenTarget(where, backup.BucketOptions{}); err == nil {
			t.Errorf("%s: got no error", where)
		}
	}
	if _, err := backup.OpenTarget("s3://x", backup.BucketOptions{Endpoint: "ftp://x"}); err == nil {
		t.Error("an endpoint with ftp: got no error")
	}
}

func TestNamesParseBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 13, 14, 567e6, time.UTC)
	began, ok := backup.ParseFull(backup.FullName(at))
	if !ok || !began.Equal(at.Truncate(time.Second)) {
		t.Errorf("time of %s: got %s, %t", backup.FullName(at), began, ok)
	}
	chunk := func(segment string, offset int64) backup.Chunk {
		return backup.Chunk{Journal: "j", Segment: segment, Offset: offset, Length: 5, At: at}
	}
	inOrder := []backup.Chunk{chunk("9.seg", 0), chunk("9.seg", 99), chunk("9.seg", 1000), chunk("91.seg", 0)}
	var names []string
	for _, c := range inOrder {
		got, ok := backup.ParseChunk(c.Name())
		if !ok || got != c {
			t.Errorf("%s: got %+v, %t, want %+v", c.Name(), got, ok, c)
		}
		names = append(names, c.Name())
	}
	if sorted := slices.Sorted(slices.Values(names)); !slices.Equal(sorted, names) {
		t.Errorf("names in their order: got %q, want %q", sorted, names)
	}
	for _, name := range []string{
		"", "journal/x", "full/weir-x.backup", "journal/j/9.seg_0_0_x.zst", "journal/j/k/9.seg_0_5_20261125T121314.567Z.zst",
		"journal/j/.._000000000000_000000000005_20261125T121314.567Z.zst", "journal/j/9.seg_-1_5_20261125T121314.567Z.zst",
	} {
		_, full := backup.ParseFull(name)
		if c, ok := backup.ParseChunk(name); ok || full {
			t.Errorf("%q was read as %+v", name, c)
		}
	}
}

// TestBucketWithoutEnd uses a service whose lists and errors never end: they are read up to a bound, and objects are
// not.
func TestBucketWithoutEnd(t *testing.T) { //nolint:paralleltest // it looks at the memory of the process
	const object = 9 << 20
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.URL.Path == "/bucket/object" && r.Method == http.MethodGet {
			w.Header().Set("Content-Length", strconv.Itoa(object))
			_, _ = w.Write(make([]byte, object))
			return
		}
		if r.URL.Path == "/bucket/broken" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, `<?xml version="1.0"?><ListBucketResult><Name>`)
		for n := 0; n < 256<<20; n += 1 << 20 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	target := must.Get(backup.OpenTarget("s3://bucket", backup.BucketOptions{
		Endpoint: server.URL, Region: "x", AccessKeyID: "a", SecretAccessKey: llm.NewSecret("b"),
	}))(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if names, err := target.List(t.Context(), ""); err == nil {
		t.Errorf("a list without end: got %d names, want an error", len(names))
	}
	if _, err := readAll(t, target, "broken"); err == nil {
		t.Error("an error without end: got none")
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 160<<20 {
		t.Errorf("got %d MiB of memory in use, want little", grown>>20)
	}
	if n, err := readAll(t, target, "object"); n != object || err != nil {
		t.Errorf("an object: got %d bytes, %v; want %d", n, err, object)
	}
}

func readAll(t *testing.T, target backup.Target, name string) (int64, error) {
	t.Helper()
	from, err := target.Get(t.Context(), name)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	return io.Copy(io.Discard, from)
}
