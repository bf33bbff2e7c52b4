package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// abandon settles the attempts that a dead process left open, at their bounds. Only the last attempt of each request
// counts for it. The order is fixed, so that reading the journal again yields the same rows.
func (p *projector) abandon(restarted time.Time) {
	left := make([]Attempt, 0, len(p.open))
	for _, a := range p.open {
		left = append(left, *a)
	}
	slices.SortFunc(left, byID)
	for i := range left {
		a := &left[i]
		s := Settlement{
			Outcome: OutcomeUnknown, Provenance: Unknown, Usage: a.Bound, Cost: a.Hold, AtMost: a.Hold,
			Counts:   i == len(left)-1 || left[i+1].ID.Request != a.ID.Request,
			Duration: max(0, restarted.Sub(a.Opened)),
		}
		if !a.Price.Known() {
			s.Unpriced = a.Price.Unpriced(&a.Bound, "")
		}
		a.SetCharge(&s)
		p.settle(a.ID, &s)
	}
}

// settleEach settles one by one the attempts that a dead process left open, because the database has rejected them
// together. Those that it rejects again stay open.
func (p *projector) settleEach(ctx context.Context) error {
	for i := range p.batch.Settled {
		one := Batch{
			Journal: p.batch.Journal, From: p.batch.From, To: p.batch.From, Settled: p.batch.Settled[i : i+1],
		}
		if err := p.store.Apply(ctx, &one); err != nil && !errors.Is(err, ErrRejected) {
			return fmt.Errorf("settle attempt %s: %w", one.Settled[0].ID, err)
		}
	}
	return nil
}
