package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

// Ledger stores the attempts of all journals. It applies journals, adds corrections, verifies sums and deletes old
// rows.
type Ledger struct {
	*conn
	applier     *applier
	attribution *Attribution
	corrections *Corrections
}

// Position returns how far the journal is applied; 0 if none of it is.
func (s *Ledger) Position(ctx context.Context, journal uuid.UUID) (ledger.Position, error) {
	var pos ledger.Position
	err := s.read.QueryRowContext(ctx, "SELECT position FROM journals WHERE journal = ?", journal.String()).Scan(&pos)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read journal position: %w", err)
	}
	return pos, nil
}

// OpenAttempts returns the attempts of the journal that are not settled, with all their fields.
func (s *Ledger) OpenAttempts(ctx context.Context, journal uuid.UUID) ([]ledger.Attempt, error) {
	var number int64
	err := s.read.QueryRowContext(ctx, "SELECT number FROM journals WHERE journal = ?", journal.String()).Scan(&number)
	if isNone(err) {
		return nil, nil
	}
	var list []ledger.Attempt
	if err == nil {
		query := rowsQuery{to: rowPlace{day: lastDay + 1}, open: true, limit: exportPiece}
		err = walk(ctx, s.read, query, func(r *storedRow) error {
			if r.journal == number {
				list = append(list, r.Attempt)
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read open attempts: %w", err)
	}
	book := priceBook{}
	for i := range list {
		err := book.fillAll(ctx, s.read, &list[i])
		if errors.Is(err, errNoPrice) {
			s.log.Error("an open attempt has a price that is not in the database", "attempt", list[i].ID.String(),
				"price", list[i].Price.Version)
		} else if err != nil {
			return nil, fmt.Errorf("read open attempts: %w", err)
		}
	}
	return list, nil
}

// Durable makes everything applied so far survive a power cut: a commit on the pool sure syncs the log that contains
// all earlier commits.
func (s *Ledger) Durable(ctx context.Context) error {
	return s.write(ctx, s.sure, "make the database durable", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(
			ctx, "INSERT INTO durable (id, times) VALUES (1, 1) ON CONFLICT (id) DO UPDATE"+
				" SET times = durable.times + 1")
		return err
	})
}

// Apply writes a batch, its sums in the rollups, and the position after it, in one transaction. It returns
// ledger.ErrMoved if the database is not at the position where the batch starts, and ledger.ErrRejected if a value of
// the batch is the reason why it cannot be stored. A settlement of an attempt that is
// already settled in the database changes nothing; it is a defect, and logged.
func (s *Ledger) Apply(ctx context.Context, b *ledger.Batch) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return fmt.Errorf("apply batch: %w", err)
	}
	defer release()
	err = s.repeat(ctx, func() error {
		err := s.applier.apply(ctx, b, s.applier.settle)
		if errors.Is(err, errSettledBefore) {
			err = s.applier.apply(ctx, b, s.applier.settleEach)
		}
		return err
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, ledger.ErrMoved) {
		err = errors.Join(err, s.bulk.close())
	}
	if s.engine.rejects(err) {
		err = fmt.Errorf("%w: %w", ledger.ErrRejected, err)
	}
	return fmt.Errorf("apply batch: %w", err)
}

// errSettledBefore means that a batch settles an attempt that is already settled.
var errSettledBefore = errors.New("an attempt of the batch is settled already")

// telling is a threshold, in percent, that an event reports.
type telling struct {
	of      limited
	percent int64
}

// maxTold and maxBudgets bound how many events and budgets are remembered.
const (
	maxTold    = 1 << 16
	maxBudgets = 1 << 17
)

// applier applies batches. Its user must have the right to write.
type applier struct {
	engine *engine
	bulk   *bulk
	log    *slog.Logger
	clock  *clock
	outbox outbox
	// summed is how far sums by end user and tags may exist. sums, parts and speeds belong to the current batch, as
	// does late: its attempts that those sums may already cover.
	summed summedUpto
	sums   buckets
	late   lateOnes
	parts  balances // of parts of accounts and keys
	speeds speeds
	// told is the highest threshold of each budget that has an event in the database; telling are the thresholds that
	// get one with the current batch. They are valid for the batch of that journal that starts at that position.
	journal uuid.UUID
	at      ledger.Position
	told    map[limited]int64
	telling []telling
	// unpriced are the models that have an event about their price in the database; unpricing are those that get one
	// with the current batch.
	unpriced  map[modelDay]bool
	unpricing []modelDay
	// budgets holds the budgets of accounts and keys by id, nil for none, as of the position learnt in the feed of
	// changes.
	budgets map[string]*budgetRow
	learnt  int64

	rows                                                      rowWriter
	last                                                      lastBucket
	prices, opened, settled, questions, balances, speed, used *insertion
	byHour, byDay, uses                                       *rollup
}

// lastBucket is the bucket of the last attempt with its sums. Most attempts have the bucket of the one before.
type lastBucket struct {
	bucket
	name string // the provider's name of the model
	unix int64  // the hour, since 1970
	sums *sums
}

func newApplier(c *conn) *applier {
	return &applier{
		engine: c.engine, bulk: &c.bulk, clock: c.clock, log: c.log, outbox: c.outbox, prices: insertPrices(),
		opened: insertOpened(), settled: insertSettled(), questions: insertQuestions(), balances: insertBalances(),
		speed: insertSpeeds(), used: insertUsed(), byHour: newRollup(tableHours), byDay: newRollup(tableDays),
		uses: newRollup(tableUses),
	}
}

// settler writes settled rows and adds them to the sums for the rollups.
type settler func(ctx context.Context, journal int64, list []ledger.Entry) error

func (a *applier) apply(ctx context.Context, b *ledger.Batch, settle settler) error {
	tx, err := a.bulk.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	journal, summed, err := move(ctx, tx, b)
	if err != nil {
		return err
	}
	a.summed = summed
	a.summed.setNow(a.clock.now())
	a.telling, a.unpricing = a.telling[:0], a.unpricing[:0]
	if b.Journal != a.journal || b.From != a.at { // the first batch, or the database went back and lost some
		a.told, a.budgets, a.unpriced, a.rows.known = nil, nil, nil, newNumbers()
	}
	a.rows.begin(a.clock.now())
	if err := a.write(a.engine.within(ctx), tx, journal, b, settle); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	a.remember(b)
	return nil
}

// remember records the events that were committed with a batch.
func (a *applier) remember(b *ledger.Batch) {
	a.journal, a.at = b.Journal, b.To
	a.rows.commit()
	if a.told == nil || len(a.told)+len(a.telling) > maxTold {
		a.told = make(map[limited]int64, len(a.telling))
	}
	for _, t := range a.telling {
		a.told[t.of] = t.percent
	}
	if a.unpriced == nil || len(a.unpriced)+len(a.unpricing) > maxTold {
		a.unpriced = make(map[modelDay]bool, len(a.unpricing))
	}
	for _, m := range a.unpricing {
		a.unpriced[m] = true
	}
}

// move sets the journal's position to the end of the batch. It returns the journal's number, and how far sums by end
// user and tags may exist. One statement compares and sets the position, and waits for a transaction that has set it
// and not committed. So if two connections apply one batch, as when the first was given up but lives on, only one
// succeeds.
func move(ctx context.Context, tx *sql.Tx, b *ledger.Batch) (number int64, summed summedUpto, err error) {
	const returning = " RETURNING number, (SELECT coalesce(max(period), 0) FROM " + tablePackedHours + ")," +
		" (SELECT coalesce(max(day), 0) FROM attributed_days)," +
		" coalesce((SELECT upto FROM attributed_days ORDER BY day DESC LIMIT 1), '')"
	err = tx.QueryRowContext(
		ctx, "UPDATE journals SET position = ? WHERE journal = ? AND position = ?"+returning,
		int64(b.To), b.Journal.String(), int64(b.From)).Scan(&number, &summed.hour, &summed.day, &summed.upto)
	if errors.Is(err, sql.ErrNoRows) && b.From == 0 {
		err = tx.QueryRowContext(ctx, "INSERT INTO journals (journal, position) VALUES (?, ?)"+
			" ON CONFLICT (journal) DO NOTHING"+returning, b.Journal.String(), int64(b.To)).Scan(&number,
			&summed.hour, &summed.day, &summed.upto)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, summed, fmt.Errorf("%w: it is not at %d, where the batch starts", ledger.ErrMoved, b.From)
	}
	if err != nil {
		return 0, summed, fmt.Errorf("write position: %w", err)
	}
	return number, summed, nil
}

func (a *applier) write(ctx context.Context, tx *sql.Tx, journal int64, b *ledger.Batch, settle settler) error {
	if err := a.putAside(ctx, tx, b); err != nil {
		return fmt.Errorf("records that are set aside: %w", err)
	}
	if err := a.price(ctx, b.Prices); err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	if err := packBatch(ctx, tx, &a.rows, b); err != nil {
		return fmt.Errorf("rows of an earlier version: %w", err)
	}
	if err := a.open(ctx, tx, journal, b.Opened); err != nil {
		return fmt.Errorf("opened attempts: %w", err)
	}
	a.late = lateOnes{}
	a.sums, a.parts, a.speeds = make(buckets, len(a.sums)), balances{}, make(speeds, len(a.speeds))
	a.last.sums = nil
	err := a.rows.number(ctx, tx, journal, len(b.Settled), func(i int) (
		*ledger.Attempt, *ledger.Settlement,
	) {
		return &b.Settled[i].Attempt, &b.Settled[i].Settlement
	})
	if err != nil {
		return err
	}
	if err := settle(ctx, journal, b.Settled); err != nil {
		return fmt.Errorf("settled attempts: %w", err)
	}
	if err := a.question(ctx, b.Settled, a.clock.now()); err != nil {
		return fmt.Errorf("questions: %w", err)
	}
	if err := a.byHour.add(ctx, a.bulk, a.sums); err != nil {
		return fmt.Errorf("rollups of hours: %w", err)
	}
	days := a.sums.days()
	if err := a.byDay.add(ctx, a.bulk, days); err != nil {
		return fmt.Errorf("rollups of days: %w", err)
	}
	if err := a.uses.add(ctx, a.bulk, days.uses()); err != nil {
		return fmt.Errorf("rollups of uses: %w", err)
	}
	if err := dropPacked(ctx, tx, a.late.periods()); err != nil {
		return err
	}
	if err := addLate(ctx, tx, a.late.attempts); err != nil {
		return fmt.Errorf("sums of end users and tags: %w", err)
	}
	if err := a.addSpeeds(ctx); err != nil {
		return fmt.Errorf("rollups of speed: %w", err)
	}
	if err := a.use(ctx, b); err != nil {
		return fmt.Errorf("keys used: %w", err)
	}
	if err := a.tellModels(ctx, tx, days, b.Settled); err != nil {
		return fmt.Errorf("events of models: %w", err)
	}
	if err := a.balance(ctx, tx, journal, a.clock.now()); err != nil {
		return fmt.Errorf("balances: %w", err)
	}
	return nil
}

func (a *applier) open(ctx context.Context, tx *sql.Tx, journal int64, list []ledger.Attempt) error {
	state := ledger.Settlement{Outcome: ledger.OutcomeOpen}
	err := a.rows.number(ctx, tx, journal, len(list), func(i int) (*ledger.Attempt, *ledger.Settlement) {
		return &list[i], &state
	})
	if err != nil {
		return err
	}
	_, err = a.bulk.insert(ctx, a.opened, len(list), func(dst []any, i int) []any {
		return a.rows.bind(dst, i, stateOpen, &list[i], &state)
	})
	return err
}

// settle writes all rows at once. It fails with errSettledBefore if one of them is already settled.
func (a *applier) settle(ctx context.Context, journal int64, list []ledger.Entry) error {
	touched, err := a.bulk.insert(ctx, a.settled, len(list), func(dst []any, i int) []any {
		return a.rows.bind(dst, i, settledState(&list[i].Settlement), &list[i].Attempt, &list[i].Settlement)
	})
	if err == nil && touched != int64(len(list)) || err != nil && a.engine.twice != nil && a.engine.twice(err) {
		err = errSettledBefore
	}
	for i := range list {
		a.count(&list[i])
	}
	return err
}

// settleEach writes row by row and skips rows that are already settled.
func (a *applier) settleEach(ctx context.Context, journal int64, list []ledger.Entry) error {
	for i := range list {
		e := &list[i]
		touched, err := a.bulk.insert(ctx, a.settled, 1, func(dst []any, _ int) []any {
			return a.rows.bind(dst, i, settledState(&e.Settlement), &e.Attempt, &e.Settlement)
		})
		if err != nil {
			return err
		}
		if touched == 0 {
			a.log.Error("an attempt was settled twice; the first settlement stays", "attempt",
				e.ID.String(), "account", e.Account, "cost_usd", e.Cost.String())
			continue
		}
		a.count(e)
	}
	return nil
}

// find makes the bucket of an attempt the last one.
func (a *applier) find(of *ledger.Attempt) *lastBucket {
	l, unix := &a.last, of.Arrived.Unix()/3600
	same := l.name == of.Model && l.provider == of.Provider
	if l.sums != nil && same && l.unix == unix && l.account == of.Account && l.key == of.Key {
		return l
	}
	if !same {
		l.model = of.FullModel()
	}
	l.name, l.provider, l.unix, l.account, l.key = of.Model, of.Provider, unix, of.Account, of.Key
	l.period = hourOf(of.Arrived)
	l.sums = a.sums.of(l.bucket)
	return l
}

// count adds a settled attempt to the sums for the rollups.
func (a *applier) count(e *ledger.Entry) {
	b := a.find(&e.Attempt)
	b.sums.count(e)
	if b.period < a.summed.ended && !slices.Contains(a.late.hours, b.period) {
		a.late.hours = append(a.late.hours, b.period)
	}
	if a.summed.has(b.period/100, e.ID.Request) {
		to := attributedOf(&e.Attribution)
		a.late.attempts = append(a.late.attempts,
			lateAttempt{e.ID.Request.String(), b.ofDay().attributedTo(&to), sumsOf(e)})
	}
	a.parts.addParts(e)
	a.speeds.addEntry(&b.bucket, e)
}
