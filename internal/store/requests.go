package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

const (
	// mostLooked is how many attempts one page of requests searches if the filter matches few. The next page
	// continues there.
	mostLooked = 5_000
	// firstLook is how many attempts are read at first for each requested request.
	firstLook = 2
)

// Requests returns a page of an account's requests, newest first, and the place of the next page, which is zero if
// there is none. If the filter matches few requests, a page may have fewer requests than its limit, even none, and a
// next page. Requests of days that retention has deleted are not included.
func (s *Reports) Requests(ctx context.Context, q report.RequestsQuery) ([]report.Request, report.Cursor, error) {
	l, err := newLook(&q)
	if err != nil {
		return nil, report.Cursor{}, fmt.Errorf("read requests: %w", err)
	}
	if q.ID != uuid.Nil { // of any day
		rows, err := findRequest(ctx, s.read, q.ID)
		if err != nil || len(rows) == 0 {
			return nil, report.Cursor{}, err
		}
		l.from, l.to = rows[0].rowPlace, rows[len(rows)-1].next()
	}
	list, err := s.look(ctx, "read requests", l)
	if err != nil {
		return nil, report.Cursor{}, err
	}
	return list, l.next(), nil
}

// RequestsSince returns the newest requests of an account after a place, newest first, 1 to report.MaxRequests.
// Requests of other nodes may appear later than the order of ids suggests, and requests in progress will change: a
// follower should query from a little earlier, and replace the ones that it has.
func (s *Reports) RequestsSince(ctx context.Context, account string, after report.Cursor, limit int) (
	[]report.Request, error,
) {
	l, err := newLook(&report.RequestsQuery{Account: account, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("read new requests: %w", err)
	}
	if after != (report.Cursor{}) {
		day, err := parseDate(after.Date, 0)
		if err != nil {
			return nil, fmt.Errorf("read new requests: %w", err)
		}
		l.from = afterRequest(day, after.ID)
	}
	return s.look(ctx, "read new requests", l)
}

// spot names a request on a day.
type spot struct {
	day     int64
	request string
}

// look searches an account's attempts from the newest down and collects requests.
type look struct {
	q        *report.RequestsQuery
	from, to rowPlace    // the remaining attempts are between them
	list     []storedRow // attempts of the current request, the last one first
	seen     int         // attempts
	found    [][]storedRow
	done     bool // the page is complete
	ended    bool // there are no more
}

func newLook(q *report.RequestsQuery) (*look, error) {
	if q.Limit < 1 || q.Limit > report.MaxRequests {
		return nil, fmt.Errorf("the limit %d is not between 1 and %d", q.Limit, report.MaxRequests)
	}
	if !q.Ended.Known() {
		return nil, fmt.Errorf("unknown filter %q for the end of requests: use %q, %q, %q, or leave it empty for all",
			q.Ended, report.EndedOK,
			report.EndedError, report.EndedUnseen)
	}
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return nil, err
	}
	l := &look{q: q, from: rowPlace{day: f.from}, to: rowPlace{day: f.to + 1}}
	after, until := q.After, report.Cursor{}
	if !q.Until.IsZero() {
		until = report.CursorAt(q.Until)
	}
	for _, c := range []report.Cursor{after, until} {
		if p, err := placeOfCursor(c); err != nil {
			return nil, err
		} else if c != (report.Cursor{}) && p.compare(l.to) < 0 {
			l.to = p
		}
	}
	if !q.Since.IsZero() {
		p, err := placeOfCursor(report.CursorAt(q.Since))
		if err != nil {
			return nil, err
		}
		if p.compare(l.from) > 0 {
			l.from = p
		}
	}
	return l, nil
}

// placeOfCursor returns the place of a request.
func placeOfCursor(c report.Cursor) (rowPlace, error) {
	if c == (report.Cursor{}) {
		return rowPlace{}, nil
	}
	day, err := parseDate(c.Date, 0)
	return placeOfRequest(day, c.ID), err
}

// look reads pieces of doubling size until the page is complete.
func (s *Reports) look(ctx context.Context, doing string, l *look) (list []report.Request, err error) {
	err = s.report(ctx, l.q.Account, doing, func(tx *sql.Tx) error {
		for size := firstLook * (l.q.Limit + 1); !l.done; size *= 2 {
			if err := l.piece(ctx, tx, min(size, max(mostLooked-l.seen, firstLook)+1)); err != nil {
				return err
			}
		}
		list, err = l.requests(ctx, tx)
		return err
	})
	return list, err
}

// piece reads the next attempts.
func (l *look) piece(ctx context.Context, tx *sql.Tx, size int) error {
	query := rowsQuery{account: l.q.Account, from: l.from, to: l.to, down: true, limit: size}
	list, err := readRows(ctx, tx, &query)
	if err != nil {
		return err
	}
	for i := range list {
		if l.take(&list[i]); l.done {
			return nil
		}
	}
	if len(list) < size {
		l.finish()
		l.done, l.ended = true, true
	}
	return nil
}

// take checks an attempt. The last attempt of a request comes first, so a request is complete when the next one
// starts.
func (l *look) take(r *storedRow) {
	if len(l.list) > 0 && (r.ID.Request != l.list[0].ID.Request || r.day != l.list[0].day) {
		l.finish()
		if len(l.found) >= l.q.Limit || l.seen >= mostLooked {
			l.done = true
			return
		}
	}
	l.list = append(l.list, *r)
	l.seen++
	l.to = r.rowPlace
}

// finish checks a request after all its attempts have been read.
func (l *look) finish() {
	if len(l.list) > 0 && l.fits() {
		l.found = append(l.found, l.list)
	}
	l.list = nil
}

func (l *look) fits() bool {
	last := &l.list[0]
	unseen := slices.ContainsFunc(l.list, func(r storedRow) bool { return r.state == stateUnseen })
	return sift(l.q, l.list) && (l.q.Key == "" || last.Key == l.q.Key) && l.q.Ended.Has(last.Outcome, unseen)
}

// next returns the place of the next page.
func (l *look) next() report.Cursor {
	if l.ended {
		return report.Cursor{}
	}
	id, ok := idOfRow([]byte(l.to.id))
	if !ok {
		return report.Cursor{}
	}
	return report.Cursor{Date: dateText(l.to.day), ID: id.Request}
}

// requests returns the found requests with their corrections.
func (l *look) requests(ctx context.Context, tx *sql.Tx) ([]report.Request, error) {
	corrections, err := correctionsOfRows(ctx, tx, slices.Concat(l.found...))
	list := make([]report.Request, len(l.found))
	for i, rows := range l.found {
		slices.Reverse(rows)
		list[i] = report.Summarize(attemptsOf(rows, corrections))
	}
	return list, err
}

// attemptsOf returns the attempts with their corrections.
func attemptsOf(rows []storedRow, corrections map[ledger.AttemptID][]ledger.Correction) []report.Attempt {
	list := make([]report.Attempt, len(rows))
	for i := range rows {
		list[i].Row = ledger.Row{Entry: rows[i].Entry, Corrections: corrections[rows[i].ID]}
	}
	return list
}

// wanted returns a WITH clause that is a table of requests to join.
func wanted(requests []spot) (with string, args []any) {
	const row = "(cast(? AS BIGINT), cast(? AS TEXT))"
	for _, r := range requests {
		args = append(args, r.day, r.request)
	}
	return "WITH wanted (day, request) AS (VALUES " + row + strings.Repeat(", "+row, len(requests)-1) + ")", args
}

func correctionsOf(ctx context.Context, q querier, with string, args []any) (map[ledger.AttemptID][]ledger.Correction,
	error,
) {
	rows, err := q.QueryContext(
		ctx, with+" SELECT c.request, c.n, c.kind, c.seq, c.usage, c.cost, c.uncertain, c.margin, "+
			"c.margin_uncertain, c.unpriced <> 0 OR c.margin_unpriced <> 0, c.reason, c.who, c.at"+
			" FROM wanted w, corrections c WHERE c.day = w.day AND c.request = w.request ORDER BY c.at, c.kind, c.seq",
		args...)
	all := map[ledger.AttemptID][]ledger.Correction{}
	err = eachRow(rows, err, func(row scanner) (err error) {
		var id ledger.AttemptID
		var c ledger.Correction
		var request, usage string
		var at int64
		if err = row.Scan(&request, &id.N, &c.Kind, &c.Seq, &usage, &c.Cost, &c.Uncertain, &c.Margin,
			&c.MarginUncertain, &c.Priced, &c.Reason, &c.By, &at); err != nil {
			return err
		}
		c.At = fromMicros(at)
		if id.Request, err = uuid.Parse(request); err != nil {
			return fmt.Errorf("correction of attempt %q: %w", request, err)
		}
		counts, err := decodeCounts(usage)
		c.Usage = llm.Usage(counts)
		all[id] = append(all[id], c)
		return err
	})
	return all, err
}
