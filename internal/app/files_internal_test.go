package app

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
)

// TestFilesAreShared checks for every limit that connections leave files for all other uses, that all requests in
// flight may have a client and a provider, and that further clients can connect.
func TestFilesAreShared(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 100, 4096, 100_000} {
		for files := 32; files < 1<<20; files += 1 + files/50 {
			s := shareFiles(files, concurrency)
			own := files - s.clients - s.providers
			if least := min(files/2, 64); own < least || s.places < 1 || s.places > concurrency || s.clients < s.places ||
				s.providers < s.places || s.clients*10 < s.places*13 && s.clients > 100 {
				t.Errorf("%d files, max_concurrency %d: got %+v, and %d for all else, want at least %d", files, concurrency, s, own, least)
			}
		}
	}
	for _, c := range []struct {
		files, concurrency int
		want               fileShares
	}{
		{256, 4096, fileShares{clients: 115, providers: 69, places: 61}},
		{1024, 4096, fileShares{clients: 580, providers: 348, places: 309}},
		{4096, 4096, fileShares{clients: 2440, providers: 1464, places: 1301}},
		{20_000, 4096, fileShares{clients: 14_816, providers: 4672, places: 4096}},
		{65_536, 4096, fileShares{clients: 16_384, providers: 48_640, places: 4096}},
		{65_536, 10_000, fileShares{clients: 20_000, providers: 45_024, places: 10_000}},
		{math.MaxInt32, 4096, fileShares{clients: 16_384, providers: math.MaxInt32 - 512 - 16_384, places: 4096}},
	} {
		if got := shareFiles(c.files, c.concurrency); got != c.want {
			t.Errorf("%d files, max_concurrency %d: got %+v, want %+v", c.files, c.concurrency, got, c.want)
		}
	}
}

// TestTooFewFilesAreLogged checks that a start logs that max_concurrency cannot be reached, and the number of files
// that it needs.
func TestTooFewFilesAreLogged(t *testing.T) {
	t.Parallel()
	for files, want := range map[int]string{4096: "in_flight=1301 max_concurrency=4096 needed=12800", 12_800: "", 65_536: ""} {
		var said bytes.Buffer
		shareFiles(files, 4096).warn(slog.New(slog.NewTextHandler(&said, nil)), files, 4096)
		if got := said.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%d files: got the log %q, want %q", files, got, want)
		}
	}
}
