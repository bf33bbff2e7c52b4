package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"

	"weir/internal/worktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func openTest(t testing.TB, dir string, db Store, change func(*Options)) *Ledger {
	t.Helper()
	o := Options{Dir: dir, Store: db, Now: time.Now, Log: quiet()}
	if change != nil {
		change(&o)
	}
	l, err := New(context.Background(), o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return l
}

func closeTest(t testing.TB, l *Ledger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// lockedDB allows tests to read the simulated database while the projector runs.
type lockedDB struct {
	mu sync.Mutex
	*simDB
	away atomic.Bool
}

func newLockedDB() *lockedDB {
	return &lockedDB{simDB: newSimDB(rand.New(rand.NewPCG(1, 1)))}
}

func (db *lockedDB) Apply(ctx context.Context, b *Batch) error {
	if db.away.Load() {
		return errSim
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.simDB.Apply(ctx, b)
}

func testAttempt(id uuid.UUID, n uint16) Attempt {
	a := Attempt{
		ID: AttemptID{Request: id, N: n}, Account: "account", Key: "key", Requested: "fast", Region: "eu-west-1",
		Provider: "p", Model: "m", Opened: time.Now().UTC().Truncate(time.Microsecond), Stream: true,
		Bound: llm.Usage{llm.Input: 100, llm.Output: 10},
		Price: llm.Price{
			Version: "v1", Rates: llm.Rates{llm.Input: 3, llm.Output: 15},
			Tiers: []llm.Tier{{Above: 200_000, Rates: llm.Rates{llm.Input: 6, llm.FileSearches: llm.Free}}},
			Modes: []llm.Mode{{Name: "geo:us", Times: 1100}, {Name: "flex", Rates: llm.Rates{llm.Output: 7}, Tiers: []llm.Tier{{Above: 9}}}},
		},
	}
	a.Attribution = llm.Attribution{User: "user-1", Tags: []llm.Tag{{Name: "project", Value: "alpha"}, {Name: "team", Value: ""}}}
	a.Hold = a.Price.Bound(&llm.Usage{llm.Input: 100, llm.Output: 10, llm.Requests: 1})
	a.Arrived = a.Opened.Add(-time.Second)
	return a
}

func TestEveryAppendIsReadOnce(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict=%v", strict), func(t *testing.T) {
			t.Parallel()
			db := newLockedDB()
			dir := t.TempDir()
			l := openTest(t, dir, db, func(o *Options) { o.Strict, o.SegmentSize = strict, 64<<10 })
			const workers, each = 16, 100
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for range each {
						meterOne(t, l)
					}
				})
			}
			wg.Wait()
			closeTest(t, l)
			if got, want := len(db.rows), 2*workers*each; got != want {
				t.Errorf("rows: got %d, want %d", got, want)
			}
			if err := db.verify(); err != nil {
				t.Error(err)
			}
			if got := len(db.open); got != 0 {
				t.Errorf("open attempts: got %d, want 0", got)
			}
		})
	}
}

// meterOne meters a request of two attempts.
func meterOne(t *testing.T, l *Ledger) {
	id := uuid.New()
	h, err := l.Open(testAttempt(id, 1))
	if err != nil {
		t.Errorf("Open: %v", err)
		return
	}
	if err := h.Use(); err != nil {
		t.Errorf("Use: %v", err)
	}
	h, _, err = h.Next(Settlement{Outcome: OutcomeFailed, Provenance: Estimated, Usage: llm.Usage{llm.Input: 7}}, testAttempt(id, 2))
	if err != nil {
		t.Errorf("Next: %v", err)
		return
	}
	s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Counts: true, Usage: llm.Usage{llm.Input: 9, llm.Output: 4}}
	if _, err := h.Settle(s); err != nil {
		t.Errorf("Settle: %v", err)
	}
}

func TestHoldIsUsableOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t, t.TempDir(), newLockedDB(), nil)
	defer closeTest(t, l)
	h := must.Get(l.Open(testAttempt(uuid.New(), 1)))(t)
	if err := h.Use(); err != nil {
		t.Errorf("first Use: got %v, want nil", err)
	}
	if err := h.Use(); err == nil {
		t.Error("second Use: got nil, want an error")
	}
	cost, err := h.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 1000}})
	if err != nil || cost == nil || *cost != 3 {
		t.Errorf("Settle: got %v, %v, want 3 nano-dollars", cost, err)
	}
	if _, err := h.Settle(Settlement{}); !errors.Is(err, errSettled) {
		t.Errorf("second Settle: got %v, want %v", err, errSettled)
	}
	if _, _, err := h.Next(Settlement{}, testAttempt(uuid.New(), 2)); !errors.Is(err, errSettled) {
		t.Errorf("Next after Settle: got %v, want %v", err, errSettled)
	}
}

func TestOpenAttemptsBecomeUnknown(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), newLockedDB()
	l := openTest(t, dir, db, nil)
	request := uuid.New()
	h := must.Get(l.Open(testAttempt(request, 1)))(t)
	if _, _, err := h.Next(Settlement{Outcome: OutcomeFailed, Provenance: Exact}, testAttempt(request, 2)); err != nil {
		t.Fatal(err)
	}
	closeTest(t, l)

	l = openTest(t, dir, db, nil)
	closeTest(t, l)
	row := db.rows[AttemptID{Request: request, N: 2}]
	if row.Outcome != OutcomeUnknown || row.Provenance != Unknown || !row.Counts {
		t.Errorf("got %v %v counts=%v, want unknown, unknown, counting", row.Outcome, row.Provenance, row.Counts)
	}
	if row.Cost != row.Hold || row.Usage != row.Bound {
		t.Errorf("settled at %v %v, want the hold %v and the bound %v", row.Cost, row.Usage, row.Hold, row.Bound)
	}
	if db.rows[AttemptID{Request: request, N: 1}].Counts {
		t.Error("the attempt that was followed by another counts")
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openTest(t, dir, newLockedDB(), nil)
	defer closeTest(t, l)
	_, err := New(context.Background(), Options{Dir: dir, Store: newLockedDB(), Now: time.Now, Log: quiet()})
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("another weir serve")) {
		t.Errorf("got %v, want an error about another weir serve", err)
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	db := newLockedDB()
	l := openTest(t, t.TempDir(), db, nil)
	defer closeTest(t, l)
	db.away.Store(true)
	meterOne(t, l)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := l.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Flush while the database is away: got %v, want the deadline", err)
	}
	if lag, err := l.Lag(); lag == 0 || err == nil {
		t.Errorf("Lag: got %d, %v, want a lag and its cause", lag, err)
	}
	db.away.Store(false)
	if err := l.Flush(context.Background()); err != nil {
		t.Errorf("Flush after the outage: %v", err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if got := len(db.rows); got != 2 {
		t.Errorf("rows: got %d, want 2", got)
	}
}

// hangingDB is a database whose commits last until nobody waits for them.
type hangingDB struct {
	*lockedDB
	asked chan struct{}
}

func (db *hangingDB) Apply(ctx context.Context, _ *Batch) error {
	select {
	case db.asked <- struct{}{}:
	default: // it was asked before
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestStopIsNoOutage stops a ledger while a batch is applied, and checks that no outage of the database is logged.
func TestStopIsNoOutage(t *testing.T) {
	t.Parallel()
	db := &hangingDB{newLockedDB(), make(chan struct{}, 1)}
	var log bytes.Buffer
	l := openTest(t, t.TempDir(), db, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	meterOne(t, l)
	<-db.asked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close without time to project: got %v, want that it was canceled", err)
	}
	if log.Len() > 0 {
		t.Errorf("log of a stop: got %s, want nothing", &log)
	}
}

// TestReservedSpaceSettlesAttempts fills the reserved space and checks that attempts in flight can still be settled.
func TestReservedSpaceSettlesAttempts(t *testing.T) {
	t.Parallel()
	full := &fullDisk{Directory: Directory(t.TempDir())}
	l, err := openOn(context.Background(), full, uuid.New(), Options{
		Store: newLockedDB(), SegmentSize: 32 << 10, Now: time.Now, Log: quiet(),
	})
	must.Do(t, err)
	full.full.Store(true)
	var holds []*Hold
	for {
		h, err := l.Open(testAttempt(uuid.New(), 1))
		if err != nil {
			if e := llm.AsError(err); e.Code != llm.CodeOverloaded || !errors.Is(err, ErrFull) {
				t.Fatalf("Open on a full disk: got %v, want %s and ErrFull", err, llm.CodeOverloaded)
			}
			break
		}
		holds = append(holds, h)
	}
	if len(holds) < 10 {
		t.Fatalf("only %d attempts fitted", len(holds))
	}
	for i, h := range holds {
		if _, err := h.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 1 << 39}}); err != nil {
			t.Fatalf("Settle %d of %d on a full disk: %v", i, len(holds), err)
		}
	}
	full.full.Store(false)
	must.Do(t, l.journal.prepare())
	if _, err := l.Open(testAttempt(uuid.New(), 1)); err != nil {
		t.Errorf("Open with room again: %v", err)
	}
	if err := l.journal.close(); err != nil {
		t.Error(err)
	}
}

// TestJournalLeavesRoom checks that the journal creates no segment that would leave less than eight on the disk, and
// continues when there is space.
func TestJournalLeavesRoom(t *testing.T) {
	t.Parallel()
	small := &fullDisk{Directory: Directory(t.TempDir())}
	l, err := openOn(context.Background(), small, uuid.New(), Options{
		Store: newLockedDB(), SegmentSize: 32 << 10, Now: time.Now, Log: quiet(),
	})
	must.Do(t, err)
	small.free.Store(9*l.journal.segmentSize - 1)
	refused := false
	for range 10_000 {
		if _, err := l.Open(testAttempt(uuid.New(), 1)); errors.Is(err, ErrFull) {
			refused = true
			break
		}
	}
	if !refused || l.Problem() == nil {
		t.Errorf("with less than nine segments free: refused %v, problem %v; want ErrFull", refused, l.Problem())
	}
	small.free.Store(9 * l.journal.segmentSize)
	if _, err := l.Open(testAttempt(uuid.New(), 1)); err != nil {
		t.Errorf("with nine segments free: %v", err)
	}
	must.Do(t, l.journal.close())
}

type fullDisk struct {
	Directory
	full atomic.Bool
	free atomic.Int64 // bytes; 0 for as many as one likes
}

func (d *fullDisk) Create(name string, size, keep int64) (File, error) {
	if free := d.free.Load(); d.full.Load() || free > 0 && keep > 0 && free < size+keep {
		return nil, os.ErrDeadlineExceeded
	}
	return d.Directory.Create(name, size, keep)
}

func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	a := testAttempt(uuid.New(), 3)
	a.Parts = budget.Parts(0).User(budget.KeyPart).Tag(budget.AccountPart, 1)
	_, payload, n := readFrame(appendOpen(nil, &a))
	got, err := decodeOpen(payload, nil)
	if err != nil || n == 0 {
		t.Fatalf("decodeOpen: %v", err)
	}
	want := a
	want.Price = llm.Price{Version: a.Price.Version}
	must.Equal(t, got, want, "open")
	want.Attribution, want.Parts = llm.Attribution{}, 0 // as an older weir has written it
	_, older, _ := readFrame(appendOpen(nil, &want))
	if got, err = decodeOpen(older, nil); err != nil || !cmp.Equal(got, want) || len(payload)-len(older) != len("user-1projectalphateam")+7 {
		t.Errorf("an older record: got %d bytes of %d, %+v, %v", len(older), len(payload), got, err)
	}
	s := Settlement{
		Outcome: OutcomeCut, Provenance: Estimated, Usage: llm.Usage{llm.Input: 5, llm.Milliseconds: 7},
		Cost: 123, Counts: true, Finish: llm.FinishLength, Tier: "flex", Code: llm.CodeProviderError,
		Status: 502, FirstToken: 5 * time.Millisecond, Duration: time.Second,
		AtMost: 456, Unpriced: llm.Classes(0).With(llm.Searches).With(llm.ImageOut), ProviderCost: new(llm.Money), Billed: true,
		ReplyID: "gen-1", Ask: true,
	}
	_, payload, _ = readFrame(appendSettle(nil, a.ID, &s))
	id, gotS, err := decodeSettle(payload, nil)
	if err != nil || id != a.ID {
		t.Fatalf("decodeSettle: %v %v", id, err)
	}
	must.Equal(t, gotS, s, "settle")
	s.Served = Served{Model: "small", Other: true, Price: &llm.Price{Version: "operator/house/small#1"}}
	_, served, _ := readFrame(appendSettle(nil, a.ID, &s))
	if _, gotS, err = decodeSettle(served, nil); err != nil || !cmp.Equal(gotS, s) {
		t.Errorf("an answer by another model: %v\n%s", err, cmp.Diff(gotS, s))
	}
	s.Served = Served{}
	s.ReplyID, s.Ask = "", false // as an older weir has written it
	_, older, _ = readFrame(appendSettle(nil, a.ID, &s))
	if _, gotS, err = decodeSettle(older, nil); err != nil || len(older) != len(payload)-len("gen-1")-1 || gotS.ReplyID != "" || gotS.Ask {
		t.Errorf("an older record: got %d bytes of %d, %+v, %v", len(older), len(payload), gotS, err)
	}
	_, payload, _ = readFrame(appendPrice(nil, &a.Price))
	gotP := must.Get(decodePrice(payload))(t)
	must.Equal(t, gotP, PriceRecord{a.Price.Version, a.Price.Rates, a.Price.Tiers, a.Price.Modes}, "price")
}

// TestRatesOfTimeKeepFractions checks that the rate of a second is read as it was written, and that one in whole
// pico-dollars for a millisecond has the form that earlier versions read.
func TestRatesOfTimeKeepFractions(t *testing.T) {
	t.Parallel()
	for pico, coded := range map[llm.Rate][]byte{1_333_333_333: {codeSecond}, 100_000_000: {13}} {
		p := llm.Price{Version: "v", Rates: llm.Rates{llm.Milliseconds: pico}}
		_, payload, _ := readFrame(appendPrice(nil, &p))
		got := must.Get(decodePrice(payload))(t)
		must.Equal(t, got.Rates, p.Rates, "rates")
		if written := appendRates(nil, &p.Rates)[1:2]; !bytes.Equal(written, coded) {
			t.Errorf("%d: got the code %d, want %d", pico, written, coded)
		}
	}
}

func FuzzDecode(f *testing.F) {
	a := testAttempt(uuid.UUID{1}, 1)
	f.Add(appendOpen(nil, &a))
	f.Add(appendSettle(nil, a.ID, &Settlement{Outcome: OutcomeOK, Provenance: Exact}))
	f.Add(appendPrice(nil, &a.Price))
	f.Fuzz(func(t *testing.T, b []byte) {
		worktest.Check(t, b, func(b []byte) {
			_, _ = decodeOpen(b, nil)
			_, _, _ = decodeSettle(b, nil)
			_, _ = decodePrice(b)
		})
		if _, payload, n := readFrame(b); n > 0 {
			b = payload
		}
		if got, err := decodeOpen(b, nil); err == nil {
			_, payload, _ := readFrame(appendOpen(nil, &got))
			if again, err := decodeOpen(payload, nil); err != nil || !cmp.Equal(again, got) {
				t.Errorf("open %v does not survive: %v, %v", got, again, err)
			}
		}
		_, _, _ = decodeSettle(b, nil)
		_, _ = decodePrice(b)
	})
}

func BenchmarkMeter(b *testing.B) {
	for _, mode := range []struct {
		name   string
		strict bool
	}{{"batched", false}, {"strict", true}} {
		b.Run(mode.name, func(b *testing.B) {
			l := openTest(b, b.TempDir(), newLockedDB(), func(o *Options) { o.Strict = mode.strict })
			defer closeTest(b, l)
			a := testAttempt(uuid.New(), 1)
			s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 9}}
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				a := a
				for pb.Next() {
					a.ID.Request = uuid.New()
					h, err := l.Open(a)
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := h.Settle(s); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
