package signin_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// guess tries a password that is wrong, and returns how long to wait: 0 when it
// was looked at.
func (h *fixture) guess(email string, o people.Origin) time.Duration {
	h.t.Helper()
	_, err := h.signIn.Passwords.SignIn(h.ctx, email, secret("wrong password"), o)
	e := llm.AsError(err)
	if e.Code != llm.CodeAuthentication && e.Code != llm.CodeRateLimited {
		h.t.Fatalf("guess: got %v, want a refusal", err)
	}
	return e.RetryAfter
}

func TestThrottlePair(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		for i := range 5 {
			if wait := h.guess(email, stranger); wait != 0 {
				t.Errorf("%s, guess %d: got %v to wait, want none", email, i+1, wait)
			}
		}
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
			if got := h.guess(email, stranger); got != want*time.Second {
				t.Errorf("%s: got %v to wait, want %v", email, got, want*time.Second)
			}
			h.advance(want * time.Second)
			if got := h.guess(email, stranger); got != 0 {
				t.Errorf("%s after %v: got %v to wait, want none", email, want*time.Second, got)
			}
		}
		// Not even the right password is checked while the stranger has to wait.
		_, err := h.signIn.Passwords.SignIn(h.ctx, email, secret(goodPassword), stranger)
		wantCode(t, "the right password, too early", err, llm.CodeRateLimited)
	}
	h.advance(25 * time.Hour)
	if wait := h.guess("ada@example.com", stranger); wait != 0 {
		t.Errorf("a day later: got %v to wait, want none", wait)
	}
}

// TestThrottleStrangers guesses from very many networks: few guesses are checked, and the owner, on a known network,
// does not notice.
func TestThrottleStrangers(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))(t)
	looked := 0
	for i := range 200 {
		h.advance(time.Second / 2)
		if h.guess("ada@example.com", people.Origin{Address: fmt.Sprintf("203.0.113.%d", i)}) == 0 {
			looked++
		}
	}
	// 20 before the first delay, and ten a minute from then on.
	if looked < 30 || looked > 40 {
		t.Errorf("guesses from 200 networks in 100 s: got %d looked at, want 30 to 40", looked)
	}
	for range 3 {
		if _, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home); err != nil {
			t.Errorf("the owner meanwhile: %v", err)
		}
	}
	mobile := people.Origin{Address: "2001:db8::1"}
	h.advance(6 * time.Second)
	if _, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), mobile); err != nil {
		t.Errorf("the owner on another network, 6 s later: %v", err)
	}
}

// TestThrottleNetwork guesses at many users from one network of IPv6.
func TestThrottleNetwork(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	looked := 0
	for i := range 130 {
		o := people.Origin{Address: fmt.Sprintf("2001:db8:1:2:%x::1", i)}
		if h.guess(fmt.Sprintf("user%d@example.com", i), o) == 0 {
			looked++
		}
	}
	if looked != 100 {
		t.Errorf("guesses at 130 users from one network: got %d looked at, want 100", looked)
	}
	if wait := h.guess("user1@example.com", people.Origin{Address: "2001:db8:1:3::1"}); wait != 0 {
		t.Errorf("from the next network: got %v to wait, want none", wait)
	}
}

// TestThrottleAtOnce guesses many times at once: no more are looked at than one
// after the other.
func TestThrottleAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	var looked atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if h.guess("ada@example.com", stranger) == 0 {
				looked.Add(1)
			}
		})
	}
	if all.Wait(); looked.Load() != 5 {
		t.Errorf("50 guesses at once: got %d looked at, want 5", looked.Load())
	}
}

func TestThrottleCleared(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	for range 3 {
		for range 4 {
			if wait := h.guess("ada@example.com", home); wait != 0 {
				t.Errorf("a guess: got %v to wait, want none", wait)
			}
		}
		if _, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home); err != nil {
			t.Errorf("the right one after four: %v", err)
		}
	}
}
