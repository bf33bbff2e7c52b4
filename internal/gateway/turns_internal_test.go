package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/quotetest"
	"weir/internal/route"
	"weir/internal/telemetry"
)

// mustEnd holds that nobody has a turn or waits for one, of so many at once.
func (t *turns) mustEnd(test *testing.T, atOnce int) {
	test.Helper()
	if t.free != atOnce || len(t.by) != 0 || len(t.order) != 0 {
		test.Errorf("%d of %d are free, %v have or want turns, %v wait; want all free", t.free, atOnce, t.by, t.order)
	}
}

// TestTurnsGoAround is four accounts that want many turns each, and a fifth that wants one:
// it waits for one turn of each other account, and not for all that these want.
func TestTurnsGoAround(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, turnWait)
		turns.take(t.Context(), "a", false)
		var got []string // of those that have had their turn, who has the next one
		var all sync.WaitGroup
		for _, account := range strings.Fields("a a a b b b c c c d d d e") {
			all.Go(func() {
				if turns.take(t.Context(), account, false) {
					got = append(got, account)
					turns.end()
				}
			})
			synctest.Wait()
		}
		turns.end()
		all.Wait()
		if want := strings.Fields("a b c d e a b c d a b c d"); !slices.Equal(got, want) {
			t.Errorf("got the turns %q, want %q", got, want)
		}
		turns.mustEnd(t, 1)
	})
}

// TestBegunFirst holds that what has begun comes before what has not, of the same account alone.
func TestBegunFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, turnWait)
		turns.take(t.Context(), "a", false)
		var got []string
		var all sync.WaitGroup
		for _, who := range strings.Fields("a1 a2 b1 A3 b2 B3") {
			all.Go(func() {
				account := strings.ToLower(who[:1])
				if turns.take(t.Context(), account, account != who[:1]) {
					got = append(got, who)
					turns.end()
				}
			})
			synctest.Wait()
		}
		turns.end()
		all.Wait()
		if want := strings.Fields("A3 B3 a1 b1 a2 b2"); !slices.Equal(got, want) {
			t.Errorf("got the turns %q, want %q", got, want)
		}
		turns.mustEnd(t, 1)
	})
}

// TestTurnsAtOnce is that all together have no more turns at once than there are.
func TestTurnsAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce = 2
	turns := newTurns(atOnce, turnWait)
	var all sync.WaitGroup
	var in atomic.Int64
	for i := range 60 {
		all.Go(func() {
			ctx, leave := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond) // some leave
			defer leave()
			if !turns.take(ctx, string(rune('a'+i%3)), i%2 > 0) {
				return
			}
			if in.Add(1) > atOnce {
				t.Error("too many have a turn")
			}
			time.Sleep(time.Millisecond)
			in.Add(-1)
			turns.end()
		})
	}
	all.Wait()
	turns.mustEnd(t, atOnce)
}

// TestWaitingForTurns is a client that leaves while it waits, and one that waits too long:
// neither is in the way of those behind it.
func TestWaitingForTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, turnWait)
		turns.take(t.Context(), "a", false)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		wait := func(ctx context.Context, account string, after time.Duration) {
			all.Go(func() {
				began := time.Now()
				if turns.take(ctx, account, false) || time.Since(began) != after {
					t.Errorf("%s: a turn, or none after %s; want none after %s", account, time.Since(began), after)
				}
			})
			synctest.Wait()
		}
		wait(ctx, "a", time.Second)
		wait(ctx, "b", time.Second)
		wait(t.Context(), "b", turnWait)
		time.Sleep(time.Second)
		leave()
		all.Wait()
		time.AfterFunc(time.Second, func() { turns.end() })
		if !turns.take(t.Context(), "c", false) {
			t.Error("no turn behind those that have gone")
		}
		turns.end()
		turns.mustEnd(t, 1)
	})
}

// TestInTurn is what a call does while others have all turns: it works on a small body, waits
// with a large one, and does nothing for a client that has left.
func TestInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{processor: newProcessor(1), metrics: telemetry.New("")}
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
		c := &capacity{server: s, client: &client{r: r}, account: "a"}
		done := 0
		work := func() error { done++; return nil }
		s.processor.large.take(t.Context(), "b", false)
		if err := c.inTurn(largeBody-1, work); err != nil || done != 1 {
			t.Errorf("a small body: %v, done %d times, want once", err, done)
		}
		began := time.Now()
		e := llm.AsError(c.inTurn(largeBody, work))
		if e.Code != llm.CodeOverloaded || done != 1 || time.Since(began) != turnWait {
			t.Errorf("a large body without a turn: %v after %s, done %d times; want it refused after %s", e, time.Since(began), done, turnWait)
		}
		s.processor.large.end()
		if err := c.inTurn(largeBody, work); err != nil || done != 2 {
			t.Errorf("a large body with a turn: %v, done %d times, want twice", err, done)
		}
		leave()
		if err := c.inTurn(largeBody, work); !errors.Is(err, errGone) || done != 2 {
			t.Errorf("a client that left: %v, done %d times, want no more", err, done)
		}
		s.processor.large.mustEnd(t, 1)
	})
}

// TestLeftInBetween is a client that leaves during a step of the work on its large body: the
// next one is not begun.
func TestLeftInBetween(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	scanned := 0
	clientAPI := &dialect.Operation{Scan: func([]byte, *http.Request) (llm.Head, error) {
		scanned++
		leave()
		return llm.Head{}, nil
	}}
	body := `{"fallbacks":[],"a":"` + strings.Repeat("a", largeBody) + `"}`
	r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
	c := &call{r: r, client: client{r: r}, Request: quote.Request{Op: clientAPI, Body: []byte(body)}}
	if err := c.scanBody(); !errors.Is(err, errGone) || scanned != 1 {
		t.Errorf("%v, scanned %d times; want it to end after the first time", err, scanned)
	}
}

// TestSmallSteps holds that small steps take no turn while they are few, and each its account's
// turn once they are many, so that none who asks for little waits behind all of another's.
func TestSmallSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{processor: newProcessor(2), metrics: telemetry.New("")}
		s.processor.large.take(t.Context(), "huge", false) // is in the way of nothing small
		of := func(account string) *capacity {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
			return &capacity{server: s, client: &client{r: r}, account: account}
		}
		var mu sync.Mutex
		var order []string
		working, most := 0, 0
		step := func(account string) {
			err := of(account).inTurn(0, func() error {
				mu.Lock()
				working++
				order, most = append(order, account), max(most, working)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				working--
				mu.Unlock()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { step("greedy") })
		}
		synctest.Wait()
		all.Go(func() { step("modest") })
		all.Wait()
		if at := slices.Index(order, "modest"); at > 6 || most > 3 || len(order) != 101 {
			t.Errorf("%d of %d steps were done before the one of another account, %d at once; want few", at, len(order), most)
		}
		if s.processor.underWay.Load() != 0 {
			t.Errorf("%d steps are still counted", s.processor.underWay.Load())
		}
	})
}

// TestDenseBodies holds that a body which is much work for its length takes turns in every step
// that decodes or translates it, and one of plain text does not, nor one that goes as it came.
func TestDenseBodies(t *testing.T) {
	t.Parallel()
	const message = `{"role":"user","content":"a"}`
	dense := `{"model":"m","messages":[` + strings.Repeat(message+",", 699) + message + `]}`
	plain := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 4000) + `"}]}`
	steps := map[string]func(a *attempt) error{
		"check": func(a *attempt) error { _, err := a.call.check(); return err },
		"ask":   func(a *attempt) error { return a.ask() },
		"count": func(a *attempt) error { return a.call.countHere() },
		"reply": func(a *attempt) error {
			reply := strings.Replace(dense, "messages", "choices", 1)
			_, err := a.tallyWhole(&a.call.held, &provider.Response{}, []byte(reply))
			return err
		},
	}
	for _, tt := range []struct {
		step, target, body string
		waits              bool
	}{
		{"check", "anthropic", dense, true},
		{"ask", "anthropic", dense, true},
		{"count", "anthropic", dense, true},
		{"reply", "openai", plain, true},
		{"check", "anthropic", plain, false},
		{"ask", "anthropic", plain, false},
		{"check", "openai", dense, false},
		{"ask", "openai", dense, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			if len(tt.body) >= largeBody {
				t.Fatalf("a body of %d bytes, want less than %d", len(tt.body), largeBody)
			}
			a := newAsked(t, quotetest.Asked{ClientAPI: "openai", Target: tt.target, Body: tt.body})
			c := a.call
			c.server.processor, c.server.metrics, c.w = newProcessor(2), telemetry.New(""), httptest.NewRecorder()
			c.principal, c.targets = &account.Principal{}, []route.Target{*a.Target}
			c.server.processor.large.take(t.Context(), "b", false)
			began := time.Now()
			err := steps[tt.step](a)
			if waited := time.Since(began) == turnWait; waited != tt.waits {
				t.Errorf("%s of %.40q to %s: waited %t, want %t (%v)", tt.step, tt.body, tt.target, waited, tt.waits, err)
			}
		})
	}
}
