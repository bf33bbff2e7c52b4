package api

import (
	"errors"
	"net/http"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// correct adds an amount to the cost of an attempt, and answers with the attempt.
func (h *adminUsage) correct(r *adminRequest) (answer, error) {
	c := ledger.Correct{Account: r.visit.Account.ID}
	var given bool
	err := readFields("", r.body, field{"amount_usd", func(at string, v []byte) error {
		given = true
		return amount(&c.Amount)(at, v)
	}}, field{"reason", text(&c.Reason)})
	if err != nil {
		return answer{}, err
	}
	if !given {
		return answer{}, llm.Invalid("amount_usd", "amount_usd is missing. Give the amount to add to the cost.")
	}
	if c.ID, err = ledger.ParseAttemptID(r.PathValue("id") + "." + r.PathValue("n")); err != nil {
		return answer{}, noRequest("n")
	}
	if err := settled(r.Context(), h.ledger); err != nil {
		return answer{}, err
	}
	if err := h.admin.Ledger.Correct(r.Context(), r.by(), c); err != nil {
		return answer{}, refusedCorrection(err)
	}
	a, err := h.findAttempt(r)
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", viewAttempt(a))
}

// resolve sets the cost of an attempt with an unknown end.
func (h *adminUsage) resolve(r *adminRequest) (answer, error) {
	var cost llm.Money
	given := false
	err := readFields("", r.body, field{"cost_usd", func(at string, v []byte) error {
		given = true
		return amount(&cost)(at, v)
	}})
	if err == nil && !given {
		err = llm.Invalid("cost_usd", "cost_usd is missing. Give the cost, 0 if the provider did no work.")
	}
	if err != nil {
		return answer{}, err
	}
	a, err := h.findAttempt(r)
	if err != nil {
		return answer{}, err
	}
	if err := h.admin.Ledger.Decide(r.Context(), r.by(), a.ID, cost); err != nil {
		return answer{}, err
	}
	if a, err = h.findAttempt(r); err != nil {
		return answer{}, err
	}
	return found(viewAttempt(a))
}

// findAttempt finds the attempt in the path.
func (h *adminUsage) findAttempt(r *adminRequest) (*report.Attempt, error) {
	d, err := h.findRequest(r)
	if err != nil {
		return nil, err
	}
	if a := d.Attempt(r.PathValue("n")); a != nil {
		return a, nil
	}
	return nil, noRequest("n")
}

// refusedCorrection converts an error of a correction to the one that clients see.
func refusedCorrection(err error) error {
	switch {
	case errors.Is(err, ledger.ErrNoAttempt):
		return noRequest("n")
	case errors.Is(err, ledger.ErrOpen):
		return llm.Invalid("n", "The attempt is still running. Correct it after it has ended.")
	case errors.Is(err, ledger.ErrCorrections):
		return llm.Invalidf("n", "The attempt already has %d corrections by an amount, the maximum.",
			ledger.MaxCorrections)
	case errors.Is(err, ledger.ErrReason):
		return llm.Invalid("reason", "The reason must have 1 to 500 printable characters.")
	case errors.Is(err, ledger.ErrAmount):
		return llm.Invalidf("amount_usd", "The corrected cost must be from $0 to $%s, and the amount must not be "+
			"0 unless some of the "+
			"usage has no price.", llm.MaxCost)
	}
	return err
}
