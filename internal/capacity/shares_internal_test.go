package capacity

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/internal/llm"
)

// TestSharesOfGreedyAccounts checks the shares of accounts that take as much as possible, one after the other, and the
// rest.
func TestSharesOfGreedyAccounts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		most, factor, alone int64
		each                []int64
	}{
		{1, slotFactor, 1, []int64{1}},
		{2, slotFactor, 2, []int64{2}},
		{10, slotFactor, 10, []int64{10}},
		{40, slotFactor, 36, []int64{36, 2, 1, 1}},
		{4096, slotFactor, 3615, []int64{3615, 212, 16, 16, 16, 16}},
		{512 << 10, bodyFactor, 240 << 10, []int64{240 << 10, 120 << 10, 60 << 10}},
	} {
		s := newShares(test.most, test.factor)
		if got := s.alone(); got != test.alone {
			t.Errorf("of %d one alone has %d, want %d", test.most, got, test.alone)
		}
		for i, want := range test.each {
			id, got := fmt.Sprint(i), int64(0)
			for s.take(id, 1) == granted {
				got++
			}
			if got != want {
				t.Errorf("of %d: the account %d gets %d, want %d", test.most, i, got, want)
			}
		}
	}
}

// TestSharesHold checks that accounts that take and release at random never hold more than the total, that an account
// without any always gets the floor, and that everything is released.
func TestSharesHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newShares(rapid.Int64Range(floorShare, 1<<16).Draw(rt, "most"), rapid.SampledFrom([]int64{bodyFactor, slotFactor}).Draw(rt, "factor"))
		held := map[string]int64{}
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			id := fmt.Sprint(rapid.IntRange(1, keptShare-1).Draw(rt, "account"))
			if n := rapid.Int64Range(-s.most/4, s.most/4).Draw(rt, "n"); n < 0 && held[id] > 0 {
				n = min(-n, held[id])
				s.giveBack(id, n)
				held[id] -= n
			} else if n > 0 && s.take(id, n) == granted {
				held[id] += n
			}
			sum := int64(0)
			for n := range maps.Values(held) {
				sum += n
			}
			if sum != s.all || sum > s.most {
				rt.Fatalf("got %d held and %d counted, of %d", sum, s.all, s.most)
			}
			if s.take("newcomer", s.floor) != granted {
				rt.Fatalf("a newcomer finds no room: %v of %d", held, s.most)
			}
			s.giveBack("newcomer", s.floor)
		}
		for id, n := range held {
			s.giveBack(id, n)
		}
		if s.all != 0 || len(s.by) != 0 {
			rt.Fatalf("%d are left, of %v", s.all, s.by)
		}
	})
}

// TestSharesEven checks that accounts that all want more converge to equal shares as they release and take, in any
// order of arrival.
func TestSharesEven(t *testing.T) {
	t.Parallel()
	const accounts = 4
	for _, factor := range []int64{bodyFactor, slotFactor} {
		s := newShares(4096, factor)
		for range 10_000 {
			for i := range accounts {
				id := fmt.Sprint(i)
				for s.take(id, 1) == granted {
				}
			}
			for i := range accounts {
				if id := fmt.Sprint(i); s.by[id] > 0 {
					s.giveBack(id, 1)
				}
			}
		}
		all := slices.Sorted(maps.Values(s.by))
		want := factor * (s.most - s.kept) / (1 + accounts*factor)
		if least, most := all[0], all[accounts-1]; least < want*9/10 || most > want*11/10 {
			t.Errorf("with the factor %d they hold %v, want about %d each", factor, all, want)
		}
	}
}

// TestBelowFindsSmallHolders checks which accounts hold less than an equal share.
func TestBelowFindsSmallHolders(t *testing.T) {
	t.Parallel()
	s := newShares(4096, slotFactor)
	want := func(id string, want bool) {
		t.Helper()
		if got := s.below(id); got != want {
			t.Errorf("%s below an even part of %v: %t, want %t", id, s.by, got, want)
		}
	}
	s.take("a", 100)
	want("a", false) // alone
	s.take("b", 1)
	want("a", false)
	want("b", true)
	s.take("b", 99)
	want("b", false)
}

// TestAwaitShare has a request wait for a slot of its account's share: it gets one that another releases in time, and
// stops waiting after its time or when its client disconnects.
func TestAwaitShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1, 1024)
		n.slots.take("a", 1)
		began := time.Now()
		if got := n.awaitShare(t.Context(), "a"); got != ownShare || time.Since(began) != queueWait {
			t.Errorf("got %d after %s, want no place after %s", got, time.Since(began), queueWait)
		}
		time.AfterFunc(queueWait/2, func() { n.slots.giveBack("a", 1) })
		if got := n.awaitShare(t.Context(), "a"); got != granted {
			t.Errorf("got %d, want the place that was left", got)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		began = time.Now()
		if got := n.awaitShare(ctx, "a"); got != ownShare || time.Since(began) != 0 {
			t.Errorf("got %d after %s for a client that left, want nothing at once", got, time.Since(began))
		}
	})
}

// TestReserveBytes checks the error for an account at its share of the bytes, or if all accounts are at theirs; refused
// bytes do not count.
func TestReserveBytes(t *testing.T) {
	t.Parallel()
	n := newNode(t, 1, 1024)
	of := func(account string) *Held {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
		held := n.Hold(&Client{Request: r}, account)
		return &held
	}
	a, b := of("a"), of("b")
	for _, test := range []struct {
		held *Held
		n    int64
		told string
	}{
		{a, 480, ""},
		{a, 1, "This account has more than its share of the request bodies"},
		{b, 240, ""},
		{b, 512, "The gateway is at its limit of request bodies"},
	} {
		err := test.held.Reserve(test.n)
		if (err == nil) != (test.told == "") || err != nil && !strings.Contains(llm.AsError(err).Message, test.told) {
			t.Errorf("%s reserves %d: %v, want %q", test.held.account, test.n, err, test.told)
		}
	}
	a.ReleaseAll()
	b.ReleaseAll()
	if n.bodies.all != 0 || len(n.bodies.by) != 0 {
		t.Errorf("%d bytes are left, of %v", n.bodies.all, n.bodies.by)
	}
}
