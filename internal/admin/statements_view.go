package admin

import (
	"time"

	"weir/internal/report"
)

// StatementView shows a statement; lists leave out its lines.
type StatementView struct {
	Account     string              `json:"account"`      // id
	AccountName string              `json:"account_name"` // empty for a deleted account
	Draft       bool                `json:"draft"`        // it is not closed: it has no number and no hash
	Number      int64               `json:"number"`
	Month       string              `json:"month"`
	Closed      *time.Time          `json:"closed"` // null for a draft
	Currency    string              `json:"currency"`
	PayableUSD  string              `json:"amount_payable_usd"` // the charge, rounded to cents: see report.Payable
	RoundingUSD string              `json:"rounding_usd"`       // amount_payable_usd minus charge_usd
	ChargeUSD   string              `json:"charge_usd"`
	AtMostUSD   string              `json:"charge_at_most_usd"`
	Unpriced    int64               `json:"unpriced_attempts"` // attempts that add 0 for usage without a price
	Corrections string              `json:"corrections_usd"`   // corrections of earlier months, included in the charge
	Hash        string              `json:"hash"`
	Models      []ModelChargeView   `json:"models,omitzero"` // all lines of each model, the highest charge first
	Lines       []StatementLineView `json:"lines,omitzero"`
}

// ModelChargeView shows the charge of a model in a statement.
type ModelChargeView struct {
	Model     string `json:"model"`
	Requests  int64  `json:"requests"`
	Tokens    int64  `json:"tokens"`
	ChargeUSD string `json:"charge_usd"`
	AtMostUSD string `json:"charge_at_most_usd"`
	Unpriced  int64  `json:"unpriced_attempts"`
}

// StatementLineView shows a line of a statement.
type StatementLineView struct {
	Date       string `json:"date"`
	Model      string `json:"model"`
	Requests   int64  `json:"requests"`
	Tokens     int64  `json:"tokens"`
	ChargeUSD  string `json:"charge_usd"`
	AtMostUSD  string `json:"charge_at_most_usd"`
	Correction bool   `json:"correction"` // of a date before the month
	Unpriced   int64  `json:"unpriced_attempts"`
}

// ViewStatement returns the view of a statement without its lines.
func ViewStatement(st *Statement) StatementView {
	all, corrections := st.Totals()
	payable, rounding := st.Payable()
	var closed *time.Time
	if !st.Draft() {
		closed = &st.Closed
	}
	return StatementView{
		Account: st.Account, AccountName: st.AccountName, Draft: st.Draft(), Number: st.Number, Month: st.Month,
		Closed: closed, Currency: report.Currency, PayableUSD: payable.String(), RoundingUSD: rounding.String(),
		ChargeUSD: all.Cost.String(),
		AtMostUSD: all.AtMost().String(), Unpriced: all.Unpriced, Corrections: corrections.Cost.String(), Hash: st.Hash,
	}
}

// ViewWholeStatement returns the view of a statement with its lines.
func ViewWholeStatement(st *Statement) StatementView {
	v := ViewStatement(st)
	v.Models, v.Lines = []ModelChargeView{}, []StatementLineView{}
	for _, m := range st.ByModel() {
		v.Models = append(v.Models, ModelChargeView{
			m.Model, m.Requests, m.Tokens, m.Charge.String(), m.AtMost().String(), m.Unpriced,
		})
	}
	for i := range st.Lines {
		l := &st.Lines[i]
		v.Lines = append(v.Lines, StatementLineView{
			l.Date, l.Model, l.Requests, l.Tokens, l.Charge.String(), l.AtMost().String(), st.IsCorrection(l),
			l.Unpriced,
		})
	}
	return v
}
