package storetest

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/refusal"
	"weir/internal/store"
)

// recorder returns a recorder of a node.
func (f *fixture) recorder(s *store.DB) *refusal.Recorder {
	return refusal.NewRecorder(refusal.Options{
		Write: s.Refusals.Write, Counted: func(refusal.Refusal) {}, Now: f.clock, Log: slog.New(slog.DiscardHandler),
	})
}

// refused returns a refusal at a time.
func refused(at time.Time, account, key, model string, reason llm.Code) refusal.Refusal {
	return refusal.Refusal{
		Request: uuid.Must(uuid.NewV7()), At: at, Account: account, Key: key, Model: model, Reason: reason, Status: 429,
		Message: "Wait.",
	}
}

// testRefusals checks that the counts of two nodes add up, however they are written, and that the latest refusals of an
// account are stored.
func testRefusals(t *testing.T, f *fixture) {
	begin := noon.Truncate(time.Hour)
	const each = 3000
	var nodes sync.WaitGroup
	for n := range 2 {
		nodes.Go(func() {
			r, random := f.recorder(f.open(t)), rand.New(rand.NewPCG(7, uint64(n)))
			for i := range each {
				account := fmt.Sprintf("acc_%d", i%3)
				r.Add(refused(begin.Add(time.Duration(random.IntN(600))*time.Second), account, account+"_key",
					fmt.Sprintf("house/m%d", random.IntN(30)), llm.CodeRateLimited))
				if random.IntN(200) == 0 {
					must.Do(t, r.Flush(t.Context()))
				}
			}
			must.Do(t, r.Flush(t.Context()))
		})
	}
	nodes.Wait()
	all := must.Get(f.Refusals.Read(t.Context(), refusal.Query{All: true, By: []refusal.Group{refusal.ByAccount}}))(t)
	must.Equal(t, all.Total, int64(2*each), "refusals of all accounts")
	must.Equal(t, all.Sums, []refusal.Sum{
		{Bucket: refusal.Bucket{Account: "acc_0"}, N: 2000},
		{Bucket: refusal.Bucket{Account: "acc_1"}, N: 2000},
		{Bucket: refusal.Bucket{Account: "acc_2"}, N: 2000},
	}, "by account")
	one := must.Get(f.Refusals.Read(t.Context(), refusal.Query{
		Account: "acc_1", From: begin.Add(time.Minute), Until: begin.Add(3 * time.Minute),
		By: []refusal.Group{refusal.ByMinute, refusal.ByKey},
	}))(t)
	if len(one.Sums) != 2 || one.Sums[0].Minute != begin.Unix()+120 || one.Sums[0].Key != "acc_1_key" ||
		one.Sums[0].N+one.Sums[1].N != one.Total {
		t.Errorf("by minute: got %+v, want two minutes of %d", one.Sums, one.Total)
	}
	latest := must.Get(f.Refusals.Read(t.Context(), refusal.Query{Account: "acc_1"}))(t).Latest
	must.Equal(t, len(latest), refusal.MostLatest, "latest refusals of the account")
	found, there, err := f.Refusals.Find(t.Context(), latest[40].Request)
	must.Do(t, err)
	must.Equal(t, found, latest[40], "the refusal by its id")
	if _, other, err := f.Refusals.Find(t.Context(), uuid.Must(uuid.NewV7())); !there || other || err != nil {
		t.Errorf("got %t for a stored refusal and %t for another, %v", there, other, err)
	}
}

// testRefusalsShared checks that a flood of refusals of one key leaves the latest of the account's other keys, and that
// reports have the labels of keys.
func testRefusalsShared(t *testing.T, f *fixture) {
	create(t, f, "a")
	must.Do(t, f.Accounts.CreateKey(t.Context(), root, newKey("calm", "acc_a"), account.Hash{9}))
	r := f.recorder(f.DB)
	for range 10 {
		r.Add(refused(noon, "acc_a", "calm", "house/m", llm.CodeRateLimited))
	}
	for range 5 {
		for range 200 {
			r.Add(refused(noon, "acc_a", "flood", "house/m", llm.CodeAuthentication))
		}
		must.Do(t, r.Flush(t.Context()))
	}
	query := refusal.Query{Account: "acc_a", By: []refusal.Group{refusal.ByKey}}
	got := must.Get(f.Refusals.Read(t.Context(), query))(t)
	must.Equal(t, got.Total, int64(1010), "all refusals")
	must.Equal(t, len(got.Latest), refusal.MostLatest, "latest refusals")
	labels := map[string]int{}
	for i := range got.Latest {
		labels[got.Latest[i].KeyLabel]++
	}
	must.Equal(t, labels, map[string]int{"über label": 10, "": 90}, "latest refusals by label")
	must.Equal(t, got.Sums[1].KeyLabel, "über label", "label in the counts")
}

// testRefusalsFiltered checks each filter, and that refusals without an account are separate.
func testRefusalsFiltered(t *testing.T, f *fixture) {
	r := f.recorder(f.DB)
	r.Add(refused(noon, "acc", "key_a", "house/m", llm.CodeRateLimited))
	r.Add(refused(noon, "acc", "key_a", "house/m", llm.CodeBudgetExceeded))
	r.Add(refused(noon, "acc", "key_b", "house/n", llm.CodeRateLimited))
	r.Add(refused(noon, "", "", "", llm.CodeAuthentication))
	must.Do(t, r.Flush(t.Context()))
	for name, test := range map[string]struct {
		query refusal.Query
		want  int64
	}{
		"account":         {refusal.Query{Account: "acc"}, 3},
		"no account":      {refusal.Query{}, 1},
		"all":             {refusal.Query{All: true}, 4},
		"key":             {refusal.Query{Account: "acc", Key: "key_a"}, 2},
		"model":           {refusal.Query{Account: "acc", Model: "house/n"}, 1},
		"reason":          {refusal.Query{All: true, Reason: llm.CodeRateLimited}, 2},
		"key and reason":  {refusal.Query{Account: "acc", Key: "key_a", Reason: llm.CodeRateLimited}, 1},
		"since":           {refusal.Query{All: true, From: noon}, 4},
		"until exclusive": {refusal.Query{All: true, Until: noon}, 0},
	} {
		got := must.Get(f.Refusals.Read(t.Context(), test.query))(t)
		must.Equal(t, got.Total, test.want, "%s", name)
		must.Equal(t, int64(len(got.Latest)), test.want, "latest of %s", name)
	}
}

// testRefusalsOfAll compares reports over all accounts, which read sums of hours and days, with the sums of reports of
// each account, which read all counts, for ranges that cut hours and days, also after retention and closing.
func testRefusalsOfAll(t *testing.T, f *fixture) {
	create(t, f, "a", "b", "c")
	now := f.clock()
	r, random := f.recorder(f.DB), rand.New(rand.NewPCG(3, 3))
	reasons := []llm.Code{llm.CodeRateLimited, llm.CodeBudgetExceeded, llm.CodeAuthentication}
	for i := range 3000 {
		age := time.Duration(random.Int64N(int64(20*day/time.Second))) * time.Second
		if i%3 == 0 {
			age /= 20
		}
		account := []string{"acc_a", "acc_b", "acc_c", ""}[random.IntN(4)]
		r.Add(refused(now.Add(-age), account, account+"_key", "house/m", reasons[random.IntN(3)]))
		if i%500 == 0 {
			must.Do(t, r.Flush(t.Context()))
		}
	}
	must.Do(t, r.Flush(t.Context()))
	compareRefusalsOfAll(t, f, now)
	must.Do(t, f.Refusals.RetainRefusals(t.Context(), now.Add(-30*day)))
	compareRefusalsOfAll(t, f, now)
	must.Do(t, f.Refusals.RetainRefusals(t.Context(), now.Truncate(day).Add(-9*day).Add(10*time.Hour)))
	compareRefusalsOfAll(t, f, now)
	before := must.Get(f.Refusals.Read(t.Context(), refusal.Query{All: true}))(t).Total
	of := must.Get(f.Refusals.Read(t.Context(), refusal.Query{Account: "acc_a"}))(t).Total
	must.Get(f.Accounts.CloseAccount(t.Context(), root, "acc_a", now))(t)
	compareRefusalsOfAll(t, f, now)
	must.Equal(t, must.Get(f.Refusals.Read(t.Context(), refusal.Query{All: true}))(t).Total, before-of,
		"refusals without those of the closed account")
}

// compareRefusalsOfAll compares the reports over all accounts with those of each account.
func compareRefusalsOfAll(t *testing.T, f *fixture, now time.Time) {
	t.Helper()
	midnight, hour := now.Truncate(day), now.Truncate(time.Hour)
	for _, q := range []refusal.Query{
		{From: midnight.Add(-9 * day)},
		{From: midnight.Add(-5 * day), Until: midnight},
		{From: hour.Add(-23 * time.Hour)},
		{From: hour.Add(-23 * time.Hour), Reason: llm.CodeRateLimited},
		{From: midnight.Add(-9 * day), Key: "acc_b_key"},
		{From: midnight.Add(-9 * day), Model: "house/m"},
		{From: midnight.Add(-5 * day), Until: hour},
		{From: hour.Add(-12 * day), Until: hour.Add(-11 * day)},
		{From: hour.Add(-12*day + 7*time.Minute), Until: hour.Add(-30*time.Hour - 11*time.Minute)},
		{From: hour.Add(-16 * day), Reason: llm.CodeAuthentication, Key: "acc_c_key"},
		{},
	} {
		q.All = true
		compareRefusedAccounts(t, f, q)
		compareRefusedSeries(t, f, q)
		for _, by := range [][]refusal.Group{
			{},
			{refusal.ByReason},
			{refusal.ByDay},
			{refusal.ByHour},
			{refusal.ByDay, refusal.ByReason},
			{refusal.ByKey},
			{refusal.ByModel, refusal.ByDay},
			{refusal.ByAccount, refusal.ByReason},
			{refusal.ByAccount, refusal.ByReason, refusal.ByDay},
			{refusal.ByAccount, refusal.ByModel},
			{refusal.ByReason, refusal.ByKey},
			{refusal.ByKey, refusal.ByDay, refusal.ByReason},
			{refusal.ByModel, refusal.ByReason, refusal.ByKey, refusal.ByAccount},
		} {
			of := q
			of.All, of.By = false, by
			want := map[refusal.Bucket]int64{}
			for _, account := range []string{"acc_a", "acc_b", "acc_c", ""} {
				of.Account = account
				for _, s := range must.Get(f.Refusals.Read(t.Context(), of))(t).Sums {
					want[s.Bucket] += s.N
				}
			}
			q.By = by
			got := map[refusal.Bucket]int64{}
			for _, s := range must.Get(f.Refusals.Read(t.Context(), q))(t).Sums {
				got[s.Bucket] += s.N
			}
			must.Equal(t, got, want, "all accounts by %v of %+v", by, q)
		}
	}
}

// compareRefusedAccounts compares the total and the sums by account with the reports of each account.
func compareRefusedAccounts(t *testing.T, f *fixture, q refusal.Query) {
	t.Helper()
	q.By = []refusal.Group{refusal.ByAccount}
	all := must.Get(f.Refusals.Read(t.Context(), q))(t)
	var total int64
	for _, account := range []string{"acc_a", "acc_b", "acc_c", ""} {
		of := q
		of.All, of.Account, of.By = false, account, nil
		want := must.Get(f.Refusals.Count(t.Context(), of))(t)
		total += want
		var got int64
		for _, s := range all.Sums {
			if s.Account == account {
				got += s.N
			}
		}
		must.Equal(t, got, want, "refusals of %q in %+v", account, q)
	}
	must.Equal(t, all.Total, total, "refusals of all in %+v", q)
}

// compareRefusedSeries compares the series of the two largest groups of all accounts, and of one, with reports of each.
func compareRefusedSeries(t *testing.T, f *fixture, q refusal.Query) {
	t.Helper()
	for _, g := range []refusal.Group{refusal.ByAccount, refusal.ByKey, refusal.ByReason, refusal.ByModel} {
		for _, account := range []string{"", "acc_b"} {
			q.All, q.Account, q.By = account == "", account, []refusal.Group{g}
			got := must.Get(f.Refusals.Series(t.Context(), q, refusal.ByDay, 2))(t)
			want := must.Get(f.Refusals.Read(t.Context(), q))(t)
			must.Equal(t, got.Total, want.Total, "total by %s of %+v", g, q)
			must.Equal(t, got.Groups, want.Sums, "groups by %s of %+v", g, q)
			q.By = []refusal.Group{refusal.ByDay}
			must.Equal(t, got.Times, must.Get(f.Refusals.Read(t.Context(), q))(t).Sums, "days of %+v", q)
			apart := map[refusal.Bucket]int64{}
			for i := range want.Sums[:min(2, len(want.Sums))] {
				q.By = []refusal.Group{refusal.ByDay, g}
				for _, s := range must.Get(f.Refusals.Read(t.Context(), q))(t).Sums {
					if v := want.Sums[i].Value(g); v != "" && s.Value(g) == v {
						apart[s.Bucket] = s.N
					}
				}
			}
			days := map[refusal.Bucket]int64{}
			for _, s := range got.Apart {
				days[s.Bucket] += s.N
			}
			must.Equal(t, days, apart, "days by %s of %+v", g, q)
		}
	}
}

// testRefusalsRetained checks that minutes become hours after two days, without a change of sums, and that old rows are
// deleted.
func testRefusalsRetained(t *testing.T, f *fixture) {
	r, end := f.recorder(f.DB), noon.Truncate(time.Hour)
	for minute := range 24 * 60 {
		for _, age := range []time.Duration{0, 3 * day, 40 * day} {
			r.Add(refused(end.Add(-age-time.Duration(minute)*time.Minute), "acc", "key", "house/m",
				llm.CodeRateLimited))
		}
		if minute%100 == 0 {
			must.Do(t, r.Flush(t.Context()))
		}
	}
	must.Do(t, r.Flush(t.Context()))
	read := func(age time.Duration) refusal.Report {
		return must.Get(f.Refusals.Read(t.Context(), refusal.Query{
			Account: "acc", From: end.Add(-age - day), Until: end.Add(-age + time.Hour),
			By: []refusal.Group{refusal.ByMinute},
		}))(t)
	}
	for range 2 { // a second run changes nothing
		must.Do(t, f.Refusals.RetainRefusals(t.Context(), noon.Add(-30*day)))
		for _, test := range []struct {
			age  time.Duration
			want int64
		}{{0, 1440}, {3 * day, 1440}, {40 * day, 0}} {
			must.Equal(t, read(test.age).Total, test.want, "%v ago", test.age)
		}
		if rows := len(read(3 * day).Sums); rows != 25 {
			t.Errorf("three days ago: got %d rows, want 25: one for each begun hour", rows)
		}
	}
}

// testRefusalsOfClosed checks that nothing is left of a closed account, also if a node writes later.
func testRefusalsOfClosed(t *testing.T, f *fixture) {
	create(t, f, "a")
	r := f.recorder(f.DB)
	add := func() {
		r.Add(refused(noon, "acc_a", "key", "house/m", llm.CodeRateLimited))
		r.Add(refused(noon, "acc_b", "key", "house/m", llm.CodeRateLimited))
		must.Do(t, r.Flush(t.Context()))
	}
	add()
	must.Get(f.Accounts.CloseAccount(t.Context(), root, "acc_a", noon))(t)
	want := func(account string, n int64) {
		t.Helper()
		got := must.Get(f.Refusals.Read(t.Context(), refusal.Query{Account: account}))(t)
		must.Equal(t, got.Total, n, "refusals of %s", account)
		must.Equal(t, int64(len(got.Latest)), n, "latest of %s", account)
	}
	want("acc_a", 0)
	want("acc_b", 1)
}
