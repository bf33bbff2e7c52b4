package credential

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/must"
)

// source issues credentials: numbers, counted up.
type source struct {
	fetches        atomic.Int32
	takes          time.Duration
	life           time.Duration // 0 for ever
	ignoresContext bool          // does not listen to its context
	err            atomic.Pointer[error]
}

func (s *source) fail(text string) {
	err := errors.New(text)
	s.err.Store(&err)
}

func (s *source) fetch(ctx context.Context) (lease[string], error) {
	n := s.fetches.Add(1)
	done := ctx.Done()
	if s.ignoresContext {
		done = nil
	}
	select {
	case <-time.After(s.takes):
	case <-done:
		return lease[string]{}, ctx.Err()
	}
	if err := s.err.Load(); err != nil {
		return lease[string]{}, *err
	}
	l := lease[string]{value: strconv.Itoa(int(n))}
	if s.life > 0 {
		l.end = time.Now().Add(s.life)
	}
	return l, nil
}

// want gets the credential and checks it, and the duration.
func want(t *testing.T, k *credentialCache[string], value string, took time.Duration) {
	t.Helper()
	begun := time.Now()
	got, err := k.get(t.Context())
	if err != nil {
		got = "error: " + err.Error()
	}
	if got != value || time.Since(begun) != took {
		t.Errorf("got %q after %s, want %q after %s", got, time.Since(begun), value, took)
	}
}

func TestCredentialFetchedOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 2 * time.Second, life: time.Hour}
		k := newCredentialCache(time.Now, s.fetch)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { want(t, k, "1", 2*time.Second) })
		}
		wg.Wait()
		want(t, k, "1", 0)
		if n := s.fetches.Load(); n != 1 {
			t.Errorf("got %d fetches, want 1", n)
		}
	})
}

func TestCredentialRenewedBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 2 * time.Second, life: time.Hour}
		k := newCredentialCache(time.Now, s.fetch)
		want(t, k, "1", 2*time.Second)
		time.Sleep(time.Hour - renewBefore - 4*time.Second)
		want(t, k, "1", 0)
		synctest.Wait()
		if n := s.fetches.Load(); n != 1 {
			t.Errorf("got %d fetches before it is time, want 1", n)
		}
		time.Sleep(4 * time.Second)
		for range 10 {
			want(t, k, "1", 0) // no caller waits for the new one
		}
		time.Sleep(3 * time.Second)
		want(t, k, "2", 0)
		if n := s.fetches.Load(); n != 2 {
			t.Errorf("got %d fetches, want 2", n)
		}
		if got := k.known(); len(got) != 2 || got[0] != "2" || got[1] != "1" {
			t.Errorf("got %q known, want the present one and the one before", got)
		}
	})
}

func TestKeeperWaitsAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: time.Second, life: time.Hour}
		k := newCredentialCache(time.Now, s.fetch)
		want(t, k, "1", time.Second)
		time.Sleep(2 * time.Hour)
		want(t, k, "2", time.Second)
	})
}

// TestKeeperOfShortLives checks that a source with short lives is not called for every request.
func TestKeeperOfShortLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{life: time.Minute}
		k := newCredentialCache(time.Now, s.fetch)
		for range 600 {
			must.Get(k.get(t.Context()))(t)
			time.Sleep(time.Second)
		}
		if n := s.fetches.Load(); n < 10 || n > 20 {
			t.Errorf("got %d fetches in 10 minutes, want 10 to 20", n)
		}
	})
}

func TestKeeperWithoutAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: time.Second}
		k := newCredentialCache(time.Now, s.fetch)
		want(t, k, "1", time.Second)
		time.Sleep(lookAgain)
		want(t, k, "1", 0)
		time.Sleep(2 * time.Second)
		want(t, k, "2", 0)
		s.fail("gone")
		time.Sleep(lookAgain)
		for range 10 { // its credential never expires
			want(t, k, "2", 0)
			time.Sleep(lookAgain)
		}
	})
}

func TestCredentialFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: time.Second, life: time.Hour}
		s.fail("no role")
		k := newCredentialCache(time.Now, s.fetch)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { want(t, k, "error: no role", time.Second) })
		}
		wg.Wait()
		want(t, k, "error: no role", 0) // it rests
		if n := s.fetches.Load(); n != 1 {
			t.Errorf("got %d fetches, want 1", n)
		}
		time.Sleep(failureRest)
		want(t, k, "error: no role", time.Second)
		s.err.Store(nil)
		time.Sleep(failureRest)
		want(t, k, "3", time.Second)

		s.fail("away")
		time.Sleep(time.Hour - time.Minute)
		want(t, k, "3", 0) // after a failed renewal the valid one remains
		time.Sleep(2 * time.Second)
		want(t, k, "3", 0)
		if n := s.fetches.Load(); n != 4 {
			t.Errorf("got %d fetches, want 4", n)
		}
		time.Sleep(time.Minute)
		want(t, k, "error: away", time.Second)
	})
}

func TestCredentialExpiredIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{life: lastMoments}
		k := newCredentialCache(time.Now, s.fetch)
		want(t, k, "error: the credential has expired", 0)
	})
}

func TestCredentialCacheIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 10 * time.Second, life: time.Hour}
		k := newCredentialCache(time.Now, s.fetch)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { want(t, k, "1", 10*time.Second) })
		synctest.Wait()
		if _, err := k.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v for who left, want the context's error", err)
		}
		if _, err := k.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v for who had left before, want the context's error", err)
		}
		wg.Wait()
		want(t, k, "1", 0)
	})
}

func TestCredentialCacheIsBounded(t *testing.T) {
	t.Parallel()
	for _, ignoresContext := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := source{takes: time.Hour, ignoresContext: ignoresContext}
			k := newCredentialCache(time.Now, s.fetch)
			want(t, k, "error: no answer within 20s", fetchTime)
			want(t, k, "error: no answer within 20s", 0)
			if n := s.fetches.Load(); n != 1 {
				t.Errorf("got %d fetches, want 1", n)
			}
			time.Sleep(time.Hour)
		})
	}
}

func TestCredentialCacheIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 10 * time.Second, life: time.Hour}
		k := newCredentialCache(time.Now, s.fetch)
		var wg sync.WaitGroup
		wg.Go(func() { want(t, k, "1", 10*time.Second) })
		synctest.Wait()
		k.close()
		wg.Wait() // waiting callers still get it
		time.Sleep(time.Hour - time.Minute)
		want(t, k, "1", 0)
		synctest.Wait()
		if n := s.fetches.Load(); n != 1 {
			t.Errorf("got %d fetches, want no renewal after the end", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 10 * time.Second, life: time.Hour}
		k := newCredentialCache(time.Now, s.fetch)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		_, _ = k.get(ctx)
		k.close() // and nobody waits: the test would not end before the fetch
		synctest.Wait()
		if took := time.Since(begun); took != 0 {
			t.Errorf("the fetch lasted %s longer", took)
		}
	})
}
