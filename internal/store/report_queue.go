package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/fairqueue"
	"weir/internal/llm"
)

const (
	// reportsAtOnce is how many reports are read at once. Each has a connection of its own pool, because the pool read
	// serves requests. One more connection is for background work, such as alerts: reports and it do not wait for each
	// other.
	reportsAtOnce = 2
	reportConns   = reportsAtOnce + 1
	// mostWaiting is how many reports of one account may wait, and turnWait is the longest wait.
	mostWaiting = 16
	turnWait    = 10 * time.Second
)

// newReportQueue lets accounts read reports in turn, one report of each account at a time, so that an account with many
// reports waits for its own only. An empty account reads for all accounts.
func newReportQueue() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Options{
		AtOnce: reportsAtOnce, PerAccount: 1, MostWaiting: mostWaiting, Wait: turnWait,
	})
}

// enterReports waits for the account's turn to read a report.
func (s *conn) enterReports(ctx context.Context, account string) error {
	err := s.reportQueue.Enter(ctx, account, false)
	if errors.Is(err, fairqueue.ErrFull) || errors.Is(err, fairqueue.ErrLate) ||
		errors.Is(err, context.DeadlineExceeded) {
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: time.Second,
			Message: "Too many reports and lists of this account are being read. Wait until they are done, and " +
				"request fewer at a time.",
		}
	}
	return err
}

// report runs fn in the account's turn, in a read-only transaction that sees the database at one moment.
// An empty account reads for all accounts. doing names the operation in errors.
func (s *conn) report(ctx context.Context, account, doing string, fn func(tx *sql.Tx) error) error {
	if err := s.enterReports(ctx, account); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer s.reportQueue.Leave(account)
	return s.moment(ctx, s.reports, doing, fn)
}

// reportList runs one query like report and returns its rows.
func reportList[T any](ctx context.Context, s *conn, account, doing string, scan func(scanner) (T, error),
	query string, args ...any,
) (list []T, err error) {
	err = s.report(ctx, account, doing, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		list, err = collect(rows, err, scan)
		return err
	})
	return list, err
}
