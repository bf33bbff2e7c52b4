package provider_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/must"
	"weir/internal/provider"
)

// ticking is a body that gives one byte after each pause and then ends.
type ticking struct {
	req    *http.Request
	pauses []time.Duration
}

func (b *ticking) Read(p []byte) (int, error) {
	if len(b.pauses) == 0 {
		return 0, io.EOF
	}
	select {
	case <-b.req.Context().Done():
		return 0, b.req.Context().Err()
	case <-time.After(b.pauses[0]):
	}
	b.pauses = b.pauses[1:]
	p[0] = '.'
	return 1, nil
}

func (b *ticking) Close() error { return nil }

func every(pause time.Duration, n int) []time.Duration {
	pauses := make([]time.Duration, n)
	for i := range pauses {
		pauses[i] = pause
	}
	return pauses
}

// TestTimers runs on a fake clock: each timer expires at its moment exactly.
func TestTimers(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	for _, tc := range []struct {
		name   string
		pauses []time.Duration
		reader time.Duration // how long the client takes for every byte
		kind   provider.Kind
		after  time.Duration
	}{
		{"nothing", []time.Duration{time.Hour}, 0, provider.KindFirstByteTimeout, 120 * s},
		{"a late first byte", []time.Duration{119 * s}, 0, 0, 119 * s},
		{"silence after the first byte", []time.Duration{s, 61 * s}, 0, provider.KindIdleTimeout, 61 * s},
		{"silence after a late first byte", []time.Duration{100 * s, 61 * s}, 0, provider.KindIdleTimeout, 160 * s},
		{"silence late in the stream", append(every(7*s, 20), time.Hour), 0, provider.KindIdleTimeout, 140*s + 60*s},
		{"never idle", every(59*s, 20), 0, 0, 1180 * s},
		{"without end", every(s, 10_000), 0, provider.KindTotalTimeout, 30 * m},
		{"a slow client", every(s, 5), 5 * m, 0, 25*m + 5*s},
		{"a client too slow", every(s, 50), 10 * m, provider.KindTotalTimeout, 30 * m},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, provider.Options{BaseURL: "http://acme.example", Transport: roundTripper(
					func(r *http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: 200, Body: &ticking{r, tc.pauses}, ContentLength: -1}, nil
					})})
				begun := time.Now()
				res, err := p.Do(t.Context(), chat(true))
				must.Do(t, err)
				defer func() { _ = res.Body.Close() }()
				buf := make([]byte, 8)
				for err == nil {
					if _, err = res.Body.Read(buf); err == nil {
						time.Sleep(tc.reader)
					}
				}
				got := provider.Kind(0)
				if !errors.Is(err, io.EOF) {
					got = failureOf(err).Kind
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
