package simulator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/must"
	"weir/internal/simulator"
	"weir/internal/worktest"
)

func TestMain(m *testing.M) {
	worktest.Begin(8)
	goleak.VerifyTestMain(m)
}

var epoch = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func newSimulator(t *testing.T, o simulator.Options) *simulator.Server {
	t.Helper()
	if o.Dialects == nil {
		o.Dialects = registrytest.All()
	}
	s := simulator.New(o)
	t.Cleanup(s.Close)
	return s
}

// way describes one of the two ways to reach a simulator.
type way struct {
	name string
	base string
	rt   http.RoundTripper
}

// ways returns a socket and the memory, to the same simulator.
func ways(t *testing.T, s *simulator.Server) []way {
	t.Helper()
	ts := httptest.NewServer(s)
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
		ts.Close()
	})
	return []way{{"socket", ts.URL, tr}, {"memory", "http://demo", s.RoundTripper()}}
}

// heard holds a client's answer.
type heard struct {
	status int
	header http.Header
	body   string
	err    error // of the request or of reading the body
	slow   bool  // the client's patience ended
}

// The longest waits of clients: short if the wait is in vain.
const (
	patience   = time.Minute
	impatience = 250 * time.Millisecond
)

// ask posts a chat request and reads the whole answer.
func (w way) ask(body string, header ...string) heard {
	return w.askFor(patience, body, header...)
}

func (w way) askFor(d time.Duration, body string, header ...string) heard {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return w.askIn(ctx, body, header...)
}

func (w way) askIn(ctx context.Context, body string, header ...string) heard {
	return w.askAt(ctx, "/v1/chat/completions", body, header...)
}

func (w way) askAt(ctx context.Context, path, body string, header ...string) heard {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+path, strings.NewReader(body))
	if err != nil {
		return heard{err: err}
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := w.rt.RoundTrip(req)
	if err != nil {
		return heard{err: err, slow: errors.Is(err, context.DeadlineExceeded)}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return heard{resp.StatusCode, resp.Header, string(b), err, errors.Is(err, context.DeadlineExceeded)}
}

func (w way) get(t *testing.T, path string) string {
	t.Helper()
	req := must.Get(http.NewRequest(http.MethodGet, w.base+path, nil))(t)
	resp, err := w.rt.RoundTrip(req)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return b.String()
}

func whole(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"Say it again, please"}]}`
}

func stream(model string) string {
	return `{"model":"` + model + `","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Say it again, please"}]}`
}

// settled returns the newest record of the ledger, once it has ended.
func settled(t *testing.T, s *simulator.Server) simulator.Record {
	t.Helper()
	var last simulator.Record
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for r := range s.Ledger().Records(0) {
			last = r
		}
		if !last.Ended.IsZero() {
			return last
		}
	}
	t.Fatalf("the newest record has not ended: %+v", last)
	return last
}
