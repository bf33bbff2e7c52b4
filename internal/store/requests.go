package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

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
	if q.ID != uuid.Nil {
		d, there, err := s.RequestAtCost(ctx, q.Account, q.ID)
		if err != nil || !there {
			return nil, report.Cursor{}, err
		}
		return []report.Request{d.Request}, report.Cursor{}, nil
	}
	l, err := newLook(&q)
	if err != nil {
		return nil, report.Cursor{}, fmt.Errorf("read requests: %w", err)
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
	if l.above, err = spotOf(after, math.MaxUint16+1, l.above); err != nil {
		return nil, fmt.Errorf("read new requests: %w", err)
	}
	return s.look(ctx, "read new requests", l)
}

// spot is a place between attempts, in the order of their primary key.
type spot struct {
	day     int64
	request string
	n       int64
}

// spotOf returns the place before the n-th attempt of a request.
func spotOf(c report.Cursor, n int64, none spot) (spot, error) {
	if c == (report.Cursor{}) {
		return none, nil
	}
	day, err := parseDate(c.Date, 0)
	return spot{day, c.ID.String(), n}, err
}

// looked holds the columns of an attempt that the search reads.
type looked struct {
	spot
	key, model, outcome, opening string
	unseen                       bool   // its end is unseen and unresolved; set only if the query filters by it
	settlement                   string // set only if the query filters by it, like cost
	cost                         int64
}

// look searches an account's attempts from the newest down and collects requests.
type look struct {
	q            *report.RequestsQuery
	above, below spot // the remaining attempts are between them
	last         looked
	sifted       sifted // of the request of last
	unseen       bool   // it has an attempt with an unseen end
	seen         int    // attempts
	found        []spot
	done         bool // the page is complete
	ended        bool // there are no more
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
	l := &look{q: q, above: spot{day: f.from}, below: spot{day: f.to + 1}}
	after, err := spotOf(q.After, 0, l.below)
	if err == nil && after.day < l.below.day {
		l.below = after
	}
	if err == nil {
		err = l.bound(q.Since, q.Until)
	}
	return l, err
}

// bound narrows the search to requests that arrived between two times. Their ids begin with the time.
func (l *look) bound(since, until time.Time) error {
	if !since.IsZero() {
		from, err := spotOf(report.CursorAt(since), -1, l.above)
		if err != nil {
			return err
		}
		if l.above.before(&from) {
			l.above = from
		}
	}
	if !until.IsZero() {
		to, err := spotOf(report.CursorAt(until), 0, l.below)
		if err != nil {
			return err
		}
		if to.before(&l.below) {
			l.below = to
		}
	}
	return nil
}

// before reports whether the place comes before another one.
func (s *spot) before(o *spot) bool {
	return cmp.Or(cmp.Compare(s.day, o.day), cmp.Compare(s.request, o.request), cmp.Compare(s.n, o.n)) < 0
}

// look reads pieces of doubling size until the page is complete.
func (s *Reports) look(ctx context.Context, doing string, l *look) (list []report.Request, err error) {
	err = s.report(ctx, l.q.Account, doing, func(tx *sql.Tx) error {
		for size := firstLook * (l.q.Limit + 1); !l.done; size *= 2 {
			if err := l.piece(ctx, tx, min(size, max(mostLooked-l.seen, firstLook)+1)); err != nil {
				return err
			}
		}
		parts, err := attemptsOf(ctx, tx, l.found)
		if err != nil {
			return err
		}
		list = make([]report.Request, len(parts))
		for i := range parts {
			list[i] = report.Summarize(parts[i])
		}
		return nil
	})
	return list, err
}

// piece reads the next attempts.
func (l *look) piece(ctx context.Context, tx *sql.Tx, size int) error {
	a, b := &l.above, &l.below
	unseen := "0"
	if l.q.Ended == report.EndedUnseen {
		unseen = "CASE WHEN " + isUnseen + " THEN 1 ELSE 0 END"
	}
	settled := "'', 0"
	if needsSettlement(l.q) {
		settled = "settlement, cost"
	}
	rows, err := tx.QueryContext(ctx, "SELECT day, request, n, key, model, outcome, opening, "+unseen+", "+settled+
		" FROM attempts"+
		" WHERE account = ? AND (day, request, n) > (?, ?, ?) AND (day, request, n) < (?, ?, ?)"+
		" ORDER BY day DESC, request DESC, n DESC LIMIT ?",
		l.q.Account, a.day, a.request, a.n, b.day, b.request, b.n, size)
	read := 0
	err = each(rows, err, func(row scanner) (r looked, err error) {
		read++
		var unseen int
		err = row.Scan(&r.day, &r.request, &r.n, &r.key, &r.model, &r.outcome, &r.opening, &unseen,
			&r.settlement, &r.cost)
		r.unseen = unseen != 0
		return r, err
	}, l.take)
	if errors.Is(err, errEnough) {
		l.done = true
		return nil
	}
	if err == nil && read < size {
		l.finish()
		l.done, l.ended = true, true
	}
	return err
}

// errEnough ends the reading of a piece.
var errEnough = errors.New("the page is complete")

// take checks an attempt. The last attempt of a request comes first, so a request is complete when the next one
// starts.
func (l *look) take(r *looked) error {
	if r.request != l.last.request || r.day != l.last.day {
		l.finish()
		if len(l.found) >= l.q.Limit || l.seen >= mostLooked {
			return errEnough
		}
		l.last, l.sifted, l.unseen = *r, sifted{}, false
	}
	l.unseen = l.unseen || r.unseen
	l.seen++
	l.below = r.spot
	return l.sifted.add(l.q, r)
}

// finish checks a request after all its attempts have been read.
func (l *look) finish() {
	r := &l.last
	if r.request != "" && l.sifted.matches(l.q) && (l.q.Key == "" || r.key == l.q.Key) &&
		l.q.Ended.Has(ledger.Outcome(r.outcome), l.unseen) {
		l.found = append(l.found, r.spot)
	}
	l.last = looked{}
}

// next returns the place of the next page.
func (l *look) next() report.Cursor {
	if l.ended {
		return report.Cursor{}
	}
	id, err := uuid.Parse(l.below.request)
	if err != nil {
		return report.Cursor{}
	}
	return report.Cursor{Date: dateText(l.below.day), ID: id}
}

// attemptsOf reads the attempts of requests, with their corrections, in the order of the requests and of their
// numbers.
func attemptsOf(ctx context.Context, tx *sql.Tx, requests []spot) ([][]report.Attempt, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	with, args := wanted(requests)
	rows, err := tx.QueryContext(ctx, with+" SELECT "+of("a", attemptColumns)+
		" FROM wanted w, attempts a WHERE a.day = w.day AND a.request = w.request ORDER BY a.day DESC, a.request "+
		"DESC, a.n", args...)
	entries, err := collect(rows, err, scanEntry)
	if err != nil {
		return nil, err
	}
	corrections, err := correctionsOf(ctx, tx, with, args)
	if err != nil {
		return nil, err
	}
	var list [][]report.Attempt
	for i := range entries {
		e := report.Attempt{Row: ledger.Row{Entry: entries[i], Corrections: corrections[entries[i].ID]}}
		if i == 0 || e.ID.Request != entries[i-1].ID.Request {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], e)
	}
	return list, nil
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
