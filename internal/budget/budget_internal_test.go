package budget

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeriodsAreInUTC(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 31, 23, 59, 59, 0, time.FixedZone("behind", -3600)) // a new year in UTC
	for period, want := range map[Period]struct {
		number, first, last int64
		ends                string
	}{
		PeriodDay:   {20270101, 20270101, 20270101, "2027-01-02T00:00:00Z"},
		PeriodMonth: {202701, 20270100, 20270199, "2027-02-01T00:00:00Z"},
		PeriodTotal: {0, 0, 99999999, ""},
	} {
		number := period.Number(at)
		first, last := DaysOf(number)
		ends, over := period.Ends(at)
		if number != want.number || first != want.first || last != want.last || PeriodOf(number) != period {
			t.Errorf("%s: got %d from %d to %d of kind %s, want %+v", period, number, first, last, PeriodOf(number), want)
		}
		if over != (want.ends != "") || over && ends.Format(time.RFC3339) != want.ends {
			t.Errorf("%s: ends %v %v, want %q", period, ends, over, want.ends)
		}
	}
}

// broken is a database that returns an error.
type broken struct{ Leases }

var errBroken = errors.New("broken")

func (broken) Beat(context.Context, Node) (Beat, error) { return Beat{}, errBroken }

// TestBeatAtStop checks that a beat that a stop cuts is not an outage.
func TestBeatAtStop(t *testing.T) {
	t.Parallel()
	l := NewHeartbeat(NewService(Options{
		Leases: broken{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Position: func() Position { return 0 },
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l.beatLogged(ctx); l.failed != nil {
		t.Errorf("a beat of a node that stops: got %v noted as an outage, want nothing", l.failed)
	}
	if l.beatLogged(t.Context()); l.failed == nil {
		t.Error("a beat while the database is away: got nothing noted, want an outage")
	}
}

// lone is the database of a single node, which counts heartbeats.
type lone struct {
	Leases
	beats *atomic.Int64
}

func (l lone) Beat(context.Context, Node) (Beat, error) {
	l.beats.Add(1)
	return Beat{Alive: 1}, nil
}

// TestSingleNodeIsSeen shows that a node whose leases are valid for ever sends heartbeats, too, so that lists of nodes
// say when it was last seen.
func TestSingleNodeIsSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int64
		l := NewHeartbeat(NewService(Options{
			Leases: lone{beats: &beats}, Now: time.Now, SharedNow: time.Now, Log: slog.New(slog.DiscardHandler),
			Position: func() Position { return 0 }, Flush: func(context.Context) error { return errBroken },
		}))
		l.hear(time.Now(), Beat{Alive: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l.Run(ctx)
		if got := beats.Load(); got < 5 {
			t.Errorf("got %d heartbeats in a minute, want 5 or more", got)
		}
	})
}

// TestManyParts checks that a key with invented end users leaves room for those of the account's other keys.
func TestManyParts(t *testing.T) {
	t.Parallel()
	l, now := NewService(Options{}), time.Now()
	p := l.leasesOf("a")
	made := func(key string) (leases []*lease) {
		for i := range maxScopes {
			n := Need{Key: key, At: now, Budgets: []Budget{{Scope: UserScope("a", fmt.Sprint(key, i)), Period: PeriodDay}}}
			if p.isCrowded(&n) {
				break
			}
			leases = p.counting(leases, &n, now)
		}
		return leases
	}
	first, second := made("one"), made("two")
	if len(first) != maxScopes/2 || len(second) != maxScopes/4 {
		t.Errorf("got %d and %d leases, want half of %d, and half of the rest", len(first), len(second), maxScopes)
	}
	for range 2 {
		for _, s := range first {
			p.forget(s)
		}
	}
	if again := made("one"); len(again) < maxScopes/3 {
		t.Errorf("after those were forgotten: got %d leases, want half of the rest", len(again))
	}
}
