package store

import (
	"context"
	"sync"
	"time"
)

// Retention says how long data is stored that is deleted by age.
type Retention struct {
	Requests     time.Duration // refusals and rows of attempts; unresolved ones are stored twice as long
	Explanations time.Duration // of the sums of days
	Attribution  time.Duration // sums by end user and tag
	Content      time.Duration // of requests and answers
	Tags         []string      // tags that these sums report separately: see Ledger.Attribute
}

const (
	retainEvery = time.Hour
	// eraseEvery is how late expired content is deleted, at most.
	eraseEvery = time.Minute
)

// RunRetention deletes expired data every hour until ctx ends.
func (s *DB) RunRetention(ctx context.Context, now func() Retention) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.runPacking(ctx) })
	running.Go(func() { s.runPackingHours(ctx) })
	running.Go(func() { s.runErasing(ctx, now) })
	every := time.NewTicker(retainEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			r := now()
			s.retain(ctx, &r)
		}
	}
}

// runErasing deletes expired content every minute until ctx ends.
func (s *DB) runErasing(ctx context.Context, now func() Retention) {
	every := time.NewTicker(eraseEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			s.notDeleted(ctx, "content", s.Content.Retain(ctx, s.Now().Add(-now().Content)))
			s.notDeleted(ctx, "answers", s.Answers.Retain(ctx))
			s.notDeleted(ctx, "grants of programs", s.OAuth.RetainGrants(ctx))
		}
	}
}

// runPacking packs rows of earlier versions at the start and every hour, because nodes of an earlier version may add
// some, until ctx ends.
func (s *DB) runPacking(ctx context.Context) {
	every := time.NewTicker(retainEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		packed, err := s.Ledger.PackAttempts(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("rows of an earlier version could not be packed; they are read as they are", "err", err)
		}
		if packed > 0 {
			s.log.Info("rows of an earlier version packed", "rows", packed)
		}
		select {
		case <-ctx.Done():
		case <-every.C:
		}
	}
}

func (s *DB) retain(ctx context.Context, r *Retention) {
	if err := s.Attribution.Attribute(ctx, s.Now().Add(-r.Attribution), r.Tags); err != nil && ctx.Err() == nil {
		s.log.Error("usage could not be added up by end user and tag; reports read the requests meanwhile", "err", err)
	}
	if err := s.Attribution.PackRollups(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("usage of all accounts could not be packed; reports read the sums of each account meanwhile",
			"err", err)
	}
	if err := s.Attribution.PackHours(ctx, true); err != nil && ctx.Err() == nil {
		s.log.Error("hours could not be packed again", "err", err)
	}
	s.notDeleted(ctx, "end users and tags of closed accounts", s.forgetClosed(ctx))
	s.notDeleted(ctx, "sums by end user and tag", s.Attribution.RetainAttribution(ctx, s.Now().Add(-r.Attribution)))
	before := s.Now().Add(-r.Requests)
	deleted, err := s.Ledger.Retain(ctx, before, before.Add(-r.Requests), r.Tags)
	s.notDeleted(ctx, "request rows", err)
	if deleted.Rows > 0 {
		s.log.Info("request rows deleted after retention; their sums are kept", "rows", deleted.Rows)
	}
	if deleted.Unresolved > 0 {
		s.log.Warn("unresolved request rows deleted after retention: their upper bounds stay in the sums",
			"rows", deleted.Unresolved)
	}
	s.notDeleted(ctx, "refused requests", s.Refusals.RetainRefusals(ctx, before))
	s.notDeleted(ctx, "cost explanations", s.Ledger.RetainExplanations(ctx, s.Now().Add(-r.Explanations)))
	s.notDeleted(ctx, "events", s.Deliveries.RetainEvents(ctx))
	s.notDeleted(ctx, "questions to providers", s.Corrections.RetainQuestions(ctx))
	s.notDeleted(ctx, "budget leases", s.Leases.RetainBudgets(ctx))
	_, err = s.Kept.IdempotencySweep(ctx)
	s.notDeleted(ctx, "replies", err)
	_, err = s.Kept.SweepResponses(ctx)
	s.notDeleted(ctx, "responses", err)
}

// notDeleted logs an error, unless ctx has ended.
func (s *DB) notDeleted(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("expired data could not be deleted", "what", what, "err", err)
	}
}
