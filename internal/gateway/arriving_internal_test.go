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
		all = append(all, &arriving{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, size))), held: held, copies: arrivalCopies})
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
		second.taken()
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

func TestMaxBodies(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for memory, want := range map[int64]int64{math.MaxInt64: 320 * mib, 3072 * mib: 320 * mib, 922 * mib: 922 * mib / 3, 660 * mib: 660 * mib / 3, 64 * mib: 160 * mib} {
		if got := maxBodies(32*mib, memory); got != want {
			t.Errorf("with %d MiB: got %d, want %d", memory/mib, got, want)
		}
	}
}
