package store

import (
	"slices"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/report"
)

// sift reports whether a request with these attempts matches a query.
func sift(q *report.RequestsQuery, list []storedRow) bool {
	has := func(is func(r *storedRow) bool) bool {
		return slices.ContainsFunc(list, func(r storedRow) bool { return is(&r) })
	}
	var charge llm.Money
	for i := range list {
		charge += list[i].Charge()
	}
	return (q.Socket == uuid.Nil || report.IsOfSocket(list[0].ID.Request, q.Socket)) &&
		(q.Model == "" || has(func(r *storedRow) bool {
			return r.FullModel() == q.Model || r.Requested == q.Model
		})) &&
		(q.Requested == "" || has(func(r *storedRow) bool { return r.Requested == q.Requested })) &&
		(q.ReplyID == "" || has(func(r *storedRow) bool { return r.ReplyID == q.ReplyID })) &&
		(q.Status == 0 || has(func(r *storedRow) bool { return r.Status == q.Status })) &&
		(q.Code == "" || has(func(r *storedRow) bool { return r.Code == q.Code })) &&
		has(func(r *storedRow) bool { return q.HasAttribution(&r.Attribution) }) && q.Costs.Has(charge)
}
