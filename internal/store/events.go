package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/webhook"
)

// Events stores events for the endpoints that subscribe to them.
type Events struct{ *conn }

// TellExceeded writes the event of a budget that has refused a request, if the settled spending leaves no room for
// the request: amounts that are only held may be released. It writes no event for an end user or a tag without
// spending, which a client may invent. It reports whether the event is written, now or before.
func (s *Events) TellExceeded(ctx context.Context, x budget.Exceeded) (told bool, err error) {
	err = s.write(ctx, s.sure, "write event of budget", func(tx *sql.Tx) error {
		told = false
		list, err := budgetRowsOf(ctx, tx, x.Budget.Scope)
		if err != nil {
			return err
		}
		number := x.Budget.Period.Number(x.At)
		spent, err := spentIn(ctx, tx, x.Budget.Scope, number)
		if err != nil {
			return err
		}
		if _, _, isPart := budget.PartOf(x.Budget.Scope); isPart && spent == 0 {
			return nil
		}
		for i := range list {
			for _, st := range list[i].progress(number) {
				if spent-st.limited.from+x.Least <= st.limited.limit {
					continue
				}
				e := st.event(webhook.BudgetExceeded, 0, spent-st.limited.from, s.clock.now())
				if _, err := s.outbox.tell(ctx, tx, &e); err != nil {
					return err
				}
				told = true
			}
		}
		return nil
	})
	return told, err
}

// budgetRowsOf returns the budgets of a scope.
func budgetRowsOf(ctx context.Context, tx *sql.Tx, scope string) ([]budgetRow, error) {
	if owner, _, ok := budget.PartOf(scope); ok {
		return partRows(ctx, tx, owner, []string{scope})
	}
	return budgetRowsIn(ctx, tx, " IN (?)", scope)
}

// progress returns the progress of a budget row in the period with that number.
func (b *budgetRow) progress(number int64) (all []budgetProgress) {
	if b.limit > 0 && budget.PeriodOf(number) == b.period {
		all = append(all, budgetProgress{budgetRow: b, limited: limited{scope: b.id, number: number, limit: b.limit}})
	}
	if b.credit.Valid && number == 0 {
		all = append(all, budgetProgress{budgetRow: b, limited: b.prepaid()})
	}
	return all
}

// prepaid identifies the credit.
func (b *budgetRow) prepaid() limited {
	return limited{scope: b.id, limit: llm.Money(b.credit.Int64), credit: true, from: llm.Money(b.from.Int64)}
}

// modelDay is a model with an event about its price, and the day.
type modelDay struct {
	event webhook.Type
	model string
	day   int64
}

// tellModels writes an event for each model that the batch has used without a price, and one for each that another
// model has answered for, once a day. All nodes write them in the same order, to avoid deadlocks.
func (a *applier) tellModels(ctx context.Context, tx *sql.Tx, days buckets, settled []ledger.Entry) error {
	var news []modelDay
	served := map[modelDay]*ledger.Entry{}
	for b, sum := range days {
		at := modelDay{webhook.ModelUnpriced, b.model, b.period}
		if sum[measureUnpriced] > 0 && sum.used() && !a.unpriced[at] {
			news = append(news, at)
		}
	}
	for i := range settled {
		e := &settled[i]
		if !e.Served.Other {
			continue
		}
		at := modelDay{webhook.ModelSubstituted, e.FullModel(), dayOf(e.Arrived)}
		if served[at] == nil && !a.unpriced[at] {
			news, served[at] = append(news, at), e
		}
	}
	slices.SortFunc(news, func(x, y modelDay) int {
		return cmp.Or(cmp.Compare(x.day, y.day), strings.Compare(x.model, y.model), cmp.Compare(x.event, y.event))
	})
	a.unpricing = slices.Compact(news)
	for _, at := range a.unpricing {
		e := webhook.Event{Type: at.event, At: a.clock.now(), Data: webhook.Data{Model: at.model}}
		if by := served[at]; by != nil {
			e.Data.Served = by.Provider + "/" + by.Served.Model
		}
		e.TellOnce(eventsUntil(at.day), at.model, dateText(at.day))
		if _, err := a.outbox.tell(ctx, tx, &e); err != nil {
			return err
		}
	}
	return nil
}

// used reports whether there is any usage. A model name that a client made up has requests and no usage.
func (s *sums) used() bool {
	return slices.ContainsFunc(s[measureUsage:], func(n int64) bool { return n != 0 })
}

// isNothing reports whether the sums contain neither usage nor a request that counts: see used.
func (s *sums) isNothing() bool {
	return s[measureRequests] == 0 && s[measureTokens] == 0 && s[measureCost] == 0 && s[measureUncertain] == 0 &&
		s[measureMargin] == 0 && s[measureMarginUncertain] == 0
}

// calendarEvery is the interval between checks of days and keys.
const calendarEvery = 10 * time.Minute

// RunCalendar writes the events of expiring keys and past days until ctx ends. It uses the database's time: a node
// with a clock that is a day ahead would write the event of a day that is not over, and then no node would write it
// again.
func (s *Events) RunCalendar(ctx context.Context) {
	every := time.NewTicker(calendarEvery)
	defer every.Stop()
	for {
		now, err := s.Time(ctx)
		if err == nil {
			err = errors.Join(s.TellExpiring(ctx, now), s.TellUsage(ctx, now))
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("scheduled events could not be written", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// expiringAhead returns how long before the expiry of a key an event is written, the shortest time first.
func expiringAhead() []time.Duration { return []time.Duration{24 * time.Hour, 7 * 24 * time.Hour} }

// TellExpiring writes an event for each key that will expire soon.
func (s *Events) TellExpiring(ctx context.Context, now time.Time) error {
	ahead := expiringAhead()
	rows, err := s.read.QueryContext(ctx, "SELECT "+keyColumns+
		" FROM keys WHERE expires > ? AND expires <= ? AND revoked IS NULL ORDER BY expires",
		micros(now), micros(now.Add(ahead[len(ahead)-1])))
	keys, err := collect(rows, err, scanKey)
	if err != nil {
		return fmt.Errorf("read expiring keys: %w", err)
	}
	var events []webhook.Event
	for i := range keys {
		if e, ok := expiring(&keys[i], now); ok {
			events = append(events, e)
		}
	}
	return s.tellAll(ctx, events)
}

// expiring returns the event of a key that will expire soon; false if the key was made after the event was due.
func expiring(k *account.Key, now time.Time) (webhook.Event, bool) {
	for _, ahead := range expiringAhead() {
		from := k.Expires.Add(-ahead)
		if now.Before(from) || k.Created.After(from) {
			continue
		}
		of := eventKey(k)
		e := webhook.Event{Type: webhook.KeyExpiring, Account: k.AccountID, At: now, Data: webhook.Data{Key: &of}}
		e.TellOnce(k.Expires.Add(ahead), k.ID, k.Expires.Format(time.RFC3339), ahead.String())
		return e, true
	}
	return webhook.Event{}, false
}

const (
	// usageAfter is how long after the end of a day its usage event is written: earlier requests have ended by then.
	usageAfter = time.Hour
	usageDays  = 3 // past days that still get an event if no gateway was running
)

// TellUsage writes an event for each account with usage on a past day.
func (s *Events) TellUsage(ctx context.Context, now time.Time) error {
	for back := range usageDays {
		day := dayOf(now.Add(-usageAfter).AddDate(0, 0, -1-back))
		rows, err := s.read.QueryContext(
			ctx, "SELECT account, sum(requests), sum(tokens), sum(cost + margin), sum(unpriced + margin_unpriced)"+
				" FROM rollup_uses WHERE period "+
				"= ? GROUP BY account HAVING "+used("sum", "")+" ORDER BY account", day)
		events, err := collect(rows, err, func(row scanner) (e webhook.Event, err error) {
			u := webhook.Usage{Date: dateText(day), AsOf: now.UTC().Truncate(time.Microsecond)}
			var cost llm.Money
			err = row.Scan(&e.Account, &u.Requests, &u.Tokens, &cost, &u.Unpriced)
			u.CostUSD = cost.String()
			e.Type, e.At, e.Data = webhook.UsageDaily, now, webhook.Data{Usage: &u}
			e.TellOnce(eventsUntil(day), e.Account, u.Date)
			return e, err
		})
		if err == nil {
			err = s.tellAll(ctx, events)
		}
		if err != nil {
			return fmt.Errorf("write usage events of %s: %w", dateText(day), err)
		}
	}
	return nil
}

const tellRows = 100 // events in one transaction

// tellAll writes the events that have not been written before.
func (s *Events) tellAll(ctx context.Context, events []webhook.Event) error {
	for some := range slices.Chunk(events, tellRows) {
		var news []webhook.Event
		for i := range some {
			var until int64
			err := s.read.QueryRowContext(ctx, "SELECT until FROM told WHERE name = ?", some[i].Once).Scan(&until)
			if isNone(err) {
				news = append(news, some[i])
			} else if err != nil {
				return err
			}
		}
		if len(news) == 0 {
			continue
		}
		err := s.write(ctx, s.sure, "write events", func(tx *sql.Tx) error {
			for i := range news {
				e := news[i]
				if _, err := s.outbox.tell(ctx, tx, &e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
