package store

import (
	"fmt"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// sifted collects what the attempts of a request have in common with a query.
type sifted struct {
	model, requested, attributed, replyID, status, code bool
	cost                                                llm.Money // the charge
}

// needsSettlement reports whether a query depends on settlements.
func needsSettlement(q *report.RequestsQuery) bool {
	return q.ReplyID != "" || q.Status != 0 || q.Code != "" || q.Costs != (report.MoneyRange{})
}

// needsOpening reports whether a query depends on openings.
func needsOpening(q *report.RequestsQuery) bool {
	return q.Model != "" || q.Requested != "" || q.User != "" || len(q.Tags) > 0 || needsSettlement(q)
}

// add compares an attempt with a query.
func (s *sifted) add(q *report.RequestsQuery, r *looked) error {
	if !needsOpening(q) {
		s.attributed = true
		return nil
	}
	e := ledger.Entry{}
	e.Provider, e.Model, _ = strings.Cut(r.model, "/")
	e.Outcome, e.Cost = ledger.Outcome(r.outcome), llm.Money(r.cost)
	if err := decodeOpening(r.opening, &e.Attempt); err != nil {
		return fmt.Errorf("attempt %s.%d: %w", r.request, r.n, err)
	}
	s.model = s.model || r.model == q.Model || e.Requested == q.Model
	s.requested = s.requested || e.Requested == q.Requested
	s.attributed = s.attributed || q.HasAttribution(&e.Attribution)
	if !needsSettlement(q) || r.settlement == "" {
		return nil
	}
	if err := decodeSettlement(r.settlement, &e.Attempt, &e.Settlement); err != nil {
		return fmt.Errorf("attempt %s.%d: %w", r.request, r.n, err)
	}
	s.replyID = s.replyID || e.ReplyID == q.ReplyID
	s.status = s.status || e.Status == q.Status
	s.code = s.code || e.Code == q.Code
	s.cost += e.Cost + e.Margin
	return nil
}

// matches reports whether a request with these attempts matches the query.
func (s *sifted) matches(q *report.RequestsQuery) bool {
	return (s.model || q.Model == "") && (s.requested || q.Requested == "") && (s.replyID || q.ReplyID == "") &&
		(s.status || q.Status == 0) && (s.code || q.Code == "") && s.attributed && q.Costs.Has(s.cost)
}
