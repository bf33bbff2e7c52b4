package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/telemetry"
)

// arrivals are answers of so many bytes each, for one account of a server that has so much
// memory for bodies.
func arrivals(t *testing.T, memory int64, sizes ...int) (s *Server, all []*arriving) {
	s = &Server{answersInFlight: newShares(memory, bodyFactor), overdraft: make(chan struct{}, 1), stopping: context.Background(), metrics: telemetry.New("")}
	for _, size := range sizes {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		held := &capacity{server: s, client: &client{r: r}, account: "a"}
		all = append(all, &arriving{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, size))), held: held})
	}
	return s, all
}

func (a *arriving) readAll() error {
	_, err := io.ReadAll(a)
	return err
}

// TestArriving is that answers count as they arrive, that one for which there is no memory
// waits until another has been taken, that it is given up in the end, and that answers which
// are too large together are read one after the other.
func TestArriving(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		s, all := arrivals(t, 16*mib, 30<<10, 3*mib, 3*mib)
		small, first, second := all[0], all[1], all[2]
		if err := small.readAll(); err != nil || s.answersInFlight.all != 0 {
			t.Errorf("a usual answer: %v, %d bytes counted, want none", err, s.answersInFlight.all)
		}
		if err := first.readAll(); err != nil || s.answersInFlight.all < arrivalCopies*3*mib || first.held.answer != s.answersInFlight.all {
			t.Errorf("a large answer: %v, %d bytes counted, want two copies", err, s.answersInFlight.all)
		}
		began := time.Now()
		s.overdraft <- struct{}{} // another one has it
		time.AfterFunc(time.Second, func() { first.held.endAnswer() })
		if err := second.readAll(); err != nil || time.Since(began) < time.Second {
			t.Errorf("the next one: %v after %s, want it once the first is taken", err, time.Since(began))
		}
		second.held.endAnswer()
		if s.answersInFlight.all != 0 || second.held.answer != 0 {
			t.Errorf("%d bytes are left", s.answersInFlight.all)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, all := arrivals(t, 16*mib, 3*mib, 3*mib)
		if err := all[0].readAll(); err != nil {
			t.Error(err)
		}
		began := time.Now()
		s.overdraft <- struct{}{}
		err := all[1].readAll()
		f, ok := errors.AsType[*provider.Failure](err)
		if !ok || !f.Sent() || f.Refusal() || f.Err.Code != llm.CodeOverloaded || time.Since(began) != arrivalWait {
			t.Errorf("no memory: %v after %s, want the answer given up after %s", err, time.Since(began), arrivalWait)
		}
		all[1].held.endAnswer()
		all[0].held.endAnswer()
		if s.answersInFlight.all != 0 {
			t.Errorf("%d bytes are left", s.answersInFlight.all)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, all := arrivals(t, 8*mib, 3*mib, 3*mib, 3*mib, 3*mib)
		began := time.Now()
		var reading sync.WaitGroup
		for _, a := range all {
			reading.Go(func() {
				if err := a.readAll(); err != nil {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				time.Sleep(time.Second) // its client takes it
				a.held.endAnswer()
			})
		}
		reading.Wait()
		if s.answersInFlight.all != 0 || len(s.overdraft) != 0 {
			t.Errorf("%d bytes are left, the overdraft %d", s.answersInFlight.all, len(s.overdraft))
		}
	})
}

// TestKept is that what a stream keeps counts until it has ended, although its events go on, and
// that where this needs the overdraft nobody else has it until then.
func TestKept(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		s, all := arrivals(t, 16*mib, 0, 0)
		first, second := all[0].held, all[1].held
		for _, err := range []error{first.keep(mib), first.arrive(2 * mib), first.keep(3 * mib)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if text := first.keepText(100); text != textStep || s.answersInFlight.all != 5*mib+textCopies*textStep {
			t.Errorf("%d bytes of text, %d bytes counted, want %d, 2 MiB that arrived, and 3 MiB and the text that stay", text, s.answersInFlight.all, textStep)
		}
		if first.passedOn(); s.answersInFlight.all != 3*mib+textCopies*textStep {
			t.Errorf("%d bytes counted once the event went on, want those that stay", s.answersInFlight.all)
		}
		if err := second.keep(20 * mib); err != nil || !second.overdrawn {
			t.Errorf("more than there is: %v, want the overdraft", err)
		}
		if text := second.keepText(mib); text != 0 {
			t.Errorf("%d bytes of text, want none: there is no memory for them", text)
		}
		second.passedOn()
		if err := first.arrive(10 * mib); llm.AsError(err).Code != llm.CodeOverloaded {
			t.Errorf("beside it: %v, want %s", err, llm.CodeOverloaded)
		}
		second.endAnswer()
		if err := first.arrive(10 * mib); err != nil {
			t.Errorf("after it: %v", err)
		}
		first.endAnswer()
		if s.answersInFlight.all != 0 || len(s.overdraft) != 0 {
			t.Errorf("%d bytes are left, the overdraft %d", s.answersInFlight.all, len(s.overdraft))
		}
	})
}

func TestMaxBodies(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for memory, want := range map[int64]int64{math.MaxInt64: 320 * mib, 3072 * mib: 320 * mib, 922 * mib: 922 * mib / 3, 660 * mib: 660 * mib / 3, 64 * mib: 160 * mib} {
		if got := maxBodies(32*mib, memory); got != want {
			t.Errorf("with %d MiB: got %d, want %d", memory/mib, got, want)
		}
	}
}
