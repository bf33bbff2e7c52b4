package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/budget"
)

// adminStatements implements the calls about statements.
type adminStatements struct {
	statements *admin.Statements
	now        func() time.Time
}

func (h *adminStatements) list(r *adminRequest) (answer, error) {
	all, err := h.statements.List(r.Context(), r.visit.Account.ID)
	place := func(st *admin.Statement) string { return fmt.Sprintf("%09d", st.Number) }
	return listed(r.query, all, err, place, admin.ViewStatement)
}

func (h *adminStatements) show(r *adminRequest) (answer, error) {
	st, err := h.statements.Get(r.Context(), r.visit.Account.ID, r.PathValue("number"))
	if err != nil {
		return answer{}, err
	}
	return h.whole(r, &st)
}

// draft answers the statement of a month that is not closed.
func (h *adminStatements) draft(r *adminRequest) (answer, error) {
	month, err := monthOf(r.query.get("month"))
	if err != nil {
		return answer{}, err
	}
	st, err := h.statements.Draft(r.Context(), r.visit.Account.ID, month)
	if err != nil {
		return answer{}, err
	}
	return h.whole(r, &st)
}

// listOfMonth answers the statements of all accounts for a month, by default the last one.
func (h *adminStatements) listOfMonth(r *adminRequest) (answer, error) {
	month, err := monthOf(r.query.get("month"))
	if err != nil {
		return answer{}, err
	}
	if month == 0 {
		month = budget.PeriodMonth.Number(budget.PeriodMonth.Starts(h.now()).AddDate(0, -1, 0))
	}
	all, err := h.statements.OfMonth(r.Context(), month)
	place := func(st *admin.Statement) string { return st.Account }
	slices.SortFunc(all, func(a, b admin.Statement) int { return strings.Compare(a.Account, b.Account) })
	return listed(r.query, all, err, place, admin.ViewStatement)
}

// monthOf parses a month; 0 for an empty text.
func monthOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	at, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, wrongKind("month", `a month such as "2026-11"`)
	}
	return budget.PeriodMonth.Number(at), nil
}

// whole answers a statement with its lines, as CSV if the client accepts that.
func (h *adminStatements) whole(r *adminRequest, st *admin.Statement) (answer, error) {
	if r.Header.Get("Accept") == "text/csv" {
		var file bytes.Buffer
		err := st.WriteCSV(&file, st.AccountName)
		return answer{Status: http.StatusOK, Body: file.Bytes(), media: "text/csv; charset=utf-8"}, err
	}
	return found(admin.ViewWholeStatement(st))
}

func (h *adminStatements) close(r *adminRequest) (answer, error) {
	var month string
	if err := readFields("", r.body, field{"month", text(&month)}); err != nil {
		return answer{}, err
	}
	number, err := monthOf(month)
	if err != nil || number == 0 {
		return answer{}, wrongKind("month", `a month such as "2026-11"`)
	}
	st, err := h.statements.Close(r.Context(), r.by(), r.visit.Account.ID, number)
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", admin.ViewWholeStatement(&st))
}
