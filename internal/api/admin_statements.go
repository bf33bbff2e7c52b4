package api

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"weir/internal/admin"
	"weir/internal/budget"
)

// adminStatements implements the calls about statements.
type adminStatements struct{ statements *admin.Statements }

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
	if r.Header.Get("Accept") == "text/csv" {
		var file bytes.Buffer
		err := st.WriteCSV(&file)
		return answer{Status: http.StatusOK, Body: file.Bytes(), media: "text/csv; charset=utf-8"}, err
	}
	return found(admin.ViewWholeStatement(&st))
}

func (h *adminStatements) close(r *adminRequest) (answer, error) {
	var month string
	if err := readFields("", r.body, field{"month", text(&month)}); err != nil {
		return answer{}, err
	}
	at, err := time.Parse("2006-01", month)
	if err != nil {
		return answer{}, wrongKind("month", `a month such as "2026-11"`)
	}
	st, err := h.statements.Close(r.Context(), r.by(), r.visit.Account.ID, budget.PeriodMonth.Number(at))
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", admin.ViewWholeStatement(&st))
}
