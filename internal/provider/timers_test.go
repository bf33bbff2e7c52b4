package provider

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/rawio"
)

// tick answers one request with one byte after each pause.
func tick(c net.Conn, pauses []time.Duration) {
	defer func() { _ = c.Close() }()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return
	}
	_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	for _, pause := range pauses {
		if err == nil {
			time.Sleep(pause)
			_, err = io.WriteString(c, ".")
		}
	}
}

func every(pause time.Duration, n int) []time.Duration {
	pauses := make([]time.Duration, n)
	for i := range pauses {
		pauses[i] = pause
	}
	return pauses
}

// TestTimersExpireExactly runs on a fake clock: each timer expires at its moment exactly.
func TestTimersExpireExactly(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	for _, tc := range []struct {
		name   string
		pauses []time.Duration
		reader time.Duration // the client's time for every byte
		kind   Kind
		after  time.Duration
	}{
		{"nothing", []time.Duration{time.Hour}, 0, KindFirstByteTimeout, 120 * s},
		{"a late first byte", []time.Duration{119 * s}, 0, 0, 119 * s},
		{"silence after the first byte", []time.Duration{s, 61 * s}, 0, KindIdleTimeout, 61 * s},
		{"silence after a late first byte", []time.Duration{100 * s, 61 * s}, 0, KindIdleTimeout, 160 * s},
		{"silence late in the stream", append(every(7*s, 20), time.Hour), 0, KindIdleTimeout, 140*s + 60*s},
		{"never idle", every(59*s, 20), 0, 0, 1180 * s},
		{"without end", every(s, 10_000), 0, KindTotalTimeout, 30 * m},
		{"a slow client", every(s, 5), 5 * m, 0, 25*m + 1*s},
		{"a client too slow", every(s, 50), 10 * m, KindTotalTimeout, 30 * m},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newInternal(t, Options{BaseURL: "http://acme.example"})
				ours, theirs := net.Pipe()
				p.wire.(*http1).idle.put(over(&socket{Conn: ours, raw: quiet{}, err: rawio.ErrNothingNow}))
				var server sync.WaitGroup
				defer server.Wait()
				server.Go(func() { tick(theirs, tc.pauses) })
				begun := time.Now()
				res, err := p.Do(t.Context(), Call{Op: llm.OpChat, Stream: true, Hold: leave{}})
				must.Do(t, err)
				defer func() { _ = res.Body.Close() }()
				buf := make([]byte, 8)
				for err == nil {
					if _, err = res.Body.Read(buf); err == nil {
						time.Sleep(tc.reader)
					}
				}
				got := Kind(0)
				if !errors.Is(err, io.EOF) {
					got = AsFailure(err).Kind
				}
				if got != tc.kind {
					t.Errorf("got %v (%v), want %v", got, err, tc.kind)
				}
				if took := time.Since(begun); tc.reader < 10*m && took != tc.after {
					t.Errorf("took %s, want %s", took, tc.after)
				}
			})
		})
	}
}
