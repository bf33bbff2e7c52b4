package api

import (
	"weir/internal/admin"
	"weir/internal/alert"
	"weir/internal/rawjson"
)

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

// setLimits changes limits of an account: all of them or nothing (RFC 7396).
func (h *adminAlerts) setLimits(r *adminRequest) (answer, error) {
	changes := alert.Changes{}
	var fields []field
	for _, k := range alert.Kinds() {
		if k.OfAccounts() {
			fields = append(fields, field{string(k), alertLimit(k, changes)})
		}
	}
	if err := readFields("", r.body, fields...); err != nil {
		return answer{}, err
	}
	v, err := h.alerts.SetLimits(r.Context(), r.by(), r.visit.Account, changes)
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

// alertLimit reads a limit; null returns to the limit of the installation.
func alertLimit(k alert.Kind, changes alert.Changes) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		n, ok := rawjson.AsInt(v)
		if changes[k] = &n; isNull(v) {
			changes[k], ok = nil, true
		}
		if !ok {
			return wrongKind(at, "a whole number from 0, where 0 switches the alert off, or null for the limit of the "+
				"installation")
		}
		return nil
	}
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
