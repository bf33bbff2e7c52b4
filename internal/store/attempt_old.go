package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

// attemptColumns are the columns of attempts, the table of rows that earlier versions wrote. See PackAttempts.
const attemptColumns = "day, request, n, journal, account, key, model, opened, opening, outcome, provenance, cost, " +
	"settlement"

// isResolved is the SQL condition that a correction has resolved a row of attempts: see ledger.Row.Resolved.
const isResolved = "EXISTS (SELECT 1 FROM corrections c WHERE c.day = attempts.day AND c.request = attempts.request " +
	"AND c.n = attempts.n" +
	" AND (c.kind = '" + ledger.CorrectionResolved + "' OR (c.unpriced <> 0 OR c.margin_unpriced <> 0)" +
	" AND attempts.provenance IN " +
	"('exact', 'assumed')))"

// oldState is the state of a row of attempts: see stateOf. A resolved one is known.
const oldState = "CASE WHEN outcome = 'open' THEN 0 WHEN NOT (provenance = 'unknown'" +
	" OR settlement LIKE '%\"at_most\":%' OR settlement LIKE '%\"margin_uncertain\":%') OR " + isResolved + " THEN 1" +
	" WHEN provenance IN ('estimated', 'unknown') THEN 5 ELSE 4 END"

// readOldRows returns the selected rows of attempts.
func readOldRows(ctx context.Context, q querier, query *rowsQuery) ([]storedRow, error) {
	text, args := query.oldSQL()
	rows, err := q.QueryContext(ctx, "SELECT "+attemptColumns+", "+oldState+text, args...)
	return collect(rows, err, scanOldRow)
}

// oldSQL returns the query after its columns.
func (q *rowsQuery) oldSQL() (text string, args []any) {
	from, n := oldPlace(q.from)
	to, m := oldPlace(q.to)
	where, args := "(day, request, n) >= (?, ?, ?) AND (day, request, n) < (?, ?, ?)", []any{
		q.from.day, from, n, q.to.day, to, m,
	}
	if q.account != "" {
		where, args = where+" AND account = ?", append(args, q.account)
	}
	if q.open {
		where += " AND outcome = 'open'"
	}
	if q.least > stateOpen {
		where, args = where+" AND "+oldState+" >= ?", append(args, q.least)
	}
	if q.most > stateOpen {
		where, args = where+" AND "+oldState+" <= ?", append(args, q.most)
	}
	order := " ORDER BY day, request, n"
	if q.down {
		order = " ORDER BY day DESC, request DESC, n DESC"
	}
	return " FROM attempts WHERE " + where + order + " LIMIT ?", append(args, int64(q.limit))
}

// oldPlace returns the request and the number of the first attempt that may be at a place.
func oldPlace(p rowPlace) (request string, n int64) {
	if len(p.id) < len(uuid.UUID{}) {
		return "", 0
	}
	var id uuid.UUID
	switch rest := p.id[copy(id[:], p.id):]; len(rest) {
	case 0:
		return id.String(), 1
	case 1: // next of the first attempt
		return id.String(), 2
	default:
		return id.String(), int64(rest[0])<<8 + int64(rest[1]) + number(len(rest) > 2)
	}
}

// scanOldRow scans a row of attemptColumns and its state.
func scanOldRow(row scanner) (r storedRow, err error) {
	var (
		opened                            int64
		request, model, opening, settling string
	)
	err = row.Scan(&r.day, &request, &r.ID.N, &r.journal, &r.Account, &r.Key, &model, &opened, &opening,
		&r.Outcome, &r.Provenance, &r.Cost, &settling, &r.state)
	if err != nil {
		return r, err
	}
	if r.ID.Request, err = uuid.Parse(request); err != nil {
		return r, fmt.Errorf("attempt %q: %w", request, err)
	}
	r.id = string(rowID(nil, r.ID))
	r.Provider, r.Model, _ = strings.Cut(model, "/")
	r.Opened = fromMicros(opened)
	if err = decodeOpening(opening, &r.Attempt); err == nil {
		err = decodeSettlement(settling, &r.Attempt, &r.Settlement)
	}
	if err != nil {
		return r, fmt.Errorf("attempt %s: %w", r.ID, err)
	}
	return r, nil
}
