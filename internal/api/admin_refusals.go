package api

import (
	"cmp"
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/refusal"
)

// refusalsOver is the period of refusals without the parameter from.
const refusalsOver = 24 * time.Hour

// adminRefusals implements the calls about refused requests.
type adminRefusals struct{ admin *admin.Admin }

// listOfAccount answers the refusals of an account.
func (h *adminRefusals) listOfAccount(r *adminRequest) (answer, error) {
	q, err := h.query(r, "key,reason,model")
	if err != nil {
		return answer{}, err
	}
	q.Account = r.visit.Account.ID
	v, err := h.admin.Refusals.Read(r.Context(), q)
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

// list answers the refusals of all accounts, or of one of them.
func (h *adminRefusals) list(r *adminRequest) (answer, error) {
	q, err := h.query(r, "account,reason")
	if err != nil {
		return answer{}, err
	}
	v, err := h.admin.Refusals.ReadOf(r.Context(), r.query.get("account"), q)
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

// query builds the query from the query string.
func (h *adminRefusals) query(r *adminRequest, groups string) (q refusal.Query, err error) {
	q.Key, q.Model, q.Reason = r.query.get("key"), r.query.get("model"), llm.Code(r.query.get("reason"))
	if q.By, err = refusal.ParseGroups(cmp.Or(r.query.get("group_by"), groups)); err != nil {
		return q, err
	}
	if q.From, err = r.query.instant("from"); err != nil {
		return q, err
	}
	if q.Until, err = r.query.instant("to"); err != nil {
		return q, err
	}
	if q.From.IsZero() {
		q.From = cmp.Or(q.Until, h.admin.Now()).Add(-refusalsOver)
	}
	if !q.Until.IsZero() && !q.From.Before(q.Until) {
		return q, llm.Invalid("from", "from must be before to.")
	}
	return q, q.Check()
}
