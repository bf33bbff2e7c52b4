package ledger

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/worktest"
)

var (
	simSeeds = flag.Int("sim.seeds", 800, "how many seeds the simulation runs")
	simSeed  = flag.Int64("sim.seed", -1, "run this one seed, loudly")
)

// TestSimulationOfFaultHistories runs the real journal, meter, projector and recovery on one goroutine over a simulated
// disk, database, clock and provider. A seed determines the history of faults.
func TestSimulationOfFaultHistories(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	if *simSeed >= 0 {
		if err := newWorld(uint64(*simSeed), t.Logf).run(); err != nil {
			t.Fatalf("seed %d: %v", *simSeed, err)
		}
		return
	}
	var sum worldStats
	for seed := range uint64(*simSeeds) {
		w := newWorld(seed, nil)
		if err := w.run(); err != nil {
			t.Fatalf("seed %d: %v\nrepeat it with: go test ./internal/ledger -run TestSimulationOfFaultHistories$ -sim.seed=%d -v", seed, err, seed)
		}
		sum.add(&w.stats)
	}
	t.Logf("%d seeds: %+v", *simSeeds, sum)
	if sum.Kills == 0 || sum.PowerCuts == 0 || sum.Unknown == 0 || sum.Rewinds == 0 || sum.Refused == 0 || sum.Pruned == 0 {
		t.Errorf("the simulation does not reach every fault: %+v", sum)
	}
}

// TestSimulationCatches is the negative control: a deliberately broken ledger must fail.
func TestSimulationCatches(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	for name, sabotage := range map[string]func(*world){
		"opens are not written":                  func(w *world) { w.disk.dropEvery = 7 },
		"the position is not in the same commit": func(w *world) { w.db.forgetPosition = 5 },
		"syncs do nothing":                       func(w *world) { w.disk.lieAboutSync = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				w := newWorld(seed, nil)
				sabotage(w)
				if w.run() != nil {
					return
				}
			}
			t.Error("200 seeds passed over a broken ledger")
		})
	}
}

type worldStats struct {
	Attempts, Settled, Unknown, LostToPower, Kills, PowerCuts, Rewinds, Refused, Pruned int
}

func (s *worldStats) add(o *worldStats) {
	s.Attempts += o.Attempts
	s.Settled += o.Settled
	s.Unknown += o.Unknown
	s.LostToPower += o.LostToPower
	s.Kills += o.Kills
	s.PowerCuts += o.PowerCuts
	s.Rewinds += o.Rewinds
	s.Refused += o.Refused
	s.Pruned += o.Pruned
}

// truth holds the provider's record of an attempt.
type truth struct {
	attempt  Attempt
	settled  *Settlement // acknowledged as written; nil for none
	maybe    *Settlement // a settlement whose write returned an error
	openedAt Position    // after its open record
	doneAt   Position    // after its settle record
}

type world struct {
	rng    *rand.Rand
	logf   func(string, ...any)
	now    time.Time
	id     uuid.UUID
	disk   *simDisk
	db     *simDB
	ledger *Ledger
	strict bool
	truth  map[AttemptID]*truth
	live   []*Hold
	lost   []lostStretch // records that power cuts were allowed to lose
	stats  worldStats
	nextID uint64
}

// lostStretch is a range of positions that was never synced before a power cut.
type lostStretch struct{ from, to Position }

func newWorld(seed uint64, logf func(string, ...any)) *world {
	rng := rand.New(rand.NewPCG(seed, 0x77656972))
	w := &world{
		rng: rng, logf: logf, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		id: uuid.UUID{15: 1}, truth: map[AttemptID]*truth{}, strict: rng.IntN(4) == 0,
	}
	w.disk = &simDisk{rng: rng, files: map[string]*simFile{}}
	w.db = newSimDB(rng)
	return w
}

func (w *world) say(format string, args ...any) {
	if w.logf != nil {
		w.logf(format, args...)
	}
}

func (w *world) boot() error {
	l, err := openOn(context.Background(), w.disk, w.id, Options{
		Store: w.db, Strict: w.strict, SegmentSize: 4 << 10,
		Now: func() time.Time { return w.now },
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return fmt.Errorf("boot: %w", err)
	}
	w.ledger = l
	return nil
}

func (w *world) run() error {
	if err := w.boot(); err != nil {
		return err
	}
	for range 60 + w.rng.IntN(200) {
		if err := w.act(); err != nil {
			return err
		}
	}
	return w.settleDown()
}

// act causes one random event.
func (w *world) act() error {
	w.now = w.now.Add(time.Duration(w.rng.IntN(2000)) * time.Millisecond)
	switch n := w.rng.IntN(100); {
	case n < 30:
		w.openOne()
	case n < 52:
		w.settleOne()
	case n < 58:
		w.nextOne()
	case n < 68:
		_ = w.ledger.journal.Sync()
	case n < 82:
		_, _ = w.ledger.proj.step(context.Background())
	case n < 86:
		_ = w.ledger.journal.prepare()
	case n < 88:
		w.disk.full = w.rng.IntN(3) == 0
	case n < 90:
		w.now = w.now.Add(2 * time.Hour)
		w.prune()
	case n < 92:
		w.db.snapshot(w.now)
	case n < 94:
		w.rewind()
	case n < 96:
		w.db.fail = w.rng.IntN(3)
	case n < 99:
		return w.kill()
	default:
		return w.powerCut()
	}
	return nil
}

func (w *world) newAttempt(id AttemptID) Attempt {
	a := Attempt{
		ID: id, Account: fmt.Sprintf("account-%d", w.rng.IntN(3)), Key: "key", Requested: "p/m",
		Provider: "p", Model: "m", Opened: w.now, Arrived: w.now,
		Bound: llm.Usage{llm.Input: 1000, llm.Output: 1000},
		Price: llm.Price{Version: fmt.Sprintf("v%d", w.rng.IntN(3)), Rates: llm.Rates{llm.Input: 1_000_000, llm.Output: 2_000_000}},
	}
	a.Hold = a.Price.Bound(&llm.Usage{llm.Input: 1000, llm.Output: 1000, llm.Requests: 1})
	return a
}

func (w *world) openOne() {
	w.nextID++
	id := AttemptID{N: 1}
	id.Request[8] = byte(w.nextID >> 8)
	id.Request[9] = byte(w.nextID)
	a := w.newAttempt(id)
	h, err := w.ledger.Open(a)
	if err != nil {
		w.stats.Refused++
		return
	}
	w.served(h, a)
}

// served records the provider's side: it has been called, so it will charge.
func (w *world) served(h *Hold, a Attempt) {
	if err := h.Use(); err != nil {
		panic(err)
	}
	w.stats.Attempts++
	w.live = append(w.live, h)
	w.truth[a.ID] = &truth{attempt: a, openedAt: Position(w.ledger.journal.written.Load())}
	w.say("open %v", a.ID)
}

func (w *world) takeLive() *Hold {
	if len(w.live) == 0 {
		return nil
	}
	i := w.rng.IntN(len(w.live))
	h := w.live[i]
	w.live = slices.Delete(w.live, i, i+1)
	return h
}

func (w *world) settlement() Settlement {
	return Settlement{
		Outcome: OutcomeOK, Provenance: Exact, Counts: true,
		Usage: llm.Usage{llm.Input: w.rng.Int64N(1000), llm.Output: w.rng.Int64N(1000)},
	}
}

func (w *world) settleOne() {
	h := w.takeLive()
	if h == nil {
		return
	}
	w.disk.failWrites = w.rng.IntN(40) == 0
	defer func() { w.disk.failWrites = false }()
	s := w.settlement()
	h.complete(&s)
	tr := w.truth[h.attempt.ID]
	h.settled.Store(true)
	if _, err := w.ledger.append(nil, &s, h.attempt.ID); err != nil {
		tr.maybe = &s
		return
	}
	tr.settled, tr.doneAt = &s, Position(w.ledger.journal.written.Load())
	w.say("settle %v", h.attempt.ID)
}

func (w *world) nextOne() {
	h := w.takeLive()
	if h == nil {
		return
	}
	id := h.attempt.ID
	id.N++
	a := w.newAttempt(id)
	a.Account = h.attempt.Account
	s := w.settlement()
	next, _, err := h.Next(s, a)
	if err != nil {
		w.stats.Refused++
		w.live = append(w.live, h)
		return
	}
	h.complete(&s)
	s.Counts = false
	w.served(next, a)
	tr := w.truth[h.attempt.ID]
	tr.settled, tr.doneAt = &s, Position(w.ledger.journal.written.Load())
}

func (w *world) prune() {
	_, _ = w.ledger.proj.step(context.Background())
	before := len(w.ledger.journal.segs)
	w.ledger.proj.prune(context.Background())
	w.now = w.now.Add(2 * time.Hour)
	w.ledger.proj.prune(context.Background())
	w.stats.Pruned += before - len(w.ledger.journal.segs)
}

// rewind restores an older database, as a failover to a lagging standby does, but not older than the journal's
// retention permits.
func (w *world) rewind() {
	if w.db.saved != nil && w.now.Sub(w.db.saved.at) < keepApplied {
		w.stats.Rewinds++
		w.say("rewind to %d", w.db.saved.position)
		w.db.restore()
	}
}

func (w *world) kill() error {
	w.stats.Kills++
	w.say("kill")
	w.live = nil
	w.disk.full = false
	return w.boot()
}

// powerCut loses some unsynced data, on the disk and in the database.
func (w *world) powerCut() error {
	w.stats.PowerCuts++
	synced := Position(w.ledger.journal.synced.Load())
	written := Position(w.ledger.journal.written.Load())
	w.say("power cut: synced %d written %d", synced, written)
	w.lost = append(w.lost, lostStretch{synced, written})
	w.disk.powerCut()
	w.live = nil
	w.disk.full = false
	return w.boot()
}

// mayBeLost reports whether a record that ends at p was ever at risk.
func (w *world) mayBeLost(p Position) bool {
	return !w.strict && slices.ContainsFunc(w.lost, func(l lostStretch) bool { return p > l.from && p <= l.to })
}

// settleDown ends all faults, restarts once more and compares.
func (w *world) settleDown() error {
	w.disk.full, w.disk.failWrites, w.db.fail = false, false, 0
	if err := w.kill(); err != nil {
		return err
	}
	if err := w.ledger.journal.Sync(); err != nil {
		return err
	}
	for range 1000 {
		_, err := w.ledger.proj.step(context.Background())
		if err != nil {
			return fmt.Errorf("after all faults ended: %w", err)
		}
		if lag, _ := w.ledger.Lag(); lag == 0 {
			return w.compare()
		}
	}
	return errors.New("the projector does not come to an end")
}

func (w *world) compare() error {
	if len(w.db.open) > 0 {
		return fmt.Errorf("%d holds left after quiet", len(w.db.open))
	}
	counted := map[uuid.UUID]int{}
	for id, tr := range w.truth {
		if err := w.compareOne(id, tr, counted); err != nil {
			return fmt.Errorf("attempt %v: %w", id, err)
		}
	}
	for id := range w.db.rows {
		if w.truth[id] == nil {
			return fmt.Errorf("attempt %v is in the database and was never served", id)
		}
	}
	for request, n := range counted {
		if n == 0 && w.lostWithPower(request) {
			continue // the power cut lost the attempt that would count
		}
		if n != 1 {
			return fmt.Errorf("request %v counts %d times", request, n)
		}
	}
	return w.db.verify()
}

func (w *world) lostWithPower(request uuid.UUID) bool {
	for id := range w.truth {
		if _, there := w.db.rows[id]; id.Request == request && !there {
			return true
		}
	}
	return false
}

func (w *world) compareOne(id AttemptID, tr *truth, counted map[uuid.UUID]int) error {
	row, ok := w.db.rows[id]
	if !ok {
		if w.mayBeLost(tr.openedAt) {
			w.stats.LostToPower++
			return nil
		}
		return errors.New("lost")
	}
	n := counted[id.Request]
	if row.Counts {
		n++
	}
	counted[id.Request] = n
	if row.Outcome == OutcomeUnknown {
		w.stats.Unknown++
		if tr.settled != nil && !w.mayBeLost(tr.doneAt) {
			return errors.New("settled, and yet unknown")
		}
		if row.Cost != tr.attempt.Hold {
			return fmt.Errorf("unknown costs %v, not its hold %v", row.Cost, tr.attempt.Hold)
		}
		return nil
	}
	w.stats.Settled++
	want := tr.settled
	if want == nil {
		want = tr.maybe
	}
	if want == nil {
		return fmt.Errorf("settled as %v, which nobody did", row.Outcome)
	}
	if row.Cost != want.Cost || row.Usage != want.Usage {
		return fmt.Errorf("settled at %v %v, not at %v %v", row.Cost, row.Usage, want.Cost, want.Usage)
	}
	return nil
}
