package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// following is a log of requests that a test writes.
type following struct {
	list  []report.Request
	after []report.Cursor // the requested cursors
}

func (f *following) since(_ context.Context, _ string, after report.Cursor, _ int) ([]report.Request, error) {
	f.after = append(f.after, after)
	return f.list, nil
}

func newTail(w http.ResponseWriter, from *following) *tail {
	h := &requestHandlers{site: &site{now: time.Now}, tails: &tails{stopped: make(chan struct{}), alive: tailAlive}}
	return &tail{handlers: h, since: from.since, to: w, control: http.NewResponseController(w), sent: map[uuid.UUID]report.Request{}}
}

// TestTailLastsTenMinutes checks the end of a tail.
func TestTailLastsTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, from := httptest.NewRecorder(), &following{}
		ctx, cancel := context.WithTimeout(t.Context(), tailFor)
		defer cancel()
		began, looks := time.Now(), 0
		must.Do(t, newTail(w, from).run(ctx, func() error { looks++; return nil }))
		text := w.Body.String()
		if took := time.Since(began); took != 10*time.Minute || !strings.HasSuffix(text, "event: end\ndata: time\n\n") {
			t.Errorf("got the end after %s: %q, want it after 10 min, with a note", took, text[max(len(text)-100, 0):])
		}
		alive := strings.Count(text, ": alive\n\n")
		if alive < 118 || alive > 120 || looks < alive || len(from.after) < 590 {
			t.Errorf("got %d signs of life, %d checks of the right and %d reads of requests, want one in 5 s, and in 1 s", alive, looks, len(from.after))
		}
	})
}

// TestTailEndsWithTheRight ends the tail of a person whose session is over.
func TestTailEndsWithTheRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, began := httptest.NewRecorder(), time.Now()
		gone := &llm.Error{Code: llm.CodeAuthentication, Message: "gone"}
		err := newTail(w, &following{}).run(t.Context(), func() error { return gone })
		if took := time.Since(began); !errors.Is(err, gone) || took != tailAlive {
			t.Errorf("got %v after %s, want the end after %s", err, took, tailAlive)
		}
	})
}

// TestTailReadsBackToRequestsInFlight checks that a tail reads back to a request in flight, and no further than a tail
// lasts.
func TestTailReadsBackToRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		x := report.Request{ID: uuid.UUID{1}, Arrived: began, Outcome: ledger.OutcomeOpen, Key: "k"}
		from := &following{list: []report.Request{x}}
		tl := newTail(httptest.NewRecorder(), from)
		tl.query.Ended = report.EndedError // it is shown only after its end
		for range 5 {
			must.Do(t, tl.look(t.Context()))
			time.Sleep(3 * time.Minute)
		}
		for i, want := range []time.Time{began.Add(-tailLate), began, began, began, began.Add(12*time.Minute - tailFor)} {
			if got := from.after[i]; got != report.CursorAt(want) {
				t.Errorf("read %d: got from %s, want from %s", i, got, want)
			}
		}
		from.list = nil
		if err := tl.look(t.Context()); err != nil || len(tl.sent) != 0 {
			t.Errorf("stored requests that the log no longer lists: got %d, %v, want 0", len(tl.sent), err)
		}
	})
}
