package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

// States of a row of attempt_rows. A resolved row has the state of before, less two.
const (
	stateOpen           = iota
	stateKnown          // settled, and nothing to resolve
	stateResolved       // was stateUnresolved
	stateResolvedUnseen // was stateUnseen
	stateUnresolved     // see ledger.Row.Unresolved
	stateUnseen         // see ledger.Row.Unseen
)

// stateOf returns the state of a row with its corrections.
func stateOf(r *ledger.Row) int64 {
	if r.Outcome == ledger.OutcomeOpen {
		return stateOpen
	}
	state := settledState(&r.Settlement)
	if state > stateKnown && r.Resolved() {
		state -= stateUnresolved - stateResolved
	}
	return state
}

// settledState returns the state of a settled row without corrections.
func settledState(s *ledger.Settlement) int64 {
	switch {
	case !s.IsUncertain():
		return stateKnown
	case s.Seen():
		return stateUnresolved
	}
	return stateUnseen
}

// rowID returns the stored id of an attempt. Its order is that of requests and numbers.
func rowID(dst []byte, id ledger.AttemptID) []byte {
	dst = append(dst, id.Request[:]...)
	if id.N != 1 {
		dst = binary.BigEndian.AppendUint16(dst, id.N)
	}
	return dst
}

// idOfRow decodes the output of rowID.
func idOfRow(b []byte) (id ledger.AttemptID, ok bool) {
	id.N = 1
	switch copy(id.Request[:], b); len(b) {
	case 16:
		return id, true
	case 18:
		id.N = binary.BigEndian.Uint16(b[16:])
		return id, true
	}
	return id, false
}

// place is a place among attempts, in the order of days and ids. An empty id is the start of the day.
type rowPlace struct {
	day int64
	id  string // bytes of rowID, or a prefix of them
}

func placeOf(day int64, id ledger.AttemptID) rowPlace { return rowPlace{day, string(rowID(nil, id))} }

// placeOfRequest returns the place of a request on a day: its first attempt has it.
func placeOfRequest(day int64, request uuid.UUID) rowPlace { return rowPlace{day, string(request[:])} }

// afterRequest returns the place after all attempts of a request.
func afterRequest(day int64, request uuid.UUID) rowPlace {
	return rowPlace{day, string(request[:]) + "\xff\xff\x00"}
}

// placeAt returns the place of a request id as text; empty is the start of the day, and everyRequest its end.
func placeAt(day int64, text string) rowPlace {
	switch request, err := uuid.Parse(text); {
	case text == "":
		return rowPlace{day: day}
	case err != nil:
		return rowPlace{day: day + 1}
	default:
		return placeOfRequest(day, request)
	}
}

// next returns the place directly after an attempt.
func (p rowPlace) next() rowPlace { return rowPlace{p.day, p.id + "\x00"} }

func (p rowPlace) compare(o rowPlace) int {
	return cmp.Or(cmp.Compare(p.day, o.day), strings.Compare(p.id, o.id))
}

// rowsQuery selects rows of attempts in the order of their places.
type rowsQuery struct {
	account  string   // id; empty for all
	from, to rowPlace // to is excluded
	open     bool     // open rows
	// least and most are the lowest and the highest state; 0 for any.
	least, most int64
	down        bool // the last ones first
	limit       int
}

func ofDay(day int64) rowsQuery {
	return rowsQuery{from: rowPlace{day: day}, to: rowPlace{day: day + 1}, limit: exportPiece}
}

// storedRow is a row of attempts. Only the versions of its prices are set.
type storedRow struct {
	ledger.Entry
	rowPlace
	state   int64
	journal int64
	data    []byte // packed; nil for a row of the old form
}

const rowColumns = "r.day, r.id, r.state, r.data, a.account, k.journal, k.key, k.model, k.price, k.own_price, k.more"

// readRows returns the selected rows. It reads the old form first, because PackAttempts may move rows between the two
// statements: those are found twice then, and the packed ones count.
func readRows(ctx context.Context, q querier, query *rowsQuery) ([]storedRow, error) {
	old, err := readOldRows(ctx, q, query)
	if err != nil {
		return nil, err
	}
	text, args := query.sql()
	rows, err := q.QueryContext(ctx, text, args...)
	list, err := collect(rows, err, scanRow)
	if err != nil || len(old) == 0 {
		return list, err
	}
	list = append(list, old...)
	slices.SortStableFunc(list, func(a, b storedRow) int {
		if query.down {
			return b.compare(a.rowPlace)
		}
		return a.compare(b.rowPlace)
	})
	list = slices.CompactFunc(list, func(a, b storedRow) bool { return a.rowPlace == b.rowPlace })
	return list[:min(len(list), query.limit)], nil
}

// sql returns the query. The inner one has the limit, so that no plan of the join reads more rows.
func (q *rowsQuery) sql() (text string, args []any) {
	inner, args := q.inner("day, id, account, kind, state, data")
	return "SELECT " + rowColumns + " FROM (" + inner + ") r JOIN attempt_accounts a ON a.number = r.account" +
		" JOIN attempt_kinds k ON k.number = r.kind" + q.order("r."), args
}

// order returns the ORDER BY clause.
func (q *rowsQuery) order(row string) string {
	if q.down {
		return " ORDER BY " + row + "day DESC, " + row + "id DESC"
	}
	return " ORDER BY " + row + "day, " + row + "id"
}

// inner returns the query of columns of attempt_rows.
func (q *rowsQuery) inner(columns string) (text string, args []any) {
	where, args := "(day, id) >= (?, ?) AND (day, id) < (?, ?)", []any{
		q.from.day, []byte(q.from.id), q.to.day, []byte(q.to.id),
	}
	if q.account != "" {
		where = "account = (SELECT number FROM attempt_accounts WHERE account = ?) AND " + where
		args = append([]any{q.account}, args...)
	}
	if q.open {
		where += " AND state = 0"
	}
	if q.least > stateOpen {
		where, args = where+" AND state >= ?", append(args, q.least)
	}
	if q.most > stateOpen {
		where, args = where+" AND state <= ?", append(args, q.most)
	}
	return "SELECT " + columns + " FROM attempt_rows WHERE " + where + q.order("") + " LIMIT ?",
		append(args, int64(q.limit))
}

// isOfDay reports whether all rows are of the day of the first place.
func (q *rowsQuery) isOfDay() bool {
	return q.to.day == q.from.day || q.to == rowPlace{day: q.from.day + 1}
}

func scanRow(row scanner) (r storedRow, err error) {
	var id []byte
	var model, ownPrice, more string
	err = row.Scan(&r.day, &id, &r.state, &r.data, &r.Account, &r.journal, &r.Key, &model, &r.Price.Version, &ownPrice,
		&more)
	if err != nil {
		return r, err
	}
	r.id = string(id)
	var ok bool
	if r.ID, ok = idOfRow(id); !ok {
		return r, fmt.Errorf("attempt %x: %w", id, errRowID)
	}
	if err := setKind(&r.Entry, model, ownPrice, more); err != nil {
		return r, fmt.Errorf("attempt %s: %w", r.ID, err)
	}
	return r, ledger.Unpack(r.data, &r.Entry)
}

var errRowID = errors.New("its id has neither 16 nor 18 bytes")

// walk calls fn with each selected row, in pieces of the query's limit, until it returns an error. No statement is
// open while fn runs.
func walk(ctx context.Context, q querier, query rowsQuery, fn func(*storedRow) error) error {
	for {
		list, err := readRows(ctx, q, &query)
		for i := 0; i < len(list) && err == nil; i++ {
			err = fn(&list[i])
		}
		if err != nil || len(list) < query.limit {
			return err
		}
		if last := list[len(list)-1].rowPlace; query.down {
			query.to = last
		} else {
			query.from = last.next()
		}
	}
}

// attemptDays returns the days between two bounds that have rows of attempts, newest first. Like readRows it reads the
// old form first.
func attemptDays(ctx context.Context, q querier, from, to int64) ([]int64, error) {
	days, err := daysOf(ctx, q, "attempts", "day", from, to)
	if err != nil {
		return nil, err
	}
	packed, err := daysOf(ctx, q, "attempt_rows", "day", from, to)
	days = append(days, packed...)
	slices.SortFunc(days, func(a, b int64) int { return cmp.Compare(b, a) })
	return slices.Compact(days), err
}
