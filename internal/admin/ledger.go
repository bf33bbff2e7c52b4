package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/store"
)

// Ledger reads and corrects the ledger.
type Ledger struct {
	store    *store.DB
	accounts *account.Service
	data     string // the data directory
}

// Uses returns the usage of the account with that name, or of all accounts if it is empty, for the parameters of GET
// /v1/uses.
func (l *Ledger) Uses(ctx context.Context, accountName string, params map[string]string) (q report.UsesQuery,
	page report.UsesPage, err error,
) {
	if q, err = report.ParseUses("", params, report.ByAccount); err != nil {
		return q, page, err
	}
	if q.All = accountName == ""; !q.All {
		acc, err := l.accounts.Account(ctx, accountName)
		if err != nil {
			return q, page, err
		}
		q.Account = acc.ID
	}
	page, err = l.store.Reports.Uses(ctx, q)
	return q, page, err
}

// Requests returns the newest requests of the account with that name, for the parameters of report.ParseRequests, and
// whether there are more.
func (l *Ledger) Requests(ctx context.Context, accountName string, params map[string]string, limit int) (
	list []report.Request, more bool, err error,
) {
	acc, err := l.accounts.Account(ctx, accountName)
	if err != nil {
		return nil, false, err
	}
	q, err := report.ParseRequests(acc.ID, params)
	if err != nil {
		return nil, false, err
	}
	q.Limit = limit
	for {
		page, next, err := l.store.Reports.Requests(ctx, q)
		list = append(list, page...)
		if err != nil || next == (report.Cursor{}) || len(list) >= limit {
			return list, next != (report.Cursor{}), err
		}
		q.After, q.Limit = next, limit-len(list)
	}
}

// Request returns a request of any account, with the costs at the providers; false if there is none.
func (l *Ledger) Request(ctx context.Context, id uuid.UUID) (d report.RequestDetail, there bool, err error) {
	account, there, err := l.store.Reports.AccountOf(ctx, id)
	if err != nil || !there {
		return d, false, err
	}
	return l.store.Reports.RequestAtCost(ctx, account, id)
}

// Spent returns the spending of an account or a key in a period.
func (l *Ledger) Spent(ctx context.Context, scope string, period int64) (llm.Money, error) {
	return l.store.Ledger.Spent(ctx, scope, period)
}

// verifyPoll is the interval for checking whether the gateway has projected its journal.
const verifyPoll = 100 * time.Millisecond

// VerifyOptions holds the options of Verify.
type VerifyOptions struct {
	// Wait bounds how long Verify waits for a gateway on this data directory to project its journal.
	Wait     time.Duration
	Waiting  func()                  // called once if Verify has to wait; may be nil
	Progress func(done, total int64) // in rows; may be nil
}

// Verify recomputes every sum from the rows. The backlog counts the journal records of this data directory, as of the
// start, that the database does not have.
func (l *Ledger) Verify(ctx context.Context, o VerifyOptions) (v report.Verification, left ledger.Backlog, err error) {
	if left, err = l.backlog(ctx, &o); err != nil {
		return v, left, fmt.Errorf("read the journal: %w", err)
	}
	v, err = l.store.Ledger.Verify(ctx, o.Progress)
	return v, left, err
}

// backlog waits until the database has all records of the journals, or until no gateway runs that would project them.
// It returns the records that are still missing.
func (l *Ledger) backlog(ctx context.Context, o *VerifyOptions) (left ledger.Backlog, err error) {
	wait, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	for _, dir := range ledger.Dirs(l.data) {
		one, err := l.backlogOf(ctx, wait, dir, o.Waiting)
		if err != nil {
			return left, err
		}
		left.Records += one.Records
		left.Lost += one.Lost
	}
	return left, nil
}

func (l *Ledger) backlogOf(ctx, wait context.Context, dir string, waiting func()) (left ledger.Backlog, err error) {
	id, ok, err := ledger.Identity(dir)
	if err != nil || !ok {
		return left, err
	}
	to, err := ledger.Written(dir)
	if err != nil {
		return left, err
	}
	tick := time.NewTicker(verifyPoll)
	defer tick.Stop()
	for waited := false; ; waited = true {
		held, err := ledger.Held(dir) // read before the position, which a stopping gateway may still change
		if err != nil {
			return left, err
		}
		at, err := l.store.Ledger.Position(ctx, id)
		if err != nil {
			return left, err
		}
		if at >= to || !held || wait.Err() != nil {
			return ledger.Unprojected(dir, at, to)
		}
		if !waited && waiting != nil {
			waiting()
		}
		select {
		case <-wait.Done():
		case <-tick.C:
		}
	}
}

// Export calls fn with every settled attempt of the dates, which are UTC and inclusive; an empty date is no bound. An
// empty account name means every account.
func (l *Ledger) Export(ctx context.Context, accountName, from, to string, fn func(*report.Exported) error) error {
	q, err := l.exportQuery(ctx, accountName, from, to)
	if err != nil {
		return err
	}
	return l.store.Reports.Export(ctx, q, fn)
}

func (l *Ledger) exportQuery(ctx context.Context, accountName, from, to string) (report.ExportQuery, error) {
	q, err := report.ParseUses("", map[string]string{"start_date": from, "end_date": to})
	if err == nil && accountName != "" {
		var acc account.Account
		acc, err = l.accounts.Account(ctx, accountName)
		q.Account = acc.ID
	}
	return report.ExportQuery{Account: q.Account, From: q.From, To: q.To}, err
}

// Explain calls fn with the usage behind each day's sums, by price. The bounds are those of Export.
func (l *Ledger) Explain(ctx context.Context, accountName, from, to string, fn func(*report.Explanation) error) error {
	q, err := l.exportQuery(ctx, accountName, from, to)
	if err != nil {
		return err
	}
	return l.store.Reports.Explain(ctx, q, fn)
}

// Resolve sets the cost of an attempt with an unknown end.
func (l *Ledger) Resolve(ctx context.Context, by audit.Actor, id ledger.AttemptID, cost llm.Money, release bool) error {
	return l.store.Corrections.Resolve(ctx, by, id, cost, release)
}

// Decide sets the cost of an attempt with an unknown end, and releases it if the cost is 0: its provider did no work.
// Its errors are for people who sent the cost as cost_usd.
func (l *Ledger) Decide(ctx context.Context, by audit.Actor, id ledger.AttemptID, cost llm.Money) error {
	if cost < 0 || cost > llm.MaxCost {
		return llm.Invalidf("cost_usd", "The cost must be from $0 to $%s.", llm.MaxCost)
	}
	err := l.Resolve(ctx, by, id, cost, cost == 0)
	for _, reason := range []error{ledger.ErrOpen, ledger.ErrResolved, ledger.ErrKnown} {
		if errors.Is(err, reason) {
			text := reason.Error()
			return llm.Invalid("cost_usd", strings.ToUpper(text[:1])+text[1:]+".")
		}
	}
	return err
}

// Correct adds an amount to the cost of an attempt.
func (l *Ledger) Correct(ctx context.Context, by audit.Actor, c ledger.Correct) error {
	return l.store.Corrections.Correct(ctx, by, c)
}

// ResolveOlder sets the cost of older attempts with an unknown end, by a rule. An empty account name means every
// account.
func (l *Ledger) ResolveOlder(ctx context.Context, by audit.Actor, accountName string, q ledger.ResolveQuery,
	progress func(done, total int64),
) (ledger.Resolution, error) {
	if accountName != "" {
		acc, err := l.accounts.Account(ctx, accountName)
		if err != nil {
			return ledger.Resolution{}, err
		}
		q.Account = acc.ID
	}
	return l.store.Corrections.ResolveOlder(ctx, by, q, progress)
}
