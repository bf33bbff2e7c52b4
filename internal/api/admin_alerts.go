package api

import "weir/internal/admin"

// adminAlerts implements the calls about alerts.
type adminAlerts struct{ alerts *admin.Alerts }

// list answers the kinds of alerts and those that fired last.
func (h *adminAlerts) list(r *adminRequest) (answer, error) {
	v, err := h.alerts.List(r.Context())
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

// listOfAccount answers the kinds of alerts of accounts, and those of an account that fired last.
func (h *adminAlerts) listOfAccount(r *adminRequest) (answer, error) {
	v, err := h.alerts.ListOf(r.Context(), r.visit.Account)
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

// test sends a test of a kind.
func (h *adminAlerts) test(r *adminRequest) (answer, error) {
	if err := readFields("", r.body); err != nil {
		return answer{}, err
	}
	v, err := h.alerts.Test(r.Context(), r.PathValue("kind"))
	if err != nil {
		return answer{}, err
	}
	return found(v)
}
