package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/llm"
)

// hub is the database of simulated nodes. After every commit it checks that the possible spending of all nodes is
// within each budget.
type hub struct {
	slow   time.Duration // the duration of each lease
	mu     sync.Mutex
	now    func() time.Time
	limits map[string]llm.Money // by scope; each for any period
	period budget.Period        // the only existing one; empty for any
	state  hubState
	saved  *hubState
	down   bool
	broken error         // the first commit that passed a budget
	late   chan struct{} // the answer to the next lease waits for it; nil for none
	// changed holds the budgets that check has not examined; all means all of them.
	changed map[budget.ID]bool
	all     bool

	ignoreOthers bool // negative control: a lease is dealt as if there were no others
	spentOnly    bool // negative control: ignore holds of other nodes
}

// hubState holds the data of which a standby may have less.
type hubState struct {
	position    map[uuid.UUID]Position
	open        map[AttemptID]Attempt
	rows        map[AttemptID]Entry
	journalOf   map[AttemptID]uuid.UUID
	sums        map[hubSum]llm.Money // of rows
	slices      map[budget.ID]map[uuid.UUID]llm.Money
	wanted      map[budget.ID]map[uuid.UUID]time.Time
	nodes       map[uuid.UUID]hubNode
	incarnation int
	ignoreParts bool // negative control: ignore the spending of end users
}

// hubSum holds the cost of a journal's rows in one scope.
type hubSum struct {
	scope   string
	journal uuid.UUID
}

type hubNode struct {
	seen, until time.Time
	stopped     bool
	incarnation string
}

func newHub(now func() time.Time, limits map[string]llm.Money) *hub {
	return &hub{now: now, limits: limits, changed: map[budget.ID]bool{}, state: hubState{
		sums:     map[hubSum]llm.Money{},
		position: map[uuid.UUID]Position{}, open: map[AttemptID]Attempt{}, rows: map[AttemptID]Entry{},
		journalOf: map[AttemptID]uuid.UUID{}, slices: map[budget.ID]map[uuid.UUID]llm.Money{},
		wanted: map[budget.ID]map[uuid.UUID]time.Time{}, nodes: map[uuid.UUID]hubNode{},
	}}
}

func (s *hubState) clone() *hubState {
	c := *s
	c.position, c.open, c.rows, c.journalOf = maps.Clone(s.position), maps.Clone(s.open), maps.Clone(s.rows), maps.Clone(s.journalOf)
	c.nodes, c.sums = maps.Clone(s.nodes), maps.Clone(s.sums)
	c.slices, c.wanted = map[budget.ID]map[uuid.UUID]llm.Money{}, map[budget.ID]map[uuid.UUID]time.Time{}
	for id, m := range s.slices {
		c.slices[id] = maps.Clone(m)
	}
	for id, m := range s.wanted {
		c.wanted[id] = maps.Clone(m)
	}
	return &c
}

// settle adds an attempt to the rows, and its cost to the sums.
func (s *hubState) settle(e *Entry, journal uuid.UUID) {
	if old, there := s.rows[e.ID]; there {
		s.add(&old, s.journalOf[e.ID], -old.Cost)
	}
	delete(s.open, e.ID)
	s.rows[e.ID], s.journalOf[e.ID] = *e, journal
	s.add(e, journal, e.Cost)
}

func (s *hubState) add(e *Entry, journal uuid.UUID, cost llm.Money) {
	for _, scope := range append(e.PartScopes(), e.Account, e.Key) {
		s.sums[hubSum{scope, journal}] += cost
	}
}

// spent returns a journal's spending of a budget, as far as the hub knows.
func (s *hubState) spent(id budget.ID, journal uuid.UUID) llm.Money {
	if s.ignoreParts {
		if _, _, isPart := budget.PartOf(id.Scope); isPart {
			return 0
		}
	}
	return s.sums[hubSum{id.Scope, journal}]
}

// charge returns the greatest possible spending of a journal.
func (h *hub) charge(id budget.ID, journal uuid.UUID) llm.Money {
	spent := h.state.spent(id, journal)
	if h.spentOnly {
		return spent
	}
	return max(spent, h.state.slices[id][journal])
}

// check runs after every commit, and checks the changed budgets. After a standby has taken over, the hub cannot know
// until every node has reported its holds.
func (h *hub) check() {
	for _, n := range h.state.nodes {
		if n.incarnation != fmt.Sprint(h.state.incarnation) {
			return
		}
	}
	changed := maps.Keys(h.changed)
	if h.all {
		changed = maps.Keys(h.state.slices)
	}
	for id := range changed {
		h.checkBudget(id)
	}
	h.all = false
	clear(h.changed)
}

func (h *hub) checkBudget(id budget.ID) {
	sum := llm.Money(0)
	for journal := range h.state.position {
		sum += max(h.state.spent(id, journal), h.state.slices[id][journal])
	}
	if sum > h.limits[id.Scope] && h.broken == nil {
		h.broken = fmt.Errorf("nodes may come to %v of budget %v, whose limit is %v", sum, id, h.limits[id.Scope])
	}
}

// hubConn is one life of a node's connection to the hub.
type hubConn struct {
	hub  *hub
	dead atomic.Bool
}

var errHub = errors.New("the hub is away")

// use runs fn exclusively.
func (c *hubConn) use(fn func(*hubState) error) error {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.hub.down || c.dead.Load() {
		return errHub
	}
	err := fn(&c.hub.state)
	if err == nil {
		c.hub.check()
	}
	return err
}

func (c *hubConn) Position(_ context.Context, journal uuid.UUID) (pos Position, err error) {
	err = c.use(func(s *hubState) error { pos = s.position[journal]; return nil })
	return pos, err
}

func (c *hubConn) SetAside(context.Context, uuid.UUID) (int64, error) { return 0, nil }

func (c *hubConn) OpenAttempts(_ context.Context, journal uuid.UUID) (list []Attempt, err error) {
	err = c.use(func(s *hubState) error {
		for id, a := range s.open {
			if s.journalOf[id] == journal {
				list = append(list, a)
			}
		}
		return nil
	})
	return list, err
}

func (c *hubConn) Durable(context.Context) error { return nil }

func (c *hubConn) Apply(_ context.Context, b *Batch) error {
	return c.use(func(s *hubState) error {
		if b.From != s.position[b.Journal] {
			return ErrMoved
		}
		for _, a := range b.Opened {
			s.open[a.ID], s.journalOf[a.ID] = a, b.Journal
		}
		for i := range b.Settled {
			s.settle(&b.Settled[i], b.Journal)
		}
		c.hub.all, s.position[b.Journal] = true, b.To
		return nil
	})
}

func (c *hubConn) Lease(_ context.Context, r budget.LeaseRequest) (l budget.Lease, err error) {
	c.hub.mu.Lock()
	slow := c.hub.slow
	c.hub.mu.Unlock()
	time.Sleep(slow)
	err = c.use(func(s *hubState) error {
		for _, n := range s.nodes {
			if r.Least > 0 && !n.stopped && n.until.After(c.hub.now()) && n.incarnation != fmt.Sprint(s.incarnation) {
				return errors.New("not every node has told what it holds")
			}
		}
		l = c.hub.deal(&r)
		return nil
	})
	c.hub.mu.Lock()
	late := c.hub.late
	c.hub.late = nil
	c.hub.mu.Unlock()
	if late != nil {
		<-late
	}
	return l, err
}

// setPeriod sets the only kind of period for which the hub has budgets.
func (h *hub) setPeriod(p budget.Period) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.period = p
}

// deal grants a lease like the database.
func (h *hub) deal(r *budget.LeaseRequest) budget.Lease {
	s, id := &h.state, r.Budget
	h.changed[id] = true
	if s.slices[id] == nil {
		s.slices[id], s.wanted[id] = map[uuid.UUID]llm.Money{}, map[uuid.UUID]time.Time{}
	}
	spent := s.spent(id, r.Journal)
	used := r.Used
	if r.Unknown {
		used = spent
	}
	var others, idle llm.Money
	contended := false
	for journal := range s.position {
		if journal == r.Journal {
			continue
		}
		if !h.ignoreOthers {
			others += h.charge(id, journal)
		}
		if n := s.nodes[journal]; !n.stopped && h.now().Sub(n.seen) < 3*time.Second {
			idle += max(0, s.slices[id][journal]-s.spent(id, journal))
		}
		contended = contended || h.now().Sub(s.wanted[id][journal]) < 2*time.Second
	}
	limit, beside := h.limits[id.Scope], budget.Budget{}
	if h.period != "" && budget.PeriodOf(id.Period) != h.period {
		limit, beside = 0, budget.Budget{Scope: id.Scope, Period: h.period, Limit: limit}
	}
	left := max(0, limit-others-used)
	granted := s.slices[id][r.Journal]
	delete(s.wanted[id], r.Journal)
	switch {
	case r.Least == 0 && r.Most == 0, limit == 0:
		granted = used
	case left < r.Least:
		granted, s.wanted[id][r.Journal] = max(granted, used), h.now()
	case contended:
		granted = max(granted, used+r.Least)
	default:
		granted = max(granted, used+max(min(left, r.Most), left/6))
	}
	excess := llm.Money(0)
	if limit > 0 {
		excess = max(0, others+granted-limit)
	}
	if excess > 0 {
		s.wanted[id][r.Journal] = h.now()
	}
	s.slices[id][r.Journal] = granted
	if _, there := s.position[r.Journal]; !there {
		s.position[r.Journal] = 0
	}
	return budget.Lease{
		Limit: limit, Beside: beside, Granted: granted, Spent: spent, At: s.position[r.Journal],
		Left: max(0, limit-others-granted), Idle: idle, Excess: excess,
	}
}

func (c *hubConn) Reconcile(_ context.Context, journal uuid.UUID) error {
	return c.use(func(s *hubState) error {
		c.hub.all = true
		for id, m := range s.slices {
			if _, has := m[journal]; has {
				m[journal] = s.spent(id, journal)
				delete(s.wanted[id], journal)
			}
		}
		return nil
	})
}

func (c *hubConn) Beat(_ context.Context, n budget.Node) (b budget.Beat, err error) {
	err = c.use(func(s *hubState) error {
		now, told := c.hub.now(), n.Incarnation
		if old, there := s.nodes[n.Journal]; told == "" && there {
			told = old.incarnation
		} else if told == "" {
			told = fmt.Sprint(s.incarnation)
		}
		s.nodes[n.Journal] = hubNode{seen: now, until: now.Add(time.Minute), incarnation: told}
		b = budget.Beat{For: time.Minute, At: s.position[n.Journal], Incarnation: fmt.Sprint(s.incarnation), Told: told}
		for _, o := range s.nodes {
			if !o.stopped && now.Sub(o.seen) < 3*time.Second {
				b.Alive++
			}
		}
		for id, m := range s.wanted {
			for journal, at := range m {
				if s.slices[id][n.Journal] > 0 && journal != n.Journal && now.Sub(at) < 2*time.Second && !slices.Contains(b.Wanted, id) {
					b.Wanted = append(b.Wanted, id)
				}
			}
		}
		return nil
	})
	return b, err
}

func (c *hubConn) Leave(ctx context.Context, journal uuid.UUID) error {
	if err := c.Reconcile(ctx, journal); err != nil {
		return err
	}
	return c.use(func(s *hubState) error {
		n := s.nodes[journal]
		n.stopped = true
		s.nodes[journal] = n
		return nil
	})
}

// save and rewind simulate an asynchronous standby that takes over: it lacks the last commits.
func (h *hub) save() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saved = h.state.clone()
}

func (h *hub) rewind() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.saved == nil {
		return
	}
	incarnation := h.state.incarnation + 1
	h.state = *h.saved.clone()
	h.state.incarnation = incarnation
	h.saved, h.all = nil, true
}

func (h *hub) setDown(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

// setSlow sets the duration of leases.
func (h *hub) setSlow(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow = d
}

// setLimit changes the budget of the account.
func (h *hub) setLimit(limit llm.Money) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits[fleetAccount], h.all = limit, true
}

// ofUsers returns the cost of each end user's attempts.
func (h *hub) ofUsers() map[string]llm.Money {
	h.mu.Lock()
	defer h.mu.Unlock()
	sums := map[string]llm.Money{}
	for _, e := range h.state.rows {
		sums[e.Attribution.User] += e.Cost
	}
	return sums
}

// total returns the cost of all attempts.
func (h *hub) total() (sum llm.Money, open int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.state.rows {
		sum += e.Cost
	}
	return sum, len(h.state.open)
}
