package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/report"
)

// Statements closes and lists the monthly statements of accounts.
type Statements struct {
	// Close closes the statement of an account, by its id, for a month, yyyymm. The error is a *llm.Error with
	// CodeInvalidRequest if that month cannot be closed.
	Close func(ctx context.Context, by audit.Actor, account string, month int64) (report.Statement, error)
	// List returns the statements of an account, by number.
	List func(ctx context.Context, account string) ([]report.Statement, error)
}

// statementView holds a statement; lists leave out its lines.
type statementView struct {
	Account     string              `json:"account"` // id
	Number      int64               `json:"number"`
	Month       string              `json:"month"`
	Closed      time.Time           `json:"closed"`
	ChargeUSD   string              `json:"charge_usd"`
	AtMostUSD   string              `json:"charge_at_most_usd"`
	Unpriced    int64               `json:"unpriced_attempts"` // attempts that add 0 for usage without a price
	Corrections string              `json:"corrections_usd"`   // corrections of earlier months, included in the charge
	Hash        string              `json:"hash"`
	Lines       []statementLineView `json:"lines,omitzero"`
}

type statementLineView struct {
	Date       string `json:"date"`
	Model      string `json:"model"`
	Requests   int64  `json:"requests"`
	Tokens     int64  `json:"tokens"`
	ChargeUSD  string `json:"charge_usd"`
	AtMostUSD  string `json:"charge_at_most_usd"`
	Correction bool   `json:"correction"` // of a date before the month
	Unpriced   int64  `json:"unpriced_attempts"`
}

func viewStatement(st *report.Statement) statementView {
	all, corrections := st.Totals()
	return statementView{
		Account: st.Account, Number: st.Number, Month: st.Month, Closed: st.Closed, ChargeUSD: all.Cost.String(),
		AtMostUSD: all.AtMost().String(), Unpriced: all.Unpriced, Corrections: corrections.Cost.String(), Hash: st.Hash,
	}
}

func viewWholeStatement(st *report.Statement) statementView {
	v := viewStatement(st)
	v.Lines = []statementLineView{}
	for i := range st.Lines {
		l := &st.Lines[i]
		v.Lines = append(v.Lines, statementLineView{
			l.Date, l.Model, l.Requests, l.Tokens, l.Charge.String(), l.AtMost().String(), st.IsCorrection(l),
			l.Unpriced,
		})
	}
	return v
}

// adminStatements implements the calls about statements.
type adminStatements struct{ statements Statements }

func (h *adminStatements) list(r *adminRequest) (answer, error) {
	all, err := h.statements.List(r.Context(), r.visit.Account.ID)
	place := func(st *report.Statement) string { return fmt.Sprintf("%09d", st.Number) }
	return listed(r.query, all, err, place, viewStatement)
}

func (h *adminStatements) show(r *adminRequest) (answer, error) {
	all, err := h.statements.List(r.Context(), r.visit.Account.ID)
	if err != nil {
		return answer{}, err
	}
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(all) {
		return answer{}, llm.Errorf(llm.CodeNotFound, "The account has no such statement: it has %d statements.",
			len(all)).At("number")
	}
	if r.Header.Get("Accept") == "text/csv" {
		var file bytes.Buffer
		err := all[n-1].WriteCSV(&file)
		return answer{Status: http.StatusOK, Body: file.Bytes(), media: "text/csv; charset=utf-8"}, err
	}
	return found(viewWholeStatement(&all[n-1]))
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
	return answered(http.StatusCreated, "", viewWholeStatement(&st))
}
