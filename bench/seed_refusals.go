package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"weir/internal/llm"
	"weir/internal/refusal"
)

// refusalDays is on how many of the last days requests are refused.
const (
	refusalDays    = 30
	refusalMinutes = int64(refusalDays * 24 * time.Hour / time.Minute)
)

// refusalsBefore returns how many counts are before a time.
func (s *seeding) refusalsBefore(at time.Time) int64 {
	minutes := refusalMinutes + int64(at.Sub(s.End)/time.Minute)
	return (minutes*s.Refusals + refusalMinutes - 1) / refusalMinutes
}

// refused returns how many counts an earlier run has written.
func (s *seeding) refused(ctx context.Context) (int64, error) {
	there, err := s.store.Refusals.Count(ctx, refusal.Query{All: true})
	if err != nil || there == 0 {
		return 0, err
	}
	later, err := s.store.Refusals.Read(ctx, refusal.Query{
		All: true, From: s.End, By: []refusal.Group{refusal.ByMinute},
	})
	if err != nil || len(later.Sums) == 0 {
		return s.Refusals, err
	}
	return s.refusalsBefore(time.Unix(later.Sums[0].Minute, 0).Add(time.Minute)), nil // the latest are first
}

// refuse writes counts of refused requests, each with its own minute, key and model, as recorders write them. A second
// run finds those of the first.
func (s *seeding) refuse(ctx context.Context) error {
	if s.Refusals == 0 {
		return nil
	}
	n, err := s.refused(ctx)
	if err != nil {
		return err
	}
	reasons := []llm.Code{
		llm.CodeRateLimited, llm.CodeRateLimited, llm.CodeBudgetExceeded, llm.CodeModelNotFound, llm.CodeForbidden,
	}
	bar, r := progress(s.progress, "refused requests"), rand.New(rand.NewPCG(5, 6))
	most := s.refusalsBefore(s.Until)
	for n < most {
		counts := map[refusal.Bucket]int64{}
		for ; n < most && len(counts) < seedBatch; n++ {
			u := s.users[r.IntN(len(s.users))]
			minute := s.End.Add(-time.Duration(refusalMinutes-n*refusalMinutes/s.Refusals) * time.Minute)
			counts[refusal.Bucket{
				Minute: minute.Unix(), Account: u.account, Key: u.key, Model: u.model,
				Reason: reasons[r.IntN(len(reasons))],
			}] = 1 + r.Int64N(20)
		}
		var b refusal.Batch
		for bucket, count := range counts {
			b.Counts = append(b.Counts, refusal.Count{Bucket: bucket, N: count})
		}
		slices.SortFunc(b.Counts, func(a, c refusal.Count) int { return a.Compare(&c.Bucket) })
		if err := s.store.Refusals.Write(ctx, b); err != nil {
			return err
		}
		bar(n, most)
	}
	return s.store.Refusals.RetainRefusals(ctx, s.End.AddDate(0, 0, -2*refusalDays))
}
