package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/refusal"
	"weir/internal/store"
)

// refusedModel is a naive table of refused requests.
type refusedModel map[refusal.Bucket]int64

func refusedText(r *rand.Rand, of string, n int) string {
	if n = r.IntN(n); n == 0 {
		return ""
	}
	return fmt.Sprintf("%s%d", of, n)
}

// write adds counts of some days before now.
func (m refusedModel) write(t *testing.T, s *store.DB, r *rand.Rand, now time.Time) {
	t.Helper()
	add := refusedModel{}
	for range 1 + r.IntN(40) {
		age := time.Duration(r.Int64N(int64(3 * 24 * time.Hour)))
		if r.IntN(2) == 0 {
			age = time.Duration(r.Int64N(int64(12 * 24 * time.Hour)))
		}
		b := refusal.Bucket{
			Minute: now.Add(-age).Truncate(time.Minute).Unix(), Account: refusedText(r, "a", 4),
			Reason: []llm.Code{llm.CodeRateLimited, llm.CodeForbidden, llm.CodeBudgetExceeded}[r.IntN(3)],
		}
		b.Key, b.Model = refusedText(r, "k", 5), refusedText(r, "house/m", 3+r.IntN(50))
		add[b] += 1 + r.Int64N(1000)
	}
	var counts []refusal.Count
	for b, n := range add {
		counts = append(counts, refusal.Count{Bucket: b, N: n})
		m[b] += n
	}
	slices.SortFunc(counts, func(a, b refusal.Count) int { return a.Compare(&b.Bucket) })
	must.Do(t, s.Refusals.Write(t.Context(), refusal.Batch{Counts: counts}))
}

// retain deletes old counts, and adds up those of the day before yesterday by hour.
func (m refusedModel) retain(before, now time.Time) {
	byHour := now.Add(-48 * time.Hour).Truncate(time.Hour).Unix()
	for b, n := range maps.Clone(m) {
		if b.Minute >= byHour {
			continue
		}
		delete(m, b)
		if b.Minute >= before.Truncate(24*time.Hour).Unix() {
			b.Minute -= b.Minute % 3600
			m[b] += n
		}
	}
}

// read answers a query as the store does.
func (m refusedModel) read(q *refusal.Query) (total int64, sums []refusal.Sum) {
	groups := map[refusal.Bucket]int64{}
	for b, n := range m {
		if !q.All && b.Account != q.Account || q.Key != "" && b.Key != q.Key || q.Model != "" && b.Model != q.Model ||
			q.Reason != "" && b.Reason != q.Reason || !q.From.IsZero() && b.Minute < q.From.Truncate(time.Minute).Unix() ||
			!q.Until.IsZero() && b.Minute >= q.Until.Truncate(time.Minute).Unix() {
			continue
		}
		total += n
		var by refusal.Bucket
		for _, g := range q.By {
			switch g {
			case refusal.ByAccount:
				by.Account = b.Account
			case refusal.ByKey:
				by.Key = b.Key
			case refusal.ByModel:
				by.Model = b.Model
			case refusal.ByReason:
				by.Reason = b.Reason
			case refusal.ByHour:
				by.Minute = b.Minute - b.Minute%3600
			case refusal.ByDay:
				by.Minute = b.Minute - b.Minute%86400
			default:
				by.Minute = b.Minute
			}
		}
		groups[by] += n
	}
	if len(q.By) == 0 {
		return total, nil
	}
	for b, n := range groups {
		sums = append(sums, refusal.Sum{Bucket: b, N: n})
	}
	slices.SortFunc(sums, func(a, b refusal.Sum) int {
		order := cmp.Or(cmp.Compare(b.Minute, a.Minute), cmp.Compare(b.N, a.N))
		for _, g := range q.By {
			if g != refusal.ByMinute && g != refusal.ByHour && g != refusal.ByDay {
				order = cmp.Or(order, strings.Compare(a.Value(g), b.Value(g)))
			}
		}
		return order
	})
	return total, sums[:min(len(sums), refusal.MostSums)]
}

func drawRefusedQuery(r *rand.Rand, now time.Time) (q refusal.Query) {
	q.All = r.IntN(5) > 0
	if !q.All {
		q.Account = refusedText(r, "a", 4)
	}
	if r.IntN(4) == 0 {
		q.Key = refusedText(r, "k", 5)
	}
	if r.IntN(4) == 0 {
		q.Model = refusedText(r, "house/m", 6)
	}
	if r.IntN(4) == 0 {
		q.Reason = llm.CodeForbidden
	}
	at := func() (at time.Time) {
		if r.IntN(4) == 0 {
			return at
		}
		at = now.Add(-time.Duration(r.Int64N(int64(14 * 24 * time.Hour))))
		return at.Truncate([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[r.IntN(4)])
	}
	q.From, q.Until = at(), at()
	columns := []refusal.Group{refusal.ByAccount, refusal.ByKey, refusal.ByReason, refusal.ByModel}
	r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	q.By = columns[:r.IntN(len(columns)+1)]
	if r.IntN(3) == 0 {
		q.By = append(slices.Clone(q.By), []refusal.Group{refusal.ByMinute, refusal.ByHour, refusal.ByDay}[r.IntN(3)])
		r.Shuffle(len(q.By), func(i, j int) { q.By[i], q.By[j] = q.By[j], q.By[i] })
	}
	return q
}

// TestReportsOfRefusalsMatchModel checks that reports of refused requests equal plain sums of random counts, while days
// are packed, counts come late, accounts close and old counts are deleted; and that they do not with a wrong packed day.
func TestReportsOfRefusalsMatchModel(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		db := behind(t, o)
		defer db.Close()
		for n := 1; n < 4; n++ {
			id := fmt.Sprintf("a%d", n)
			must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: id, Name: id, Created: now}))
		}
		r, m := rand.New(rand.NewPCG(7, 7)), refusedModel{}
		compare := func(queries int) (wrong string) {
			for range queries {
				q := drawRefusedQuery(r, now)
				total, sums := m.read(&q)
				got := must.Get(s.Refusals.Read(t.Context(), q))(t)
				if count := must.Get(s.Refusals.Count(t.Context(), q))(t); count != total || got.Total != total {
					wrong = fmt.Sprintf("%+v: got %d and %d, want %d", q, count, got.Total, total)
				}
				if !slices.Equal(got.Sums, sums) {
					i := 0
					for i < min(len(got.Sums), len(sums)) && got.Sums[i] == sums[i] {
						i++
					}
					wrong = fmt.Sprintf("%+v, %d sums of %d, from %d on: got\n%+v\nwant\n%+v", q, len(got.Sums), len(sums), i,
						got.Sums[i:min(i+3, len(got.Sums))], sums[i:min(i+3, len(sums))])
				}
			}
			return wrong
		}
		for step := range 60 {
			switch r.IntN(7) {
			case 0:
				now = now.Add(time.Duration(r.Int64N(int64(40 * time.Hour))))
			case 1, 2:
				must.Do(t, s.Refusals.PackRefusals(t.Context()))
			case 3:
				before := now.Add(-time.Duration(6+r.IntN(8)) * 24 * time.Hour)
				must.Do(t, s.Refusals.RetainRefusals(t.Context(), before))
				m.retain(before, now)
			default:
				m.write(t, s, r, now)
			}
			if step == 20 || step == 40 {
				id := fmt.Sprintf("a%d", step/20)
				must.Get(s.Accounts.CloseAccount(t.Context(), audit.Gateway(), id, now))(t)
				maps.DeleteFunc(m, func(b refusal.Bucket, _ int64) bool { return b.Account == id })
			}
			if wrong := compare(12); wrong != "" {
				t.Fatalf("step %d: %s", step, wrong)
			}
		}
		must.Do(t, s.Refusals.PackRefusals(t.Context()))
		const other = "(SELECT %s FROM refusals_days WHERE packed = version ORDER BY day LIMIT 1)"
		result := must.Get(db.ExecContext(t.Context(), "UPDATE refusals_days SET by_pair = "+fmt.Sprintf(other, "by_pair")+
			", by_all = "+fmt.Sprintf(other, "by_all")+" WHERE packed = version"))(t)
		if n := must.Get(result.RowsAffected())(t); n < 2 {
			t.Errorf("got %d packed days, want several", n)
		}
		if compare(100) == "" {
			t.Error("with wrong packed days the reports are right: this test would find nothing")
		}
	})
}
