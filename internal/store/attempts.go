package store

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// openColumns are the columns of attempts that are known when an attempt is
// opened, settledColumns those that its settlement fills in.
const (
	openColumns    = "day, request, n, journal, account, key, requested, provider, model, opened, stream, price, bound, hold"
	settledColumns = "outcome, provenance, usage, cost, counts, finish, tier, code, status, first_token, duration"
	attemptColumns = openColumns + ", " + settledColumns
	numColumns     = 25
)

// insertOpened leaves rows alone that are there.
func insertOpened() *insertion {
	return &insertion{
		head:    "INSERT INTO attempts (" + attemptColumns + ") VALUES ",
		columns: numColumns,
		tail:    " ON CONFLICT (day, request, n) DO NOTHING",
	}
}

// insertSettled settles rows that are open, and leaves alone those that are
// settled: they do not count as touched.
func insertSettled() *insertion {
	var set []string
	for c := range strings.SplitSeq(settledColumns, ", ") {
		set = append(set, c+" = excluded."+c)
	}
	return &insertion{
		head:    "INSERT INTO attempts (" + attemptColumns + ") VALUES ",
		columns: numColumns,
		tail:    " ON CONFLICT (day, request, n) DO UPDATE SET " + strings.Join(set, ", ") + " WHERE attempts.outcome = 'open'",
	}
}

// bindEntry appends the values of attemptColumns.
func bindEntry(dst []any, journal int64, a *ledger.Attempt, s *ledger.Settlement) []any {
	requested := a.Requested
	if isFullModel(requested, a) {
		requested = ""
	}
	return append(dst,
		dayOf(a.Opened), a.ID.Request.String(), int64(a.ID.N), journal, a.Account, a.Key, requested, a.Provider, a.Model,
		micros(a.Opened), number(a.Stream), a.Price.Version, encodeCounts((*[llm.NumClasses]int64)(&a.Bound)), int64(a.Hold),
		string(s.Outcome), string(s.Provenance), encodeCounts((*[llm.NumClasses]int64)(&s.Usage)), int64(s.Cost), number(s.Counts),
		string(s.Finish), s.Tier, string(s.Code), int64(s.Status), s.FirstToken.Microseconds(), s.Duration.Microseconds())
}

// isFullModel reports whether name is a.FullModel(), which most clients ask
// for, so that it need not be stored twice.
func isFullModel(name string, a *ledger.Attempt) bool {
	rest, ok := strings.CutPrefix(name, a.Provider)
	return ok && strings.HasPrefix(rest, "/") && rest[1:] == a.Model
}

// scanEntry reads a row of attemptColumns. Of the price only the version is
// set.
func scanEntry(row scanner) (ledger.Entry, error) {
	var (
		e                         ledger.Entry
		day, journal              int64
		request, bound, usage     string
		opened, firstToken, spent int64
	)
	err := row.Scan(&day, &request, &e.ID.N, &journal, &e.Account, &e.Key, &e.Requested, &e.Provider, &e.Model,
		&opened, &e.Stream, &e.Price.Version, &bound, &e.Hold,
		&e.Outcome, &e.Provenance, &usage, &e.Cost, &e.Counts,
		&e.Finish, &e.Tier, &e.Code, &e.Status, &firstToken, &spent)
	if err != nil {
		return e, err
	}
	if e.ID.Request, err = uuid.Parse(request); err != nil {
		return e, fmt.Errorf("attempt %q: %w", request, err)
	}
	if e.Requested == "" {
		e.Requested = e.FullModel()
	}
	e.Opened = fromMicros(opened)
	e.FirstToken = time.Duration(firstToken) * time.Microsecond
	e.Duration = time.Duration(spent) * time.Microsecond
	if e.Bound, err = decodeCounts(bound); err == nil {
		e.Usage, err = decodeCounts(usage)
	}
	if err != nil {
		return e, fmt.Errorf("attempt %s: %w", e.ID, err)
	}
	return e, nil
}
