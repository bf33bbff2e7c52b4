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
const refusalDays = 30

// refuse writes counts of refused requests, each with its own minute, key and model, as recorders write them. A second
// run finds those of the first.
func (s *seeding) refuse(ctx context.Context) error {
	there, err := s.store.Refusals.Count(ctx, refusal.Query{All: true})
	if err != nil || s.Refusals == 0 || there > 0 {
		return err
	}
	reasons := []llm.Code{
		llm.CodeRateLimited, llm.CodeRateLimited, llm.CodeBudgetExceeded, llm.CodeModelNotFound, llm.CodeForbidden,
	}
	bar, r := progress(s.progress, "refused requests"), rand.New(rand.NewPCG(5, 6))
	span := int64(refusalDays * 24 * time.Hour / time.Minute)
	for n := int64(0); n < s.Refusals; {
		counts := map[refusal.Bucket]int64{}
		for ; n < s.Refusals && len(counts) < seedBatch; n++ {
			u := s.users[r.IntN(len(s.users))]
			minute := s.End.Add(-time.Duration(span-n*span/s.Refusals) * time.Minute)
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
		bar(n, s.Refusals)
	}
	return s.store.Refusals.RetainRefusals(ctx, s.End.AddDate(0, 0, -2*refusalDays))
}
