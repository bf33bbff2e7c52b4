package store

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/webhook"
)

// tellOf writes the events of the thresholds that a budget has reached and that are not known to be written. If the
// limit is passed, it makes the other nodes stop.
func (a *applier) tellOf(ctx context.Context, tx *sql.Tx, s *budgetProgress, journal int64, now time.Time) error {
	if s.spent < s.next {
		return nil
	}
	spent := s.spent - s.limited.from
	for _, percent := range thresholds {
		if spent < s.limited.limit/100*llm.Money(percent) {
			break
		}
		if percent <= a.told[s.limited] {
			continue
		}
		if err := a.tell(ctx, tx, s, spent, percent, now); err != nil {
			return err
		}
		a.telling = append(a.telling, telling{s.limited, percent})
	}
	if spent <= s.limited.limit {
		return nil
	}
	a.telling = append(a.telling, telling{s.limited, passed})
	return a.callBack(ctx, tx, s.id, s.number, journal)
}

// callBack makes all other nodes return their leases of a budget that is passed because a provider billed more than
// it was allowed to, so that no node spends more of it.
func (a *applier) callBack(ctx context.Context, tx *sql.Tx, scope string, number, journal int64) error {
	if !a.engine.shared {
		return nil
	}
	now, err := a.clock.read(ctx, tx)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO slices (scope, period, journal, granted, wanted) VALUES (?, ?, ?, 0, ?)"+
		" ON CONFLICT (scope, period, journal) DO UPDATE SET wanted = excluded.wanted", scope, number, journal, now)
	return err
}

// tell writes the event of a threshold, and at 100 percent the event that the budget is exceeded, unless they exist.
func (a *applier) tell(ctx context.Context, tx *sql.Tx, s *budgetProgress, spent llm.Money, percent int64,
	now time.Time,
) error {
	if s.part.Value == "" { // there are too many end users and tags for an event of each threshold
		e := s.event(webhook.BudgetThreshold, percent, spent, now)
		told, err := a.outbox.tell(ctx, tx, &e)
		if err != nil {
			return err
		}
		if told {
			a.log.Info("a budget has reached a threshold", "account", s.account, "scope", s.id, "percent", percent,
				"spent_usd", spent.String(), "limit_usd", s.limited.limit.String(), "period", budget.PeriodOf(s.number))
		}
	}
	if percent < 100 {
		return nil
	}
	e := s.event(webhook.BudgetExceeded, 0, spent, now)
	_, err := a.outbox.tell(ctx, tx, &e)
	return err
}

// event returns an event about the budget, or about one of its thresholds if percent is not 0. Its id is unique to
// the period.
func (s *budgetProgress) event(t webhook.Type, percent int64, spent llm.Money, now time.Time) webhook.Event {
	b := webhook.Budget{
		Of: "account", Period: budget.PeriodOf(s.number), LimitUSD: s.limited.limit.String(), SpentUSD: spent.String(),
	}
	e := webhook.Event{Type: t, Account: s.account, At: now, Data: webhook.Data{Budget: &b, Threshold: percent}}
	if s.owner != s.account {
		b.Of, e.Data.Key = "key", &webhook.Key{ID: s.owner}
	}
	switch {
	case s.part.Tag != "":
		b.Of, b.Part = "tag", &webhook.Part{Tag: s.part.Tag, Value: s.part.Value}
	case s.part.Value != "":
		b.Of, b.Part = "user", &webhook.Part{Value: s.part.Value}
	case s.limited.credit:
		b.Of = "credit"
	}
	var until time.Time
	if s.number > 0 {
		first, last := budget.DaysOf(s.number)
		if b.Period == budget.PeriodMonth {
			first++ // from the month's own number to its first day
		}
		from := dateText(first)
		b.From, until = &from, eventsUntil(last)
	}
	once := s.once(b.Of)
	if percent > 0 {
		once = append(once, strconv.FormatInt(percent, 10))
	}
	e.TellOnce(until, once...)
	return e
}

// eventsUntil returns until when the database remembers the events of a day, or of a period that ends with it: an
// answer may be settled late.
func eventsUntil(day int64) time.Time { return timeOfDay(day).AddDate(0, 0, 40) }
