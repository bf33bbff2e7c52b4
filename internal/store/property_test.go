package store_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/promptcache"
	"weir/internal/report"
	"weir/internal/store"
)

// TestRollupsMatchModel applies random journals, restores old copies of the database and replays, resolves, retains;
// the reports always equal those of a naive model, and verify finds nothing.
func TestRollupsMatchModel(t *testing.T) {
	t.Parallel()
	everywhere(t, testRollupsMatchModel)
}

func testRollupsMatchModel(t *testing.T, o store.Options) {
	var now atomic.Int64 // microseconds
	o.Clock = func() time.Time { return time.UnixMicro(now.Load()) }
	must.Do(t, open(t, o).Close())
	backup := newBackup(t, o)
	runs, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		// A tenth of the runs is enough, and half of that on a server: make soak makes thousands.
		some := 10
		if backup.live {
			some = 20
		}
		if runs++; !failed && runs%some != 0 {
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		m := &machine{options: o, now: &now, backup: backup, model: newModel()}
		m.inDecember = func() { // a read occurs
			tamper(t, o, "INSERT INTO attributed_days (day, state, upto, claimed) VALUES (20261201, 0, '', 0) ON CONFLICT (day) DO NOTHING")
		}
		now.Store(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
		backup.clear(rt)
		m.open(rt)
		defer func() { m.store.Close() }()
		m.tapes[0].journal, m.tapes[1].journal = uuid.UUID{1}, uuid.UUID{2}
		rt.Repeat(map[string]func(*rapid.T){
			"apply":    m.apply,
			"repeat":   m.repeat,
			"resolve":  m.resolve,
			"older":    m.older,
			"correct":  m.correct,
			"retain":   m.retain,
			"forget":   m.forget,
			"add up":   m.attribute,
			"reopen":   func(rt *rapid.T) { m.close(rt); m.open(rt) },
			"snapshot": m.snapshot,
			"restore":  m.restore,
			"unpack":   m.unpack,
			"pack":     m.pack,
			"check":    m.check,
		})
		m.check(rt)
	})
}

// model is a naive ledger.
type model struct {
	open     map[ledger.AttemptID]int // to the journal
	attempts map[ledger.AttemptID]ledger.Entry
	settled  []ledger.AttemptID
	// corrected holds the deltas of corrected attempts, which no journal has; Outcome is not empty if the cost of the
	// attempt was decided, and Counts says the same of its unpriced part.
	corrected map[ledger.AttemptID]ledger.Settlement
	// corrections holds the same as the ledger's corrections.
	corrections map[ledger.AttemptID][]ledger.Correction
}

func newModel() model {
	return model{
		open: map[ledger.AttemptID]int{}, attempts: map[ledger.AttemptID]ledger.Entry{},
		corrected: map[ledger.AttemptID]ledger.Settlement{}, corrections: map[ledger.AttemptID][]ledger.Correction{},
	}
}

type machine struct {
	options store.Options
	now     *atomic.Int64
	backup  backup
	store   *store.DB
	// inDecember has November be over, for every node.
	inDecember func()
	model
	tapes [2]struct {
		journal uuid.UUID
		batches []*ledger.Batch
	}
	drawn     int  // attempts so far
	retained  bool // rows may be deleted
	saved     bool // there is a copy of the database
	savedRows map[ledger.AttemptID]ledger.Settlement
	savedMade map[ledger.AttemptID][]ledger.Correction
}

func (m *machine) open(rt *rapid.T) {
	s, err := store.Open(rt.Context(), m.options)
	if err != nil {
		rt.Fatalf("open: %v", err)
	}
	m.store = s
}

func (m *machine) close(rt *rapid.T) {
	if err := m.store.Close(); err != nil {
		rt.Fatalf("close: %v", err)
	}
}

func drawUsage(rt *rapid.T, name string) (u llm.Usage) {
	for range rapid.IntRange(0, 4).Draw(rt, name) {
		u[rapid.IntRange(0, llm.NumClasses-1).Draw(rt, "class")] = rapid.Int64Range(0, 5000).Draw(rt, "count")
	}
	return u
}

func (m *machine) drawAttempt(rt *rapid.T) ledger.Attempt {
	m.drawn++
	a := ledger.Attempt{
		ID:      ledger.AttemptID{Request: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, m.drawn)), N: rapid.Uint16Range(1, 3).Draw(rt, "n")},
		Account: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "account"), Key: rapid.SampledFrom([]string{"k", "l"}).Draw(rt, "key"),
		Provider: rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "provider"), Model: rapid.SampledFrom([]string{"m", "n/o"}).Draw(rt, "model"), Requested: "x",
		Arrived: time.Date(2026, 11, 19, 0, 0, rapid.IntRange(0, 3*86400).Draw(rt, "second"), 0, time.UTC),
		Bound:   drawUsage(rt, "bound"),

		Attribution: llm.Attribution{User: rapid.SampledFrom([]string{"", "u", "Ü, \"x\""}).Draw(rt, "user")},
	}
	for _, name := range []string{"a", "b c"} {
		if value := rapid.SampledFrom([]string{"", "1", "ü=,\n"}).Draw(rt, "tag"); value != "" {
			a.Attribution.Tags = append(a.Attribution.Tags, llm.Tag{Name: name, Value: value})
		}
	}
	binary.BigEndian.PutUint64(a.ID.Request[:], uint64(a.Arrived.UnixMilli())<<16|0x7000) // as ledger.NewID does
	a.Parts = drawParts(rt, &a)
	a.Opened = a.Arrived.Add(time.Duration(rapid.IntRange(0, 90_000).Draw(rt, "waited")) * time.Millisecond)
	if rapid.Bool().Draw(rt, "priced") {
		a.Price = llm.Price{Version: "v1", Rates: llm.Rates{llm.Input: 150_000, llm.Output: 600_000, llm.Searches: 10_000_000_000}}
		a.Hold = a.Price.Cost(&a.Bound, "") + 5
	}
	drawTerms(rt, &a)
	return a
}

func drawSettlement(rt *rapid.T, a *ledger.Attempt) ledger.Settlement {
	s := ledger.Settlement{
		Outcome:    rapid.SampledFrom([]ledger.Outcome{ledger.OutcomeOK, ledger.OutcomeCut, ledger.OutcomeClientGone, ledger.OutcomeUnknown}).Draw(rt, "outcome"),
		Provenance: rapid.SampledFrom([]ledger.Provenance{ledger.Exact, ledger.Estimated}).Draw(rt, "provenance"),
		Counts:     rapid.Bool().Draw(rt, "counts"), Usage: drawUsage(rt, "usage"),
		FirstToken: time.Duration(rapid.Int64Range(0, 3).Draw(rt, "first token")) * 30 * time.Millisecond,
	}
	s.Cost, s.Unpriced = a.Price.Cost(&s.Usage, ""), a.Price.Unpriced(&s.Usage, "")
	if s.Provenance == ledger.Estimated {
		if more := rapid.Int64Range(0, 1000).Draw(rt, "more at most"); more > 0 {
			s.AtMost = s.Cost + llm.Money(more)
		}
	} else if s.Unpriced != 0 && a.Hold > s.Cost {
		s.AtMost = a.Hold
	}
	if s.Outcome == ledger.OutcomeUnknown {
		s.Provenance, s.Usage, s.Cost, s.AtMost, s.FirstToken = ledger.Unknown, a.Bound, a.Hold, a.Hold, 0
		s.Unpriced = a.Price.Unpriced(&s.Usage, "")
	}
	a.SetCharge(&s)
	if causes := promptcache.Causes(); s.Provenance == ledger.Exact && !isOld(a.ID) && rapid.Bool().Draw(rt, "missed") {
		s.Missed.Miss = promptcache.Miss{Tokens: rapid.Int64Range(1, 3).Draw(rt, "missed tokens"), Cause: rapid.SampledFrom(causes[:]).Draw(rt, "cause")}
		s.Missed.Cost = llm.Money(rapid.Int64Range(0, 5).Draw(rt, "missed cost"))
	}
	return s
}

// apply journals and applies a batch: opens some attempts, settles some that
// are open and some that were opened in the same batch.
func (m *machine) apply(rt *rapid.T) {
	which := rapid.IntRange(0, 1).Draw(rt, "journal")
	tape := &m.tapes[which]
	b := &ledger.Batch{Journal: tape.journal, Prices: []ledger.PriceRecord{{
		Version: "v1", Rates: llm.Rates{llm.Input: 150_000, llm.Output: 600_000, llm.Searches: 10_000_000_000},
	}, {Version: ownPrice().Version, Rates: ownPrice().Rates}}}
	if n := len(tape.batches); n > 0 {
		b.From = tape.batches[n-1].To
	}
	b.To = b.From + ledger.Position(rapid.IntRange(1, 9).Draw(rt, "bytes"))
	for _, id := range slices.SortedFunc(maps.Keys(m.model.open), compareIDs) {
		if m.model.open[id] == which && rapid.Bool().Draw(rt, "settle") {
			m.settle(rt, b, m.attempts[id].Attempt)
		}
	}
	for range rapid.IntRange(0, 5).Draw(rt, "new") {
		a := m.drawAttempt(rt)
		if rapid.Bool().Draw(rt, "settled at once") {
			m.settle(rt, b, a)
			continue
		}
		b.Opened = append(b.Opened, a)
		m.model.open[a.ID], m.attempts[a.ID] = which, ledger.Entry{Attempt: a}
	}
	tape.batches = append(tape.batches, b)
	if err := m.store.Ledger.Apply(rt.Context(), b); err != nil {
		rt.Fatalf("apply: %v", err)
	}
}

func compareIDs(a, b ledger.AttemptID) int {
	return cmp.Or(slices.Compare(a.Request[:], b.Request[:]), cmp.Compare(a.N, b.N))
}

func (m *machine) settle(rt *rapid.T, b *ledger.Batch, a ledger.Attempt) {
	e := ledger.Entry{Attempt: a, Settlement: drawSettlement(rt, &a)}
	b.Settled = append(b.Settled, e)
	delete(m.model.open, a.ID)
	m.attempts[a.ID] = e
	m.settled = append(m.settled, a.ID)
}

// repeat applies a batch that is applied.
func (m *machine) repeat(rt *rapid.T) {
	tape := &m.tapes[rapid.IntRange(0, 1).Draw(rt, "journal")]
	if len(tape.batches) == 0 {
		return
	}
	err := m.store.Ledger.Apply(rt.Context(), rapid.SampledFrom(tape.batches).Draw(rt, "batch"))
	if !errors.Is(err, ledger.ErrMoved) {
		rt.Fatalf("apply again: got %v, want ErrMoved", err)
	}
}

func (m *machine) resolve(rt *rapid.T) {
	if len(m.settled) == 0 {
		return
	}
	e := m.attempts[rapid.SampledFrom(m.settled).Draw(rt, "attempt")]
	release, cost := rapid.Bool().Draw(rt, "release"), llm.Money(rapid.Int64Range(0, 100).Draw(rt, "cost"))
	err := m.store.Corrections.Resolve(rt.Context(), audit.Gateway(), e.ID, cost, release)
	before := m.corrected[e.ID].Outcome != ""
	_, kept, ferr := m.store.Reports.Attempt(rt.Context(), e.ID)
	switch {
	case ferr != nil:
		rt.Fatal(ferr)
	case !kept || before || !isUnresolved(&e):
		if err == nil {
			rt.Fatalf("resolve %s: got no error; stored %v, resolved before %v, %s", e.ID, kept, before, e.Provenance)
		}
		return
	case err != nil:
		rt.Fatalf("resolve: %v", err)
	}
	m.decided(&e, cost, release, nil)
}

// isUnresolved reports whether the cost or the charge of a settled attempt is unknown.
func isUnresolved(e *ledger.Entry) bool {
	return e.Provenance == ledger.Unknown || e.MostCost() > e.Cost || e.Charged() > e.Charge()
}

// decided sets the final cost of an attempt in the model: by a rule, or by hand if it is nil.
func (m *machine) decided(e *ledger.Entry, cost llm.Money, release bool, rule *ledger.Rule) {
	delta := ledger.Settlement{Outcome: "resolved", Cost: cost - e.Cost, AtMost: e.Cost - e.MostCost()}
	delta.Counts = m.corrected[e.ID].Counts || rule == nil || release
	if release {
		delta.Cost = -e.Cost
		for c, n := range e.Usage {
			delta.Usage[c] = -n
		}
	}
	m.corrected[e.ID] = delta
	m.made(e, func(a *ledger.Row) ledger.Correction {
		switch {
		case rule != nil:
			return rule.Resolve(a)
		case release:
			return a.Release()
		}
		return a.ResolveAt(cost)
	})
}

// correct adds an amount to the cost of an attempt, which the store may refuse.
func (m *machine) correct(rt *rapid.T) {
	if len(m.settled) == 0 {
		return
	}
	e := m.attempts[rapid.SampledFrom(m.settled).Draw(rt, "attempt")]
	delta := m.corrected[e.ID]
	cost := e.Cost + delta.Cost
	amount := llm.Money(rapid.Int64Range(-int64(cost)-2, 100).Draw(rt, "amount"))
	err := m.store.Corrections.Correct(rt.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: amount, Reason: "x"})
	_, kept, ferr := m.store.Reports.Attempt(rt.Context(), e.ID)
	if ferr != nil {
		rt.Fatal(ferr)
	}
	ofCost, ofCharge := m.marks(&e)
	if possible := kept && (amount != 0 || ofCost || ofCharge) && cost+amount >= 0; possible != (err == nil) {
		rt.Fatalf("correct %s, with a cost of %s, by %s: got %v", e.ID, cost, amount, err)
	}
	if err == nil {
		delta.Cost += amount
		delta.Counts = true
		if (ofCost || ofCharge) && e.Provenance == ledger.Exact {
			delta.AtMost, delta.Outcome = e.Cost-e.MostCost(), "resolved"
		}
		m.corrected[e.ID] = delta
		m.made(&e, func(a *ledger.Row) ledger.Correction {
			ask := ledger.Correct{Amount: amount, Reason: "x"}
			c, err := ask.Correction(a)
			if err != nil {
				rt.Fatal(err)
			}
			return c
		})
	}
}

// isOld reports whether a row may be written as earlier versions did, which knew no misses.
func isOld(id ledger.AttemptID) bool { return id.Request[15]&1 == 0 }

// unpack writes some rows as earlier versions did.
func (m *machine) unpack(rt *rapid.T) {
	first := rapid.Byte().Draw(rt, "first byte of the ids")
	err := m.store.Ledger.UnpackRows(rt.Context(), func(id ledger.AttemptID) bool { return id.Request[0] <= first && isOld(id) })
	if err != nil {
		rt.Fatalf("unpack: %v", err)
	}
}

// pack packs the rows that are settled.
func (m *machine) pack(rt *rapid.T) {
	if _, err := m.store.Ledger.PackAttempts(rt.Context()); err != nil {
		rt.Fatalf("pack: %v", err)
	}
	if _, old, err := m.store.Ledger.Rows(rt.Context()); err != nil || old > int64(len(m.model.open)) {
		rt.Fatalf("got %d rows that are not packed, %v; want at most the %d open ones", old, err, len(m.model.open))
	}
}

// older resolves all unresolved attempts of an account that were opened before a time.
func (m *machine) older(rt *rapid.T) {
	q := ledger.ResolveQuery{
		Account: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "account"),
		Before:  time.Date(2026, 11, 19, rapid.IntRange(0, 80).Draw(rt, "hour"), 0, 0, 0, time.UTC),
		Rule:    rapid.SampledFrom([]ledger.Rule{ledger.RuleAtMost, ledger.RuleEstimate, ledger.RuleRelease}).Draw(rt, "rule"),
		DryRun:  rapid.Bool().Draw(rt, "dry run"),
	}
	got, err := m.store.Corrections.ResolveOlder(rt.Context(), audit.Gateway(), q, nil)
	if err != nil {
		rt.Fatalf("resolve %+v: %v", q, err)
	}
	var want ledger.Resolution
	for _, id := range m.settled {
		e, delta := m.attempts[id], m.corrected[id]
		_, kept, err := m.store.Reports.Attempt(rt.Context(), id)
		if err != nil {
			rt.Fatal(err)
		}
		cost, left := e.Cost+delta.Cost, e.MostCost()-e.Cost+delta.AtMost
		if !kept || delta.Outcome != "" || q.Account != "" && e.Account != q.Account || !e.Opened.Before(q.Before) || e.Provenance == ledger.Exact || !isUnresolved(&e) {
			continue
		}
		decided := map[ledger.Rule]llm.Money{ledger.RuleAtMost: cost + left, ledger.RuleEstimate: cost}[q.Rule]
		want.Attempts, want.Cost, want.AtMost, want.Decided = want.Attempts+1, want.Cost+cost, want.AtMost+cost+left, want.Decided+decided
		if !q.DryRun {
			m.decided(&e, decided, q.Rule == ledger.RuleRelease, &q.Rule)
		}
	}
	if got != want {
		rt.Fatalf("resolve %+v: got %+v, want %+v", q, got, want)
	}
}

func (m *machine) retain(rt *rapid.T) {
	m.now.Store(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMicro()) // when all days are over, like the deleted ones
	before := time.Date(2026, 11, rapid.IntRange(19, 22).Draw(rt, "day"), 12, 0, 0, 0, time.UTC)
	last := before.AddDate(0, 0, -rapid.IntRange(0, 2).Draw(rt, "days that unresolved rows are kept for longer"))
	m.retained = true
	if _, err := m.store.Ledger.Retain(rt.Context(), before, last, nil); err != nil {
		rt.Fatalf("retain: %v", err)
	}
}

// attribute adds up days by end user and tag, the last one so far. Later requests are added to it.
func (m *machine) attribute(rt *rapid.T) {
	m.now.Store(time.Date(2026, 11, rapid.IntRange(18, 33).Draw(rt, "today"), 12, 0, 0, 0, time.UTC).UnixMicro())
	from := time.Date(2026, 11, rapid.IntRange(18, 22).Draw(rt, "day"), 0, 0, 0, 0, time.UTC)
	if err := m.store.Attribution.Attribute(rt.Context(), from, nil); err != nil {
		rt.Fatalf("add up: %v", err)
	}
	if m.store.Now().Month() == time.December {
		m.inDecember()
	}
	err := m.store.Attribution.PackRollups(rt.Context())
	if err == nil {
		err = m.store.Attribution.PackHours(rt.Context(), rapid.Bool().Draw(rt, "check"))
	}
	if err != nil {
		rt.Fatalf("pack: %v", err)
	}
}

// forget deletes the prices that explain the days before one.
func (m *machine) forget(rt *rapid.T) {
	before := time.Date(2026, 11, rapid.IntRange(19, 22).Draw(rt, "day"), 12, 0, 0, 0, time.UTC)
	if err := m.store.Ledger.RetainExplanations(rt.Context(), before); err != nil {
		rt.Fatalf("forget: %v", err)
	}
}

// snapshot copies the database, as a backup would.
func (m *machine) snapshot(rt *rapid.T) {
	m.beside(rt, m.backup.save)
	m.saved, m.savedRows = true, maps.Clone(m.corrected)
	m.savedMade = maps.Clone(m.corrections)
}

// beside runs an operation that needs the database for itself, on engines that require it.
func (m *machine) beside(rt *rapid.T, do func(*rapid.T)) {
	if m.backup.live {
		do(rt)
		return
	}
	m.close(rt)
	do(rt)
	m.open(rt)
}

// restore restores the copy, and applies the journals from its position.
func (m *machine) restore(rt *rapid.T) {
	if !m.saved {
		return
	}
	m.beside(rt, m.backup.restore)
	m.corrected, m.corrections = maps.Clone(m.savedRows), maps.Clone(m.savedMade)
	for _, tape := range m.tapes {
		at, err := m.store.Ledger.Position(rt.Context(), tape.journal)
		if err != nil {
			rt.Fatal(err)
		}
		for _, b := range tape.batches {
			if b.From < at {
				continue
			}
			if err := m.store.Ledger.Apply(rt.Context(), b); err != nil {
				rt.Fatalf("replay: %v", err)
			}
		}
	}
}

func (m *machine) check(rt *rapid.T) {
	v, err := m.store.Ledger.Verify(rt.Context(), nil)
	if err != nil || len(v.Differences) > 0 {
		rt.Fatalf("verify: got %+v, %v; want no difference", v.Differences, err)
	}
	listed := 0
	for _, account := range []string{"a", "b"} {
		got, err := m.store.Reports.Uses(rt.Context(), report.UsesQuery{Account: account, Limit: 1000})
		if err != nil {
			rt.Fatal(err)
		}
		all := m.uses(account)
		if diff := gocmp.Diff(got, withUse(all)); diff != "" {
			rt.Fatalf("uses of %s (-got +want):\n%s", account, diff)
		}
		m.checkKeys(rt, account)
		m.checkGroups(rt, account, &got)
		m.checkSpeeds(rt, account)
		m.checkOverview(rt, account, &all)
		m.checkExplained(rt, account, &all)
		listed += m.checkRequests(rt, account)
	}
	m.checkParts(rt)
	if int64(listed) != v.Rows {
		rt.Fatalf("requests: got %d attempts, want %d", listed, v.Rows)
	}
	for which, tape := range m.tapes {
		list, err := m.store.Ledger.OpenAttempts(rt.Context(), tape.journal)
		if err != nil {
			rt.Fatal(err)
		}
		got, want := map[ledger.AttemptID]ledger.Attempt{}, map[ledger.AttemptID]ledger.Attempt{}
		for _, a := range list {
			got[a.ID] = a
		}
		for id, journal := range m.model.open {
			if journal == which {
				want[id] = m.attempts[id].Attempt
			}
		}
		if diff := gocmp.Diff(got, want); diff != "" {
			rt.Fatalf("open attempts (-got +want):\n%s", diff)
		}
	}
}

// withUse removes the entries without usage.
func withUse(page report.UsesPage) report.UsesPage {
	all := page.Uses
	page.Uses = nil
	for i := range all {
		if u := &all[i]; u.Requests != 0 || u.Usage.TotalTokens() != 0 || u.Cost != 0 || u.Uncertain != 0 || u.Margin.Margin != 0 || u.MarginUncertain != 0 {
			page.Uses = append(page.Uses, *u)
		}
	}
	page.Count, page.Total = len(page.Uses), totalsOf(page.Uses)
	return page
}

// uses adds up the model's attempts.
func (m *machine) uses(account string) report.UsesPage {
	sums := map[string]*report.Use{}
	for _, id := range m.settled {
		e := m.attempts[id]
		if e.Account != account {
			continue
		}
		date, name := e.Arrived.Format(time.DateOnly), e.FullModel()
		u := sums[date+name]
		if u == nil {
			u = &report.Use{Date: date, Model: name}
			sums[date+name] = u
		}
		m.addTo(u, &e)
	}
	page := report.UsesPage{Count: len(sums)}
	for _, u := range sums {
		page.Uses = append(page.Uses, *u)
	}
	page.Total = withUse(page).Total
	slices.SortFunc(page.Uses, func(a, b report.Use) int {
		return cmp.Or(cmp.Compare(b.Date, a.Date), cmp.Compare(a.Model, b.Model))
	})
	return page
}
