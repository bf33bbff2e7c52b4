package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// correction is an amount, possibly negative, that is added to a settled attempt.
type correction struct {
	id      ledger.AttemptID
	kind    string
	bucket  bucket // of the attempt's hour
	usage   llm.Usage
	cost    llm.Money
	unknown int64
	// uncertain is added to what the attempt may have cost beyond its cost.
	uncertain llm.Money
	// margin and marginUncertain are added to the charge beyond cost and uncertain.
	margin, marginUncertain llm.Money
	// unpriced is added to the number of attempts whose cost has no price, and marginUnpriced to the number of
	// further attempts whose charge has none.
	unpriced, marginUnpriced int64
	parts                    []string // scopes of the parts that it counts against
	attribution              attributed
}

func (c *correction) add(o *correction) {
	c.usage.Add(&o.usage)
	c.cost += o.cost
	c.unknown += o.unknown
	c.uncertain += o.uncertain
	c.margin += o.margin
	c.marginUncertain += o.marginUncertain
	c.unpriced += o.unpriced
	c.marginUnpriced += o.marginUnpriced
}

func (c *correction) sums() *sums {
	s := &sums{
		measureCost: int64(c.cost), measureTokens: c.usage.TotalTokens(), measureUnknown: c.unknown,
		measureUncertain: int64(c.uncertain), measureMargin: int64(c.margin),
		measureMarginUncertain: int64(c.marginUncertain), measureUnpriced: c.unpriced,
		measureMarginUnpriced: c.marginUnpriced,
	}
	copy(s[measureUsage:], c.usage[:])
	return s
}

// correctionOf returns the amounts that a correction of an attempt adds to the sums.
func correctionOf(a *ledger.Row, c *ledger.Correction) correction {
	sum := correction{
		id: a.ID, bucket: bucketOf(&a.Attempt), usage: c.Usage, cost: c.Cost, uncertain: c.Uncertain, margin: c.Margin,
		marginUncertain: c.MarginUncertain, parts: a.PartScopes(), attribution: attributedOf(&a.Attribution),
	}
	if c.Kind == ledger.CorrectionResolved && a.Provenance == ledger.Unknown {
		sum.unknown = -1
	}
	if ofCost, ofCharge := a.LeftUnpriced(); c.Priced {
		sum.unpriced = -number(ofCost != 0)
		sum.marginUnpriced = number(ofCost != 0) - number(ofCharge != 0)
	}
	return sum
}

// Corrections stores later decisions about settled attempts, and the questions to providers that lead to some.
type Corrections struct{ *conn }

// Resolve sets the cost of an attempt whose end was not seen. In one transaction it adds a row that corrects the
// attempt, and updates the rollups. The usage remains, unless release means that the provider served nothing; then
// cost is ignored. The error is ledger.ErrNoAttempt, ErrOpen, ErrKnown or ErrResolved if there is nothing to resolve.
func (s *Corrections) Resolve(ctx context.Context, by audit.Actor, id ledger.AttemptID, cost llm.Money,
	release bool,
) error {
	if cost < 0 || cost > llm.MaxCost { // no attempt costs that much, and the sums would overflow
		return fmt.Errorf("resolve attempt %s: the cost %s is not between 0 and %s", id, cost, llm.MaxCost)
	}
	return s.write(ctx, s.sure, "resolve attempt "+id.String(), func(tx *sql.Tx) error {
		a, err := s.attemptAlone(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case a.Outcome == ledger.OutcomeOpen:
			return ledger.ErrOpen
		case a.Resolved():
			return ledger.ErrResolved
		case !a.Unresolved():
			return ledger.ErrKnown
		}
		c := a.ResolveAt(cost)
		if release {
			c = a.Release()
		}
		return s.correct(ctx, tx, by, []decision{{a, c}})
	})
}

// Correct adds an amount to the cost of an attempt. An attempt can be corrected several times. The error is
// ledger.ErrNoAttempt, ErrOpen, ErrReason, ErrAmount or ErrCorrections.
func (s *Corrections) Correct(ctx context.Context, by audit.Actor, q ledger.Correct) error {
	return s.write(ctx, s.sure, "correct attempt "+q.ID.String(), func(tx *sql.Tx) error {
		a, err := s.attemptAlone(ctx, tx, q.ID)
		if err == nil && q.Account != "" && a.Account != q.Account {
			err = ledger.ErrNoAttempt
		}
		if err != nil {
			return err
		}
		c, err := q.Correction(&a)
		if err != nil {
			return err
		}
		return s.correct(ctx, tx, by, []decision{{a, c}})
	})
}

// attemptAlone returns an attempt with its corrections. No other transaction corrects it until this one ends.
func (s *Corrections) attemptAlone(ctx context.Context, tx *sql.Tx, id ledger.AttemptID) (a ledger.Row, err error) {
	if err := s.lockAttempt(ctx, tx, id); err != nil {
		return a, err
	}
	r, err := findAttempt(ctx, tx, id)
	if err != nil {
		return a, err
	}
	corrections, err := correctionsOfRows(ctx, tx, []storedRow{r})
	return ledger.Row{Entry: r.Entry, Corrections: corrections[id]}, err
}

func (s *Corrections) lockAttempt(ctx context.Context, tx *sql.Tx, id ledger.AttemptID) error {
	return s.lock(ctx, tx, "attempt "+id.String())
}

// decision is a correction of an attempt that is locked.
type decision struct {
	attempt    ledger.Row
	correction ledger.Correction
}

// correct writes corrections, adds them to the rollups and balances, and adds an audit log entry for each.
func (s *Corrections) correct(ctx context.Context, tx *sql.Tx, by audit.Actor, list []decision) error {
	hours, parts := buckets{}, balances{}
	for i := range list {
		sum := correctionOf(&list[i].attempt, &list[i].correction)
		hours.add(sum.bucket, sum.sums())
		parts.addCorrection(&sum)
		if err := s.insertCorrection(ctx, tx, by, &sum, &list[i].correction); err != nil {
			return err
		}
		if err := list[i].setState(ctx, tx); err != nil {
			return err
		}
	}
	if err := addCorrected(ctx, tx, hours, parts); err != nil {
		return err
	}
	for i := range list {
		if err := s.noteCorrection(ctx, tx, by, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// setState writes the state of a row that the correction resolves. Rows of the old form have none.
func (d *decision) setState(ctx context.Context, tx *sql.Tx) error {
	a := d.attempt
	before := stateOf(&a)
	a.Corrections = append(a.Corrections[:len(a.Corrections):len(a.Corrections)], d.correction)
	if state := stateOf(&a); state != before {
		_, err := tx.ExecContext(ctx, "UPDATE attempt_rows SET state = ? WHERE day = ? AND id = ?", state,
			dayOf(a.Arrived), rowID(nil, a.ID))
		return err
	}
	return nil
}

func (s *Corrections) insertCorrection(ctx context.Context, tx *sql.Tx, by audit.Actor, sum *correction,
	c *ledger.Correction,
) error {
	b := &sum.bucket
	parts, err := jsonList(sum.parts)
	if err != nil {
		return err
	}
	if closed, err := s.isClosedFor(ctx, tx, b.account); err != nil {
		return err
	} else if closed {
		sum.attribution = attributed{}
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO corrections"+
		" (day, request, n, kind, seq, hour, account, key, provider, model, usage, cost, unknown, uncertain, margin, "+
		"margin_uncertain, unpriced, margin_unpriced, parts, attribution, reason, who, at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		b.ofDay().period, sum.id.Request.String(), int64(sum.id.N), c.Kind, int64(c.Seq), b.period, b.account, b.key,
		b.provider, b.model,
		encodeCounts((*[llm.NumClasses]int64)(&sum.usage)), int64(sum.cost), sum.unknown, int64(sum.uncertain),
		int64(sum.margin), int64(sum.marginUncertain), sum.unpriced, sum.marginUnpriced, parts, sum.attribution.text(),
		c.Reason, by.String(), micros(s.clock.now()))
	return err
}

// addCorrected adds corrections to the rollups and balances, in the same order as batches, to avoid deadlocks.
func addCorrected(ctx context.Context, tx *sql.Tx, hours buckets, parts balances) error {
	days := hours.days()
	for _, to := range []struct {
		table string
		sums  buckets
	}{{tableHours, hours}, {tableDays, days}, {tableUses, days.uses()}} {
		if err := newRollup(to.table).addEach(ctx, tx, to.sums); err != nil {
			return err
		}
	}
	corrected := make([]int64, 0, len(days)+len(hours))
	for b := range days {
		corrected = append(corrected, b.period)
	}
	for b := range hours {
		corrected = append(corrected, b.period)
	}
	if err := dropPacked(ctx, tx, corrected); err != nil {
		return err
	}
	m := balancesOf(hours)
	maps.Copy(m, parts)
	for _, name := range m.sorted() {
		_, err := tx.ExecContext(ctx, insertBalances().sql(1), name.scope, name.day, noJournal, int64(m[name]))
		if err != nil {
			return fmt.Errorf("balance: %w", err)
		}
	}
	return nil
}

// noteCorrection adds an audit log entry with the charge before and after the correction, and a change to the feed.
func (s *Corrections) noteCorrection(ctx context.Context, tx *sql.Tx, by audit.Actor, d *decision) error {
	a, c := &d.attempt, &d.correction
	usage, cost := a.Corrected()
	margin, _ := a.Margin()
	cost += margin // the charge of the account, which can read the entry
	before, after := facts{"cost_usd": cost.String()}, facts{"cost_usd": (cost + c.Cost + c.Margin).String()}
	if c.Reason != "" {
		after["reason"] = c.Reason
	}
	if _, ofCharge := a.LeftUnpriced(); ofCharge != 0 && c.Priced {
		before["unpriced"], after["unpriced"] = true, false
	}
	action := audit.AttemptCorrected
	if c.Kind == ledger.CorrectionResolved {
		action = audit.AttemptResolved
		before["resolved"], after["resolved"] = false, true
		before["tokens"], after["tokens"] = usage.TotalTokens(), usage.TotalTokens()+c.Usage.TotalTokens()
	}
	e := audit.Entry{
		Actor: by, Action: action, Object: audit.Object{Kind: "attempt", ID: a.ID.String()}, Account: a.Account,
	}
	if _, err := s.note(ctx, tx, e, before, after); err != nil {
		return err
	}
	return s.changed(ctx, tx, account.ChangedAttempt, a.Account)
}

// readCorrections reads the corrections of attempts between two days, of an account; empty for all.
func readCorrections(ctx context.Context, q querier, from, to int64, account string) ([]correction, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+correctionColumns+
		" FROM corrections WHERE day BETWEEN ? AND ? AND (? = '' OR account = ?)", from, to, account, account)
	return collect(rows, err, scanCorrection)
}

const correctionColumns = "request, n, kind, hour, account, key, provider, model, usage, cost, unknown, uncertain, " +
	"margin, margin_uncertain, unpriced, margin_unpriced, parts, attribution"

// scanCorrection scans a row of correctionColumns.
func scanCorrection(row scanner) (c correction, err error) {
	var request, usage, parts, attribution string
	b := &c.bucket
	err = row.Scan(&request, &c.id.N, &c.kind, &b.period, &b.account, &b.key, &b.provider, &b.model, &usage, &c.cost,
		&c.unknown, &c.uncertain, &c.margin, &c.marginUncertain, &c.unpriced, &c.marginUnpriced, &parts, &attribution)
	if err == nil {
		err = json.Unmarshal([]byte(parts), &c.parts)
	}
	if err == nil {
		c.attribution, err = parseAttributed(attribution)
	}
	if err != nil {
		return c, err
	}
	if c.id.Request, err = uuid.Parse(request); err != nil {
		return c, fmt.Errorf("correction of attempt %q: %w", request, err)
	}
	c.usage, err = decodeCounts(usage)
	return c, err
}
