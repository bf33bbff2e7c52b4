package sse_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/internal/sse"
)

// TestSplitterFindsEventsOfReader checks that the pieces of a stream, however it is cut, give the events that a reader
// finds.
func TestSplitterFindsEventsOfReader(t *testing.T) {
	t.Parallel()
	stream := "\xef\xbb\xbf: comment\n\nevent: a\ndata: {\"n\":1}\n\ndata: two\r\ndata: lines\r\n\r\n:\n\ndata: x\r\r" +
		"event: only\n\ndata: " + strings.Repeat("long", 5_000) + "\n\n: ping\n\ndata: [DONE]\n\n"
	var want []string
	for r := sse.NewReader(strings.NewReader(stream), 1<<20); ; {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		want = append(want, string(ev.Name)+"|"+string(ev.Data))
	}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's cuts
		var s sse.Splitter
		var got []string
		for rest := stream; rest != ""; {
			n := min(1+random.IntN(1+int(seed)*40), len(rest))
			s.Add([]byte(rest[:n]))
			rest = rest[n:]
			for ev, ok := s.Next(); ok; ev, ok = s.Next() {
				got = append(got, string(ev.Name)+"|"+string(ev.Data))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) != 6 {
			t.Fatalf("seed %d: got\n%.300q\nwant\n%.300q", seed, got, want)
		}
	}
}
