package store

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

// openColumns are the columns of attempts that are known when an attempt is opened; its settlement fills in
// settledColumns.
const (
	openColumns    = "day, request, n, journal, account, key, model, opened, opening"
	settledColumns = "outcome, provenance, cost, settlement"
	attemptColumns = openColumns + ", " + settledColumns
	numColumns     = 13
)

// insertOpened returns the insertion of open attempts. It leaves existing rows unchanged.
func insertOpened() *insertion {
	return &insertion{
		head:    "INSERT INTO attempts (" + attemptColumns + ") VALUES ",
		columns: numColumns,
		tail:    " ON CONFLICT (day, request, n) DO NOTHING",
	}
}

// insertSettled returns the insertion of settled attempts. It settles rows that are open and leaves settled rows
// unchanged, so that they do not count as changed.
func insertSettled() *insertion {
	var set []string
	for c := range strings.SplitSeq(settledColumns, ", ") {
		set = append(set, c+" = excluded."+c)
	}
	return &insertion{
		head:    "INSERT INTO attempts (" + attemptColumns + ") VALUES ",
		columns: numColumns,
		tail: " ON CONFLICT (day, request, n) DO UPDATE SET " + strings.Join(set, ", ") +
			" WHERE attempts.outcome = 'open'",
	}
}

// bindEntry appends the values of attemptColumns.
func bindEntry(dst []any, journal int64, a *ledger.Attempt, s *ledger.Settlement) []any {
	return append(dst, dayOf(a.Arrived), a.ID.Request.String(), int64(a.ID.N), journal, a.Account, a.Key, a.FullModel(),
		micros(a.Opened), encodeOpening(a),
		string(s.Outcome), string(s.Provenance), int64(s.Cost), encodeSettlement(a, s))
}

// scanEntry scans a row of attemptColumns. Only the version of the price is set.
func scanEntry(row scanner) (e ledger.Entry, err error) {
	var (
		day, journal, opened              int64
		request, model, opening, settling string
	)
	err = row.Scan(&day, &request, &e.ID.N, &journal, &e.Account, &e.Key, &model, &opened, &opening,
		&e.Outcome, &e.Provenance, &e.Cost, &settling)
	if err != nil {
		return e, err
	}
	if e.ID.Request, err = uuid.Parse(request); err != nil {
		return e, fmt.Errorf("attempt %q: %w", request, err)
	}
	e.Provider, e.Model, _ = strings.Cut(model, "/")
	e.Opened = fromMicros(opened)
	if err = decodeOpening(opening, &e.Attempt); err == nil {
		err = decodeSettlement(settling, &e.Attempt, &e.Settlement)
	}
	if err != nil {
		return e, fmt.Errorf("attempt %s: %w", e.ID, err)
	}
	return e, nil
}
