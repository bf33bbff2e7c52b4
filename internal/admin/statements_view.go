package admin

import "time"

// StatementView shows a statement; lists leave out its lines.
type StatementView struct {
	Account     string              `json:"account"`                // id
	AccountName string              `json:"account_name,omitempty"` // only for commands
	Number      int64               `json:"number"`
	Month       string              `json:"month"`
	Closed      time.Time           `json:"closed"`
	ChargeUSD   string              `json:"charge_usd"`
	AtMostUSD   string              `json:"charge_at_most_usd"`
	Unpriced    int64               `json:"unpriced_attempts"` // attempts that add 0 for usage without a price
	Corrections string              `json:"corrections_usd"`   // corrections of earlier months, included in the charge
	Hash        string              `json:"hash"`
	Lines       []StatementLineView `json:"lines,omitzero"`
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
	return StatementView{
		Account: st.Account, Number: st.Number, Month: st.Month, Closed: st.Closed, ChargeUSD: all.Cost.String(),
		AtMostUSD: all.AtMost().String(), Unpriced: all.Unpriced, Corrections: corrections.Cost.String(), Hash: st.Hash,
	}
}

// ViewWholeStatement returns the view of a statement with its lines.
func ViewWholeStatement(st *Statement) StatementView {
	v := ViewStatement(st)
	v.Lines = []StatementLineView{}
	for i := range st.Lines {
		l := &st.Lines[i]
		v.Lines = append(v.Lines, StatementLineView{
			l.Date, l.Model, l.Requests, l.Tokens, l.Charge.String(), l.AtMost().String(), st.IsCorrection(l),
			l.Unpriced,
		})
	}
	return v
}
