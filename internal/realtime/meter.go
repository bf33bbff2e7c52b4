package realtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/telemetry"
	"weir/internal/websocket"
)

// meter reserves, opens and settles the attempts of a session.
type meter struct {
	server *Server
	id     uuid.UUID
	began  time.Time
	hash   account.Hash // of the client's key
	about  llm.Attribution
	table  *route.Table
	target *route.Target
	asked  string // the model's name as the client wrote it
	price  llm.Price
	terms  *charge.Terms
	lost   bool // the provider has ended the session; known when the rest is settled

	mu        sync.Mutex
	who       *account.Principal
	attempts  int64     // opened so far
	numbered  int64     // ids of events so far
	settled   int64     // responses
	active    time.Time // of the last opening or settlement
	spent     llm.Money // charged so far
	uncertain bool      // a part of spent is not known
}

// principal returns the caller.
func (m *meter) principal() *account.Principal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.who
}

// check checks the key again, which may have been revoked, and takes its current limits and budgets.
func (m *meter) check(ctx context.Context) error {
	who, err := m.server.authenticateHash(ctx, m.hash)
	if err == nil {
		err = mayUse(who, m.asked, m.target)
	}
	if e := llm.AsError(err); err != nil && (e.Code == llm.CodeOverloaded || ctx.Err() != nil) {
		return nil // the key cannot be checked right now
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.who = who
	return nil
}

// number returns an id for an event, unique in the session.
func (m *meter) number(prefix string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbered++
	return fmt.Sprintf("%s_%s_%d", prefix, m.id.String()[24:], m.numbered)
}

// nextID returns the id of the session's next attempt.
func (m *meter) nextID() uuid.UUID {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts++
	m.active = m.server.now()
	return m.server.o.Ledger.NewIDOf(m.id, m.attempts)
}

// limit reserves one request in the limits of the caller.
func (m *meter) limit(ctx context.Context, r *ratelimit.Reservation, tokens int64) error {
	who := m.principal()
	caller := ratelimit.CallerOf(who)
	caller.Parts = who.PartLimits(&m.about)
	return m.server.o.Limits.Reserve(ctx, r, caller, tokens)
}

// opening describes an attempt to open.
type opening struct {
	quote.Turn
	model  string // the provider's name
	always bool   // open it even if the budgets have no room
	free   bool   // it is a part of what the session's minutes cost
}

// open reserves the turn in the caller's budgets and opens its attempt in the ledger. It returns the output cap to set,
// 0 for none. If the attempt was opened although the budgets have no room, the error is that of the budgets.
func (m *meter) open(ctx context.Context, o *opening) (h *ledger.Hold, limit int64, err error) {
	who, now := m.principal(), m.server.now()
	demand := o.Demand()
	output := o.Most
	var reservation *budget.Reservation
	_, most := demand.Amounts()
	if budgets := who.Budgets(&m.about); len(budgets) > 0 && (most > 1 || !o.free) {
		if reservation, err = m.reserve(ctx, &demand, o.model, budgets, now); err == nil {
			limit, _ = demand.CapFor(reservation.Amount())
			output = limit
		} else if !o.always {
			return nil, 0, err
		}
	}
	a := ledger.Attempt{
		ID: ledger.AttemptID{Request: m.nextID(), N: 1}, Account: who.Account().ID, Key: who.Key().ID,
		Requested: m.asked, Provider: m.target.Provider.Name(), Model: o.model, Region: m.target.Provider.ServesIn(),
		Opened: m.server.now(), Arrived: now, Stream: true, Attribution: m.about, Parts: who.Parts(&m.about),
		Price: demand.Price, Terms: o.Terms, Reservation: reservation, Bound: demand.Granted(output, 0),
	}
	a.Hold = min(llm.MaxCost, a.Price.BoundAsked(&a.Bound, ""))
	if a.Terms != nil {
		a.ChargeHold = a.Terms.Bound(a.Hold, &a.Price, &a.Bound, "")
	}
	h, failed := m.server.o.Ledger.Open(a)
	if failed != nil {
		return nil, 0, failed
	}
	return h, limit, err
}

func (m *meter) reserve(ctx context.Context, demand *quote.Demand, model string, budgets []budget.Budget,
	now time.Time,
) (*budget.Reservation, error) {
	if err := demand.Refusal(m.target.Provider.Name() + "/" + model); err != nil {
		return nil, err
	}
	who := m.principal()
	need := ledger.Need{Need: budget.Need{
		Account: who.Account().ID, Key: who.Key().ID, Budgets: budgets, At: now,
	}}
	need.Least, need.Most = demand.Amounts()
	return m.server.o.Ledger.Reserve(ctx, need)
}

// settle settles an attempt, and adds its charge to the session's.
func (m *meter) settle(h *ledger.Hold, st ledger.Settlement) {
	cost, _ := h.Settle(st)
	who := m.principal()
	caller := telemetry.Caller{Account: who.Account().Name, Key: who.Key().ID, KeyLabel: who.Key().Label}
	m.server.o.Metrics.Attempt(telemetry.Ended{Attempt: h.Attempt(), Caller: caller}, &st, cost)
	m.judge(h.Attempt(), &st)
	m.mu.Lock()
	defer m.mu.Unlock()
	if charge := h.Charge(); charge != nil {
		m.spent += *charge
	}
	m.active = m.server.now()
	m.uncertain = m.uncertain || h.Charge() == nil || st.Provenance != ledger.Exact
}

// judge records the end of an attempt in the health of its target. An event of the client may have caused a failure, so
// it counts for the account alone until another has the same one.
func (m *meter) judge(a *ledger.Attempt, st *ledger.Settlement) {
	target, now := *m.target, m.server.o.Ledger.Now()
	target.Model = a.Model // transcripts have a model of their own
	plan := route.Follow(m.table, a.Account, &target, now)
	switch {
	case st.Outcome == ledger.OutcomeOK:
		plan.Succeeded(now, st.FirstToken)
	case st.Outcome == ledger.OutcomeFailed:
		plan.Failed(provider.Aborted(), now)
	case st.Outcome == ledger.OutcomeCut && m.lost:
		plan.Failed(provider.SessionEnded(), now)
	}
}

// state describes the session with that many running responses.
func (m *meter) state(api string, running int64) websocket.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return websocket.State{
		API: api, Account: m.who.Account().ID, Key: m.who.Key().ID, Model: m.asked, Began: m.began,
		Active: m.active, Requests: m.settled, Running: running, Charge: m.spent, Uncertain: m.uncertain,
	}
}

// turn returns a response of the session that reads and writes at most that many tokens.
func (m *meter) turn(reads, least, most int64) *opening {
	return &opening{model: m.target.Model, Turn: quote.Turn{
		Price: m.price, Terms: m.terms, Least: least, Most: most, Modalities: soundClasses(),
		Fixed: llm.Usage{llm.Input: reads, llm.Requests: 1},
	}}
}

// mostOutput returns the most output tokens of a response without a cap.
func (m *meter) mostOutput() int64 {
	most, known := m.table.MaxOutput(m.target)
	if !known || most == m.table.Context(m.target) { // the price data has only the context window
		return mostOutput
	}
	return most
}
