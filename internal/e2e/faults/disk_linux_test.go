package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/must"
)

// smallDisk mounts a file system of that many MiB.
func smallDisk(t *testing.T, size int) string {
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) { // mounting needs a right of the machine, which no package grants
		t.Skipf("needs the right to mount a file system: %v", err)
	}
	if err != nil {
		t.Fatalf("a file system of its own cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill fills all free space of a file system.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must.Do(t, err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
}

// TestDiskFull fills the data directory's disk: new requests are refused with 503, those in flight are answered and
// settled, and when there is space again the gateway continues by itself, with nothing lost.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 8)
	up := harness.NewUpstream(t)
	h := harness.NewGateway(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Dir: filepath.Join(dir, "data")})
	h.Start(harness.Setup{Journal: func(o *ledger.Options) { o.SegmentSize = 16 << 10 }})
	harness.Await(t, "the first key", func() bool { return harness.TokenForm.MatchString(h.Out.String()) })
	h.Key = harness.TokenForm.FindString(h.Out.String())
	h.MustAnswer(h.Chat("house/echo"))
	if u := h.Uses(""); u.Total.Requests != "1" {
		t.Fatalf("uses %+v, want the first request", u.Total)
	}

	flying := make(chan harness.Reply, 3)
	for range cap(flying) {
		go func() { flying <- h.Stream("house/echo:pace=1s") }()
	}
	harness.Await(t, "the requests in flight", func() bool { return up.Ledger().Totals().Requests == 4 })
	fill(t, filepath.Join(dir, "filler"))
	answered, refused := askUntilRefused(h, t)
	t.Logf("%d requests were answered on a full disk", answered)
	if e := harness.WantError(t, refused, 503, "OVERLOADED"); refused.Header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %+v", e)
	}
	if live, ready := h.Do(harness.Ask{Path: "/livez"}), h.Do(harness.Ask{Path: "/readyz?verbose"}); live.Status != http.StatusOK || ready.Status != http.StatusServiceUnavailable {
		t.Errorf("livez %d, readyz %d: want 200, and 503 while no request is accepted: %s", live.Status, ready.Status, ready.Body)
	}
	for range cap(flying) {
		if events, e := harness.SplitStream(t, (<-flying).Body); e != nil || harness.Text(events) != "Say it again, please" {
			t.Errorf("in flight: %q, %+v", harness.Text(events), e)
		}
	}
	served := up.Ledger().Totals().Requests

	must.Do(t, os.Remove(filepath.Join(dir, "filler")))
	harness.Await(t, "the gateway to go on", func() bool {
		r := h.Chat("house/echo")
		return r.Status == http.StatusOK
	})
	want := fmt.Sprint(served + 1)
	harness.Await(t, "usage to be read again", func() bool { return h.Do(harness.Ask{Path: "/v1/uses"}).Status == http.StatusOK })
	if u := h.Uses(""); u.Total.Requests.String() != want || u.Total.Tokens.String() != fmt.Sprint(16*(served+1)) {
		t.Errorf("uses %+v, want %s requests of 16 tokens", u.Total, want)
	}
	if served != int64(4+answered) {
		t.Errorf("the provider served %d, want the 4 before and the %d that were answered", served, answered)
	}
}

// askUntilRefused sends requests until the gateway refuses one, at the latest when the reserved space of its journal is
// full.
func askUntilRefused(h *harness.Gateway, t *testing.T) (answered int, refused harness.Reply) {
	for ; answered < 1000; answered++ {
		if r := h.Chat("house/echo"); r.Status != http.StatusOK {
			return answered, r
		}
	}
	t.Fatalf("%d requests were answered on a full disk", answered)
	return 0, harness.Reply{}
}
