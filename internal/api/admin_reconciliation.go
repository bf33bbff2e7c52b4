package api

import (
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/reconcile"
)

// Reconciled compares a provider's report with the ledger, in the format of the administration.
type Reconciled struct {
	Provider    string          `json:"provider"`
	From        string          `json:"start_date"` // UTC days, inclusive
	To          string          `json:"end_date"`
	Rows        []ReconciledRow `json:"data"`
	Unexplained int             `json:"unexplained"` // rows
	OtherUSD    string          `json:"other_usd"`   // charges of the provider that belong to no model
}

// ReconciledRow compares a model's usage and cost on a day, by the ledger and by the provider.
type ReconciledRow struct {
	Date      string            `json:"date"`
	Model     string            `json:"model"`
	Ours      ReconciledTokens  `json:"ours"`
	Theirs    ReconciledTokens  `json:"theirs"`
	OursUSD   string            `json:"ours_usd"`
	AtMostUSD string            `json:"ours_at_most_usd"`
	TheirsUSD *string           `json:"theirs_usd"` // null if the provider does not report the cost of the model
	Finding   reconcile.Finding `json:"finding"`
	Explained bool              `json:"explained"`
}

// ReconciledTokens holds tokens; input includes cached tokens.
type ReconciledTokens struct {
	Input  int64 `json:"input"`
	Cached int64 `json:"cached"`
	Output int64 `json:"output"`
}

// ReconciledRowOf converts a row to this format.
func ReconciledRowOf(r *reconcile.Row) ReconciledRow {
	return ReconciledRow{
		Date: r.Day, Model: r.Model, Ours: ReconciledTokens(r.Ours.Usage), Theirs: ReconciledTokens(r.Theirs),
		OursUSD: r.Ours.Cost.String(), AtMostUSD: (r.Ours.Cost + r.Ours.Uncertain).String(), TheirsUSD: usd(r.Cost),
		Finding: r.Finding, Explained: r.Finding.Explained(),
	}
}

// adminReconciliation answers whether a provider's report agrees with the ledger.
type adminReconciliation struct {
	reconciliation *admin.Reconciliation
	now            func() time.Time
}

// reconciledDays is the default number of days to compare.
const reconciledDays = 7

func (h *adminReconciliation) show(r *adminRequest) (answer, error) {
	a := reconcile.Ask{Provider: r.query.get("provider")}
	if a.Provider == "" {
		return answer{}, llm.Invalid("provider", "provider is missing. Name one, such as provider=openai.")
	}
	from, to, err := r.query.dates()
	if err != nil {
		return answer{}, err
	}
	if a.To, err = time.Parse(time.DateOnly, to); err != nil { // no end_date was given
		a.To = h.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	}
	if a.From, err = time.Parse(time.DateOnly, from); err != nil {
		a.From = a.To.AddDate(0, 0, 1-reconciledDays)
	}
	result, err := h.reconciliation.Ask(r.Context(), a)
	return shown(result, err, func(found *reconcile.Result) Reconciled {
		v := Reconciled{
			Provider: a.Provider, From: a.From.Format(time.DateOnly), To: a.To.Format(time.DateOnly),
			Rows: []ReconciledRow{}, Unexplained: found.Unexplained(), OtherUSD: found.Other.String(),
		}
		for i := range found.Rows {
			v.Rows = append(v.Rows, ReconciledRowOf(&found.Rows[i]))
		}
		return v
	})
}
