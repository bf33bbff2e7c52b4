package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/refusal"
	"weir/internal/store"
)

// refusedAt returns counts of a day, each once.
func refusedAt(day time.Time, seed uint64, most int) (counts []refusal.Count) {
	r := rand.New(rand.NewPCG(seed, 1))
	reasons := []llm.Code{llm.CodeRateLimited, llm.CodeForbidden, llm.CodeBudgetExceeded}
	for i := range most {
		account := r.IntN(5)
		counts = append(counts, refusal.Count{N: int64(i + 1), Bucket: refusal.Bucket{
			Minute: day.Add(time.Duration(r.IntN(24*60)) * time.Minute).Unix(), Account: fmt.Sprintf("a%d", account),
			Key: fmt.Sprintf("k%d", account*3+r.IntN(3)), Model: fmt.Sprintf("house/m%d", i), Reason: reasons[r.IntN(3)],
		}})
	}
	slices.SortFunc(counts, func(a, b refusal.Count) int { return a.Compare(&b.Bucket) })
	return counts
}

// TestPackedDaysOfRefusalsAreReadAndRepaired checks that reports read packed days: one that is replaced by another day
// changes them, until the hourly check finds that its sum is wrong. Later counts of a packed day, and their deletion
// with an account, are in the reports at once.
func TestPackedDaysOfRefusalsAreReadAndRepaired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		db := behind(t, o)
		defer db.Close()
		midnight := now.Truncate(24 * time.Hour)
		write := func(counts []refusal.Count) {
			t.Helper()
			must.Do(t, s.Refusals.Write(t.Context(), refusal.Batch{Counts: counts}))
		}
		retain := func() { must.Do(t, s.Refusals.RetainRefusals(t.Context(), now.AddDate(0, 0, -30))) }
		read := func() (sums [2]int64) {
			t.Helper()
			q := refusal.Query{All: true, From: midnight.AddDate(0, 0, -9).Add(90 * time.Minute)}
			for i, by := range [][]refusal.Group{{refusal.ByAccount, refusal.ByReason}, {refusal.ByKey, refusal.ByModel}} {
				q.By = by
				for _, sum := range must.Get(s.Refusals.Read(t.Context(), q))(t).Sums {
					sums[i] += sum.N
				}
			}
			return sums
		}
		for age := range 10 {
			write(refusedAt(midnight.AddDate(0, 0, -age), uint64(age), 30))
		}
		want := read()
		retain()
		var days int
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM refusals_days WHERE packed = version").Scan(&days))
		must.Equal(t, days, 9, "packed days")
		must.Equal(t, read(), want, "sums of packed days")

		extra := refusedAt(midnight.AddDate(0, 0, -3), 99, 1)
		write(extra)
		want[0], want[1] = want[0]+extra[0].N, want[1]+extra[0].N
		must.Equal(t, read(), want, "sums with a late count")
		retain()
		must.Equal(t, read(), want, "sums of a day that is packed again")

		must.Get(db.ExecContext(t.Context(), "UPDATE refusals_days SET by_pair = (SELECT by_pair FROM refusals_days WHERE day = $1),"+
			" by_all = (SELECT by_all FROM refusals_days WHERE day = $1) WHERE day = $2",
			midnight.AddDate(0, 0, -3).Unix(), midnight.AddDate(0, 0, -2).Unix()))(t)
		if got := read(); got[0] == want[0] || got[1] == want[1] {
			t.Errorf("with a packed day that is wrong: got %v, want others than %v", got, want)
		}
		retain()
		must.Equal(t, read(), want, "sums after the check")

		must.Get(db.ExecContext(t.Context(), "UPDATE refusals_days SET by_pair = $1, by_all = $1", []byte{1, 200, 7}))(t)
		must.Equal(t, read(), want, "sums with damaged rows")
	})
}
