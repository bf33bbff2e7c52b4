package ledger

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/worktest"
)

var (
	budgetSeeds = flag.Int("budget.seeds", 100, "how many seeds the simulation of budgets runs")
	budgetSeed  = flag.Int64("budget.seed", -1, "run this one seed")
)

// TestBudgetSimulation runs real ledgers as nodes that share a budget, through kills, outages of the database and a
// standby that lacks commits. The total spending never exceeds the budget, nothing is held in the end, and any node can
// reserve the whole rest.
func TestBudgetSimulation(t *testing.T) {
	if *budgetSeed >= 0 {
		must.Do(t, runBudgets(t, uint64(*budgetSeed), nil))
		return
	}
	var stats fleetStats
	seeds := worktest.Repeats(*budgetSeeds)
	for seed := range uint64(seeds) {
		if err := runBudgetsCounted(t, seed, nil, &stats); err != nil {
			t.Fatalf("seed %d: %v\nrepeat it with: go test ./internal/ledger -run TestBudgetSimulation$ -budget.seed=%d", seed, err, seed)
		}
	}
	t.Logf("%d seeds: %+v", seeds, stats)
	if stats.Admitted == 0 || stats.Exceeded == 0 || stats.Away == 0 || stats.Kills == 0 || stats.Rewinds == 0 || stats.Next == 0 {
		t.Errorf("the simulation does not reach every case: %+v", stats)
	}
}

// TestBudgetSimulationCatches is the negative control.
func TestBudgetSimulationCatches(t *testing.T) {
	for name, sabotage := range map[string]func(*hub){
		"slices are dealt as if there were no others": func(h *hub) { h.ignoreOthers = true },
		"what others hold does not count":             func(h *hub) { h.spentOnly = true },
		"what end users have spent does not count":    func(h *hub) { h.state.ignoreParts = true },
	} {
		caught := false
		const most = 300 // one of eight catches the rarest, whose goroutines do not always run alike
		for seed := range uint64(most) {
			if caught = runBudgets(t, seed, sabotage) != nil; caught {
				break
			}
		}
		if !caught {
			t.Errorf("%s: %d seeds passed", name, most)
		}
	}
}

type fleetStats struct {
	Admitted, Exceeded, Away, Next, Kills, Rewinds int
}

func runBudgets(t *testing.T, seed uint64, sabotage func(*hub)) error {
	var stats fleetStats
	return runBudgetsCounted(t, seed, sabotage, &stats)
}

func runBudgetsCounted(t *testing.T, seed uint64, sabotage func(*hub), stats *fleetStats) (err error) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(seed)
		if sabotage != nil {
			sabotage(f.hub)
		}
		err = f.run(t.Context())
		stats.Admitted += int(f.admitted.Load())
		stats.Exceeded += int(f.exceeded.Load())
		stats.Away += int(f.away.Load())
		stats.Next += int(f.nexts.Load())
		stats.Kills += f.kills
		stats.Rewinds += f.rewinds
	})
	return err
}

const (
	fleetAccount, fleetKey = "account", "key"
	fleetLimit             = llm.Money(1000)
	fleetUserLimit         = llm.Money(450)
)

// fleetUsers lists the end users, each with a budget of its own.
var fleetUsers = [...]string{"ada", "bob", "eve"}

// fleet is a number of nodes.
type fleet struct {
	rng   *rand.Rand
	hub   *hub
	nodes []*simNode

	admitted, exceeded, away, nexts atomic.Int64
	kills, rewinds                  int
}

// simNode is a node; its disk outlives it.
type simNode struct {
	id   uuid.UUID
	disk *simDisk
	lock sync.Mutex // of the disk
	mu   sync.RWMutex
	life *life
}

// life is one process.
type life struct {
	ledger *Ledger
	conn   *hubConn
	ctx    context.Context
	kill   context.CancelFunc
	disk   *lifeDisk
}

func newFleet(seed uint64) *fleet {
	f := &fleet{rng: rand.New(rand.NewPCG(seed, 0x627564676574))}
	limits := map[string]llm.Money{fleetAccount: fleetLimit, fleetKey: fleetLimit - 100}
	for _, user := range fleetUsers {
		limits[budget.UserScope(fleetKey, user)] = fleetUserLimit
	}
	f.hub = newHub(time.Now, limits)
	for i := range 3 {
		f.nodes = append(f.nodes, &simNode{id: uuid.UUID{15: byte(i + 1)}, disk: &simDisk{rng: f.rng, files: map[string]*simFile{}}})
	}
	return f
}

func (n *simNode) boot(ctx context.Context, h *hub) error {
	conn := &hubConn{hub: h}
	disk := &lifeDisk{node: n, conn: conn}
	l, err := openOn(ctx, disk, n.id, Options{
		Store: conn, Leases: conn, SegmentSize: 64 << 10, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := l.budgets.Join(ctx); err != nil {
		return err
	}
	l.start()
	ctx, kill := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.life = &life{ledger: l, conn: conn, ctx: ctx, kill: kill, disk: disk}
	return nil
}

// die ends a life as kill -9 does.
func (n *simNode) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.life.conn.dead.Store(true)
	n.life.kill()
	n.life.ledger.cancel()
	n.life.ledger.running.Wait()
}

func (n *simNode) alive() *life {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.life
}

func (f *fleet) run(ctx context.Context) error {
	defer f.stop()
	for _, n := range f.nodes {
		if err := n.boot(ctx, f.hub); err != nil {
			return err
		}
	}
	var requests sync.WaitGroup
	defer requests.Wait()
	for i := range 60 + f.rng.IntN(100) {
		node, seed := f.nodes[f.rng.IntN(len(f.nodes))], f.rng.Uint64()
		requests.Go(func() { f.request(node.alive(), uint64(i), seed) })
		time.Sleep(time.Duration(f.rng.IntN(60)) * time.Millisecond)
		if err := f.mishap(ctx); err != nil {
			return err
		}
	}
	f.hub.setDown(false)
	requests.Wait()
	return f.settleDown(ctx)
}

// mishap causes a random failure.
func (f *fleet) mishap(ctx context.Context) error {
	switch n := f.rng.IntN(100); {
	case n < 4:
		f.kills++
		node := f.nodes[f.rng.IntN(len(f.nodes))]
		f.hub.setDown(false) // a start needs the database
		node.die()
		return node.boot(ctx, f.hub)
	case n < 7:
		f.hub.setDown(true)
	case n < 12:
		f.hub.setDown(false)
	case n < 14:
		f.hub.save()
	case n < 16:
		f.rewinds++
		f.hub.rewind()
	}
	return nil
}

// request simulates one client's request, which may need a second attempt.
func (f *fleet) request(l *life, n, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	user := fleetUsers[rng.IntN(len(fleetUsers))]
	need := Need{Need: budget.Need{
		Account: fleetAccount, At: time.Now(), Least: 1 + llm.Money(rng.IntN(20)),
		Budgets: []budget.Budget{
			{Scope: fleetAccount, Of: "account", Period: budget.PeriodTotal, Limit: fleetLimit},
			{Scope: fleetKey, Of: "API key", Period: budget.PeriodTotal, Limit: fleetLimit - 100},
			{Scope: budget.UserScope(fleetKey, user), Of: "end user", Period: budget.PeriodTotal, Limit: fleetUserLimit},
		},
	}}
	need.Most = need.Least + llm.Money(rng.IntN(60))
	reservation, err := l.ledger.Reserve(l.ctx, need)
	if err != nil {
		f.count(err)
		return
	}
	a := Attempt{
		ID: AttemptID{Request: uuid.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)}, N: 1}, Account: fleetAccount, Key: fleetKey,
		Provider: "p", Model: "m", Opened: time.Now(), Arrived: need.At, Hold: reservation.Amount(), Reservation: reservation,
		Price:       llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 1000}},
		Attribution: llm.Attribution{User: user}, Parts: budget.Parts(0).User(budget.KeyPart),
	}
	hold, err := l.ledger.Open(a)
	if err != nil {
		return
	}
	f.admitted.Add(1)
	if !sleep(l.ctx, time.Duration(rng.IntN(2000))*time.Millisecond) {
		return
	}
	s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: rng.Int64N(int64(a.Hold) + 1)}}
	if rng.IntN(3) == 0 {
		if hold = f.another(l, hold, s, need, rng); hold == nil {
			return
		}
		s.Usage[llm.Input] = rng.Int64N(int64(hold.attempt.Hold) + 1)
	}
	_, _ = hold.Settle(s)
}

// another settles an attempt and opens the next one if there is room; nil if the node died meanwhile.
func (f *fleet) another(l *life, hold *Hold, s Settlement, need Need, rng *rand.Rand) *Hold {
	need.Follows, need.Settles = hold, &s
	reservation, err := l.ledger.Reserve(l.ctx, need)
	if err != nil {
		f.count(err)
		return hold
	}
	next := hold.attempt
	next.ID.N++
	next.Hold, next.Reservation = reservation.Amount(), reservation
	after, _, err := hold.Next(s, next)
	if err != nil {
		return hold
	}
	f.nexts.Add(1)
	if !sleep(l.ctx, time.Duration(rng.IntN(500))*time.Millisecond) {
		return nil
	}
	return after
}

func (f *fleet) count(err error) {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeBudgetExceeded {
		f.exceeded.Add(1)
		return
	}
	f.away.Add(1)
}

// settleDown ends all failures and checks the result.
func (f *fleet) settleDown(ctx context.Context) error {
	time.Sleep(5 * time.Second)
	for _, n := range f.nodes {
		if err := n.alive().ledger.Flush(ctx); err != nil {
			return err
		}
	}
	total, open := f.hub.total()
	switch {
	case f.hub.broken != nil:
		return f.hub.broken
	case open > 0:
		return fmt.Errorf("%d holds left after quiet", open)
	case total > fleetLimit-100:
		return fmt.Errorf("%v was spent of a budget of %v", total, fleetLimit-100)
	}
	for user, spent := range f.hub.ofUsers() {
		if spent > fleetUserLimit {
			return fmt.Errorf("the end user %s has spent %v of a budget of %v", user, spent, fleetUserLimit)
		}
	}
	return f.reserveRest(ctx, fleetLimit-100-total)
}

func (f *fleet) stop() {
	for _, n := range f.nodes {
		if n.life != nil {
			n.die()
		}
	}
}

// reserveRest reserves exactly the rest, on any node, and no more.
func (f *fleet) reserveRest(ctx context.Context, left llm.Money) error {
	l := f.nodes[f.rng.IntN(len(f.nodes))].alive().ledger
	need := Need{Need: budget.Need{
		Account: fleetAccount, At: time.Now(), Least: left + 1,
		Budgets: []budget.Budget{{Scope: fleetKey, Of: "API key", Period: budget.PeriodTotal, Limit: fleetLimit - 100}},
	}}
	if _, err := l.Reserve(ctx, need); err == nil {
		return fmt.Errorf("%v could be reserved of the %v that were left", need.Least, left)
	}
	if left == 0 {
		return nil
	}
	need.Least = left
	time.Sleep(time.Second)
	reservation, err := l.Reserve(ctx, need)
	if err != nil {
		return fmt.Errorf("%v are left and could not be reserved: %w", left, err)
	}
	reservation.Release()
	return nil
}

// lifeDisk is the disk of one life: after its end nothing is written any more.
type lifeDisk struct {
	node *simNode
	conn *hubConn
}

type lifeFile struct {
	disk *lifeDisk
	file File
}

func (d *lifeDisk) use(fn func() error) error {
	d.node.lock.Lock()
	defer d.node.lock.Unlock()
	if d.conn.dead.Load() {
		return errSim
	}
	return fn()
}

func (d *lifeDisk) List() (names []string, err error) {
	err = d.use(func() error { names, err = d.node.disk.List(); return err })
	return names, err
}

func (d *lifeDisk) Create(name string, size, keep int64) (f File, err error) {
	err = d.use(func() error { f, err = d.node.disk.Create(name, size, keep); return err })
	return &lifeFile{d, f}, err
}

func (d *lifeDisk) Open(name string) (f File, err error) {
	err = d.use(func() error { f, err = d.node.disk.Open(name); return err })
	return &lifeFile{d, f}, err
}

func (d *lifeDisk) Truncate(name string, size int64) error {
	return d.use(func() error { return d.node.disk.Truncate(name, size) })
}

func (d *lifeDisk) Remove(name string) error {
	return d.use(func() error { return d.node.disk.Remove(name) })
}

func (f *lifeFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.disk.use(func() error { n, err = f.file.ReadAt(p, off); return err })
	return n, err
}

func (f *lifeFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.disk.use(func() error { n, err = f.file.WriteAt(p, off); return err })
	return n, err
}

func (f *lifeFile) Sync() error  { return f.disk.use(f.file.Sync) }
func (f *lifeFile) Close() error { return nil }

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
