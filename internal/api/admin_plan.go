package api

import (
	"time"

	"weir/internal/plan"
	"weir/internal/rawjson"
)

// Plan holds what a change would have done, in the format of the administration and weir plan.
type Plan struct {
	From    *time.Time     `json:"from"` // of the first and the last request; null if there are none
	To      *time.Time     `json:"to"`
	Rows    []PlanRow      `json:"data"`
	Total   PlanRow        `json:"total"`
	Cut     bool           `json:"cut"`               // there are more requests
	Changed []PlanDecision `json:"changed,omitempty"` // only if requested
}

// PlanRow holds the planned results of a key's requests.
type PlanRow struct {
	Account     string      `json:"account_id,omitempty"` // empty in the total
	AccountName string      `json:"account_name,omitempty"`
	Key         string      `json:"key_id,omitempty"`
	KeyLabel    string      `json:"key_label,omitempty"`
	Requests    int64       `json:"requests"`
	Refused     PlanRefused `json:"refused"`
	RefusedNow  int64       `json:"refused_unchanged"` // that the unchanged state would have refused
	Elsewhere   int64       `json:"elsewhere"`
	Estimated   int64       `json:"estimated"`
	Charged     string      `json:"charged_usd"`
	Planned     string      `json:"planned_usd"`
}

// PlanRefused counts the refused requests by reason.
type PlanRefused struct {
	Model  int64 `json:"model"`
	Limit  int64 `json:"limit"`
	Budget int64 `json:"budget"`
}

// PlanDecision holds the planned result of one request.
type PlanDecision struct {
	Request   string       `json:"request_id"`
	Account   string       `json:"account_id"`
	Key       string       `json:"key_id"`
	Model     string       `json:"model"`
	Refused   plan.Refusal `json:"refused,omitempty"`
	Target    string       `json:"target,omitempty"`
	Charged   string       `json:"charged_usd"`
	Planned   string       `json:"planned_usd"`
	Estimated bool         `json:"estimated"`
}

// PlanOf converts a plan to this format.
func PlanOf(r *plan.Result) Plan {
	v := Plan{Rows: []PlanRow{}, Total: planRowOf(&r.Total), Cut: r.Cut}
	if !r.From.IsZero() {
		v.From, v.To = &r.From, &r.To
	}
	for i := range r.Rows {
		v.Rows = append(v.Rows, planRowOf(&r.Rows[i]))
	}
	return v
}

func planRowOf(r *plan.Row) PlanRow {
	return PlanRow{
		Account: r.Account, AccountName: r.AccountName, Key: r.Key, KeyLabel: r.KeyLabel, Requests: r.Requests,
		Refused: PlanRefused{
			r.Refused[plan.RefusedModel], r.Refused[plan.RefusedLimit], r.Refused[plan.RefusedBudget],
		},
		RefusedNow: r.RefusedNow, Elsewhere: r.Elsewhere, Estimated: r.Estimated, Charged: r.Cost.String(),
		Planned: r.Planned.String(),
	}
}

// PlanDecisionOf converts the planned result of one request to this format.
func PlanDecisionOf(d *plan.Decision) PlanDecision {
	return PlanDecision{
		d.Request, d.Account, d.Key, d.Model, d.Refused, d.Target, d.Cost.String(), d.Planned.String(), d.Estimated,
	}
}

// plan answers what a change would have done.
func (h *adminConfig) plan(r *adminRequest) (answer, error) {
	var a plan.Ask
	var days int64
	changes := func(what string, to *map[string]plan.Change) field {
		return field{what, func(_ string, v []byte) (err error) {
			*to, err = plan.ParseChanges(what, v)
			return err
		}}
	}
	err := readFields("", r.body,
		field{"document", func(at string, v []byte) error {
			if a.Change.Text = v; rawjson.KindOf(v) != rawjson.Object {
				return wrongKind(at, "an object with the members providers, models, aliases, prices, limits, "+
					"cors or retention")
			}
			return nil
		}},
		changes("accounts", &a.Scopes.Accounts), changes("keys", &a.Scopes.Keys), field{"days", count(&days)},
	)
	if err != nil {
		return answer{}, err
	}
	a.Days = int(days)
	result, err := h.plans.Ask(r.Context(), a)
	return shown(result, err, PlanOf)
}
