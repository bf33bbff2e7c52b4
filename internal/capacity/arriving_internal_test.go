package capacity

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
	"weir/internal/provider"
)

// arrivals returns answers of these sizes, for one account of a server with that memory for bodies.
func arrivals(t *testing.T, memory int64, sizes ...int) (n *Node, all []*arrival) {
	n = newNode(t, 1, 2*memory)
	for _, size := range sizes {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		held := n.Hold(&Client{Request: r}, "a")
		all = append(all, &arrival{Reader: bytes.NewReader(make([]byte, size)), Held: &held})
	}
	return n, all
}

// arrival is a whole answer that arrives piece by piece.
type arrival struct {
	*bytes.Reader
	Held *Held
}

func (a *arrival) readAll() error {
	piece := make([]byte, 4<<10)
	for read := int64(0); ; {
		if err := a.Held.ArriveWhole(read); err != nil {
			return err
		}
		n, err := a.Read(piece)
		if read += int64(n); err != nil {
			return nil //nolint:nilerr // the end
		}
	}
}

// TestArrivingAnswersWaitForMemory checks that answers count as they arrive, that one without memory waits until
// another has been sent, that it is abandoned in the end, and that answers that are too large together are read one
// after the other.
func TestArrivingAnswersWaitForMemory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		n, all := arrivals(t, 16*mib, 30<<10, 3*mib, 3*mib)
		small, first, second := all[0], all[1], all[2]
		if err := small.readAll(); err != nil || n.answers.all != 0 {
			t.Errorf("a usual answer: %v, %d bytes counted, want none", err, n.answers.all)
		}
		if err := first.readAll(); err != nil || n.answers.all < AnswerCopies*3*mib || first.Held.answer != n.answers.all {
			t.Errorf("a large answer: %v, %d bytes counted, want two copies", err, n.answers.all)
		}
		began := time.Now()
		n.overdraft <- struct{}{} // another one has it
		time.AfterFunc(time.Second, func() { first.Held.EndAnswer() })
		if err := second.readAll(); err != nil || time.Since(began) < time.Second {
			t.Errorf("the next one: %v after %s, want it once the first is read", err, time.Since(began))
		}
		second.Held.EndAnswer()
		if n.answers.all != 0 || second.Held.answer != 0 {
			t.Errorf("%d bytes are left", n.answers.all)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n, all := arrivals(t, 16*mib, 3*mib, 3*mib)
		if err := all[0].readAll(); err != nil {
			t.Error(err)
		}
		began := time.Now()
		n.overdraft <- struct{}{}
		err := all[1].readAll()
		f, ok := errors.AsType[*provider.Failure](err)
		if !ok || !f.Sent() || f.Refusal() || f.Err.Code != llm.CodeOverloaded || time.Since(began) != answerWait {
			t.Errorf("no memory: %v after %s, want the answer abandoned after %s", err, time.Since(began), answerWait)
		}
		all[1].Held.EndAnswer()
		all[0].Held.EndAnswer()
		if n.answers.all != 0 {
			t.Errorf("%d bytes are left", n.answers.all)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n, all := arrivals(t, 8*mib, 3*mib, 3*mib, 3*mib, 3*mib)
		began := time.Now()
		var reading sync.WaitGroup
		for _, a := range all {
			reading.Go(func() {
				if err := a.readAll(); err != nil {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				time.Sleep(time.Second) // its client reads it
				a.Held.EndAnswer()
			})
		}
		reading.Wait()
		if n.answers.all != 0 || len(n.overdraft) != 0 {
			t.Errorf("%d bytes are left, the overdraft %d", n.answers.all, len(n.overdraft))
		}
	})
}
