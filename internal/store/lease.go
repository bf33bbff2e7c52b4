package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// Leases stores the budget leases, and the nodes that have them.
type Leases struct{ *conn }

// errUnsettled means that the database lost commits recently, and that not all nodes have reported since which
// amounts they hold.
var errUnsettled = errors.New(
	"the database failed over or was restored, and not every node has reported its budget leases since:" +
		" try again shortly")

// heardFor is how long after a change of a budget all nodes know of it and have reported their amounts in use:
// account.Service checks for changes four times a second, and a node sends heartbeats as often.
const heardFor = 1200 * time.Millisecond

// noteBudget records that a budget or credit of the scope, or of a part of it, has changed.
func (s *conn) noteBudget(ctx context.Context, tx *sql.Tx, scope string) error {
	now, err := s.clock.read(ctx, tx)
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO budget_changes (scope, at) VALUES (?, ?)"+
			" ON CONFLICT (scope) DO UPDATE SET at = excluded.at", scope, now)
	}
	return err
}

// isChanging reports whether a budget changed so recently that another node may not have reported its amounts in use,
// which count in the new period too.
func (s *Leases) isChanging(ctx context.Context, tx *sql.Tx, scope string, sh *shares) (bool, error) {
	if sh.alive <= 1 {
		return false, nil
	}
	var n int64
	owner, _, _ := budget.PartOf(scope)
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM budget_changes WHERE scope = ? AND at > ?", owner,
		sh.now-heardFor.Microseconds()).Scan(&n)
	return n > 0, err
}

// wantedFor is how long other nodes see that a node wants more.
const wantedFor = 2 * time.Second

// Lease changes the lease that a journal's node has of a budget: see budget.Leases. The amount that all nodes may
// spend is the sum over journals of the larger of the grant and the spending, plus the spending that belongs to no
// journal.
func (s *Leases) Lease(ctx context.Context, r budget.LeaseRequest) (l budget.Lease, err error) {
	err = s.writeLease(ctx, "lease "+r.Budget.Scope, func(tx *sql.Tx) error {
		if err := s.lockBudget(ctx, tx, r.Budget); err != nil {
			return err
		}
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		if !r.GivesBack() {
			if err := s.checkSettled(ctx, tx, now); err != nil {
				return err
			}
		}
		l.Limit, l.Beside, err = budgetLimit(ctx, tx, r.Budget)
		if err != nil {
			return err
		}
		shares, err := s.shares(ctx, tx, r, now)
		if err != nil {
			return err
		}
		if l.Changing, err = s.isChanging(ctx, tx, r.Budget.Scope, shares); err != nil {
			return err
		}
		return shares.deal(ctx, tx, &r, &l)
	})
	return l, err
}

// writeLease runs fn in a transaction. If only this node uses the database, a power cut may lose a lease: the node's
// next start reconciles it.
func (s *Leases) writeLease(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	if s.engine.shared {
		return s.write(ctx, s.sure, doing, fn)
	}
	return s.writeFast(ctx, doing, fn)
}

// lockBudget prevents concurrent leases of the same budget.
func (s *Leases) lockBudget(ctx context.Context, tx *sql.Tx, b budget.ID) error {
	return s.lock(ctx, tx, fmt.Sprintf("budget %s %d", b.Scope, b.Period))
}

// checkSettled returns an error while the database may have lost commits and a live node has not reported since which
// amounts it holds.
func (s *Leases) checkSettled(ctx context.Context, tx *sql.Tx, now int64) error {
	if s.engine.incarnation == nil {
		return nil
	}
	current, err := s.engine.incarnation(ctx, tx)
	if err != nil {
		return err
	}
	var behind int64
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM nodes WHERE until > ? AND stopped IS NULL AND incarnation <> ?",
		now, current).Scan(&behind)
	if err == nil && behind > 0 {
		err = errUnsettled
	}
	return err
}

// budgetLimit returns the limit of a scope in a period, 0 for none, and its budget of another period.
func budgetLimit(ctx context.Context, q querier, b budget.ID) (limit llm.Money, beside budget.Budget, err error) {
	var (
		set          budget.Budget
		credit, from sql.NullInt64
	)
	if owner, part, ok := budget.PartOf(b.Scope); ok {
		if set, err = partBudget(ctx, q, owner, part); err != nil {
			return 0, beside, fmt.Errorf("read budget: %w", err)
		}
		limit, beside = inPeriod(b, set)
		return limit, beside, nil
	}
	err = q.QueryRowContext(ctx, "SELECT budget, budget_period, credit, credit_from FROM accounts WHERE id = ?"+
		" UNION ALL SELECT budget, budget_period, NULL, 0 FROM keys WHERE id = ?", b.Scope, b.Scope).Scan(&set.Limit,
		&set.Period, &credit, &from)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, beside, nil
	}
	if err != nil {
		return 0, beside, fmt.Errorf("read budget: %w", err)
	}
	total := budget.Budget{Period: budget.PeriodTotal}
	if credit.Valid {
		total.Limit = max(1, llm.Money(credit.Int64+from.Int64)) // used up credit is a limit too
	}
	limit, beside = inPeriod(b, set, total)
	return limit, beside, nil
}

// inPeriod returns the lowest limit of the budgets for a period, 0 for none, and the first budget for another period.
func inPeriod(b budget.ID, all ...budget.Budget) (limit llm.Money, beside budget.Budget) {
	for _, one := range all {
		switch {
		case one.Limit == 0:
		case one.Period != budget.PeriodOf(b.Period):
			if beside.Limit == 0 {
				beside = budget.Budget{Scope: b.Scope, Period: one.Period, Limit: one.Limit}
			}
		case limit == 0 || one.Limit < limit:
			limit = one.Limit
		}
	}
	return limit, beside
}

// shares holds the nodes' leases of a budget.
type shares struct {
	own     int64 // this journal's number
	alive   int64 // number of live nodes
	spent   llm.Money
	granted llm.Money
	there   bool // whether the row of the grant exists
	at      ledger.Position
	others  llm.Money // the most that all other nodes may spend
	idle    llm.Money // the unspent amount of the other live nodes' leases
	wanted  bool      // another node recently found too little left
	now     int64
}

// shares reads the spending and the grant of each journal, in one statement and so as of one moment.
func (s *Leases) shares(ctx context.Context, tx *sql.Tx, r budget.LeaseRequest, now int64) (*shares, error) {
	sh := &shares{now: now, alive: 1}
	var err error
	if sh.own, err = journalNumber(ctx, tx, r.Journal); err != nil {
		return nil, err
	}
	if s.engine.shared {
		if sh.alive, err = countAlive(ctx, tx, now); err != nil {
			return nil, err
		}
	}
	first, last := budget.DaysOf(r.Budget.Period)
	rows, err := tx.QueryContext(ctx, "SELECT b.journal, sum(b.spent), sum(b.granted), max(b.wanted), max(b.there),"+
		" (SELECT position FROM journals WHERE number = ?),"+
		" (SELECT count(*) FROM nodes n WHERE n.journal = b.journal AND n.seen > ? AND n.stopped IS NULL)"+
		" FROM (SELECT journal, spent, 0 AS granted, 0 AS wanted, 0 AS there FROM balances WHERE scope = ?"+
		" AND day BETWEEN ? AND ?"+
		" UNION ALL SELECT journal, 0, granted, wanted, 1 FROM slices WHERE scope = ? AND period = ?"+
		" UNION ALL SELECT number, 0, 0, 0, 0 FROM journals WHERE number = ?) AS b GROUP BY b.journal",
		sh.own, now-aliveFor.Microseconds(), r.Budget.Scope, first, last, r.Budget.Scope, r.Budget.Period, sh.own)
	err = each(rows, err, scanShare(&sh.at), func(one *share) error {
		sh.add(one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read slices: %w", err)
	}
	return sh, nil
}

// share holds one journal's lease and spending of a budget.
type share struct {
	journal, wanted int64
	spent, granted  llm.Money
	there, alive    bool
}

func scanShare(at *ledger.Position) func(scanner) (share, error) {
	return func(row scanner) (s share, err error) {
		return s, row.Scan(&s.journal, &s.spent, &s.granted, &s.wanted, &s.there, at, &s.alive)
	}
}

func (sh *shares) add(one *share) {
	switch one.journal {
	case sh.own:
		sh.spent, sh.granted, sh.there = one.spent, one.granted, one.there
		return
	case noJournal: // it has no leases; corrections may be negative
		sh.others += one.spent
		return
	}
	sh.others += max(one.spent, one.granted)
	if one.alive {
		sh.idle += max(0, one.granted-one.spent)
	}
	sh.wanted = sh.wanted || one.wanted > sh.now-wantedFor.Microseconds()
}

// noJournal is the number of balances that belong to no journal.
const noJournal = 0

// deal decides how much the node may spend, and writes it. A request for more never reduces the lease, so that the
// node may continue to spend while it waits for the answer.
func (sh *shares) deal(ctx context.Context, tx *sql.Tx, r *budget.LeaseRequest, l *budget.Lease) error {
	used := r.Used
	if r.Unknown {
		used = sh.spent
	}
	l.Spent, l.At, l.Idle = sh.spent, sh.at, sh.idle
	granted, wanted := sh.granted, int64(0)
	left := max(0, l.Limit-sh.others-used)
	switch {
	case r.GivesBack(), l.Limit == 0:
		granted = used
	case left < r.Least, l.Changing:
		granted, wanted = max(granted, used), sh.now
	default:
		granted = max(granted, used+sh.portion(r, left))
	}
	l.Granted = granted
	l.Left = max(0, l.Limit-sh.others-granted)
	if l.Limit > 0 {
		l.Excess = max(0, sh.others+granted-l.Limit)
	}
	if l.Excess > 0 {
		wanted = sh.now // of what other nodes do not use
	}
	if sh.idle == 0 {
		wanted = 0 // no other node can return anything
	}
	return sh.write(ctx, tx, r.Budget, granted, wanted)
}

// write writes the node's grant. A grant of no more than the spending needs no row, because the balances have it.
// Otherwise a client that invents end users, each with a budget, would cause a row for each refused request.
func (sh *shares) write(ctx context.Context, tx *sql.Tx, b budget.ID, granted llm.Money, wanted int64) (err error) {
	switch {
	case granted > sh.spent || wanted > 0:
		_, err = tx.ExecContext(ctx, "INSERT INTO slices (scope, period, journal, granted, wanted)"+
			" VALUES (?, ?, ?, ?, ?)"+
			" ON CONFLICT (scope, period, journal) DO UPDATE SET granted = excluded.granted, wanted = excluded.wanted",
			b.Scope, b.Period, sh.own, int64(granted), wanted)
	case sh.there:
		_, err = tx.ExecContext(ctx, "DELETE FROM slices WHERE scope = ? AND period = ? AND journal = ?", b.Scope,
			b.Period, sh.own)
	}
	return err
}

// portion returns how much of the rest a node gets: all of it if it is the only node, else a fraction that leaves as
// much to the others. While another node wants more, it gets only what it needs.
func (sh *shares) portion(r *budget.LeaseRequest, left llm.Money) llm.Money {
	most := min(left, r.Most)
	switch {
	case sh.alive <= 1:
		return left
	case sh.wanted:
		return r.Least
	}
	return max(most, left/llm.Money(2*sh.alive))
}

// journalNumber returns the number of a journal. If it has none, it gets one.
func journalNumber(ctx context.Context, tx *sql.Tx, journal uuid.UUID) (number int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT number FROM journals WHERE journal = ?", journal.String()).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, "INSERT INTO journals (journal, position) VALUES (?, 0)"+
			" ON CONFLICT (journal) DO UPDATE SET position = journals.position RETURNING number",
			journal.String()).Scan(&number)
	}
	if err != nil {
		return 0, fmt.Errorf("read journal number: %w", err)
	}
	return number, nil
}

// Reconcile takes back the leases that earlier starts of the journal's node had and did not spend. It works in
// portions; if ctx ends first, the next call continues.
func (s *Leases) Reconcile(ctx context.Context, journal uuid.UUID) error {
	for more := true; more; {
		err := s.writeLease(ctx, "reconcile slices", func(tx *sql.Tx) error {
			number, err := journalNumber(ctx, tx, journal)
			if err == nil {
				more, err = s.reconcile(ctx, tx, number)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reconcile deletes at most retainRows leases of a journal, and reports whether there are more. The balances have
// what was spent. No other transaction deletes meanwhile.
func (s *Leases) reconcile(ctx context.Context, tx *sql.Tx, number int64) (more bool, err error) {
	if err := s.lock(ctx, tx, "deletion"); err != nil {
		return false, err
	}
	leases := leftover{table: "slices", key: "scope, period, journal", where: "journal = ?", args: []any{number}}
	if more, err = leases.deleteSome(ctx, tx); err != nil {
		return false, fmt.Errorf("reconcile slices: %w", err)
	}
	return more, nil
}

// spentOf returns an SQL expression for the amount that the journal of a lease, a row of that name, has spent of it.
// Its arguments are budget.FirstDayNumber, lastDay and budget.FirstDayNumber.
func spentOf(slice string) string {
	const expression = "coalesce((SELECT sum(b.spent) FROM balances b" +
		" WHERE b.scope = o.scope AND b.journal = o.journal AND b.day BETWEEN" +
		" CASE WHEN o.period = 0 THEN 0 WHEN o.period < ? THEN o.period * 100 ELSE o.period END AND" +
		" CASE WHEN o.period = 0 THEN ? WHEN o.period < ? THEN o.period * 100 + 99 ELSE o.period END), 0)"
	return strings.ReplaceAll(expression, "o.", slice+".")
}

// RetainBudgets deletes budget leases that are fully spent or belong to a past period.
func (s *Leases) RetainBudgets(ctx context.Context) error {
	// Attempts of yesterday or of last month may still be in progress.
	now := s.clock.now().UTC()
	day, month := budget.PeriodDay.Number(now.AddDate(0, 0, -2)), budget.PeriodMonth.Number(now.AddDate(0, -2, 0))
	var errs []error
	for _, old := range []leftover{
		{
			table: "slices", key: "scope", args: []any{month, budget.FirstDayNumber, budget.FirstDayNumber, day},
			where: "period > 0 AND (period < ? AND period < ? OR period >= ? AND period < ?)",
		},
		{
			table: "slices", key: "scope", where: "wanted < ? AND granted <= " + spentOf("slices"),
			args: []any{micros(now.Add(-wantedFor)), budget.FirstDayNumber, lastDay, budget.FirstDayNumber},
		},
	} {
		if err := s.clear(ctx, &old); err != nil {
			errs = append(errs, fmt.Errorf("forget old slices: %w", err))
		}
	}
	return errors.Join(append(errs, s.forgetParts(ctx, now))...)
}
