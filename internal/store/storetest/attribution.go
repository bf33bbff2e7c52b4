package storetest

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// testAttribution checks the sums of days by end user and tag: the values with the highest cost are reported
// separately and the rest together, also after requests are deleted, including late settlements.
func testAttribution(t *testing.T, f *fixture) {
	create(t, f, "a")
	const users = 2100 // 2,000 sums are reported separately
	day := noon.AddDate(0, 0, -3)
	entryOf := func(n int, user string, tags ...llm.Tag) ledger.Entry {
		e := entry(n)
		e.Account, e.Arrived, e.Opened = "acc_a", day, day
		e.Usage[llm.Output] = int64(n)
		e.Cost = e.Price.Cost(&e.Usage, e.Tier)
		e.Attribution = llm.Attribution{User: user, Tags: tags}
		return e
	}
	j := newTape()
	var list []ledger.Entry
	for n := range users {
		list = append(list, entryOf(n, fmt.Sprint("user ", n)))
	}
	// Of the tags, the 20 with the highest cost are reported separately, and the one that all attempts have.
	for n := range 25 {
		list = append(list, entryOf(users+n, "tagged", llm.Tag{Name: fmt.Sprint("tag", n), Value: "v"},
			llm.Tag{Name: "team", Value: "x"}))
	}
	apply(t, f, j.next(nil, list...))
	whole := uses(t, f, report.UsesQuery{Account: "acc_a"}).Total
	byUser := func() map[string]report.Use {
		t.Helper()
		all := map[string]report.Use{}
		page := uses(t, f, report.UsesQuery{Account: "acc_a", By: []report.Dimension{report.ByUser}, Limit: 5000})
		if page.Total != whole {
			t.Errorf("in all: got %+v, want %+v", page.Total, whole)
		}
		for _, u := range page.Uses {
			if name := u.Group[0]; name != nil {
				all[*name] = u
			} else {
				all[""] = u
			}
		}
		return all
	}
	if got := byUser(); len(got) != users+1 {
		t.Errorf("before: %d users, want %d", len(got), users+1)
	}
	must.Do(t, f.Attribution.Attribute(t.Context(), day, nil))
	rest := byUser()[report.Other]
	if got := byUser(); len(got) > 2001 || got["user 2099"].Requests != 1 || got["tagged"].Requests != 25 ||
		got["user 7"].Requests != 0 ||
		rest.Requests < 100 || rest.Requests > 130 {
		t.Errorf("added up: %d users, %d requests of others, and %+v of the dearest; want 2,000 separate sums",
			len(got), rest.Requests, got["user 2099"])
	}
	byTag := func(name string) string {
		page := uses(t, f, report.UsesQuery{
			Account: "acc_a", By: []report.Dimension{report.ByTag(name)},
			Tags: []llm.Tag{{Name: "team", Value: "x"}},
		})
		var words string
		for _, u := range page.Uses {
			value := "none"
			if u.Group[0] != nil {
				value = *u.Group[0]
			}
			words += fmt.Sprintf("%s %d ", value, u.Requests)
		}
		return words
	}
	if a, b, c := byTag("team"), byTag("tag9"), byTag("tag3"); a != "x 25 " || b != "v 1 none 24 " ||
		c != "(other) 6 none 19 " {
		t.Errorf("by tags: got %q, %q and %q, want 20 separate names", a, b, c)
	}
	if n := must.Get(f.Ledger.Retain(t.Context(), noon, noon, nil))(t); n.Rows != users+25 {
		t.Errorf("deleted %d rows, want %d", n.Rows, users+25)
	}
	apply(t, f, j.next(nil, entryOf(5000, "user 2099"), entryOf(5001, "late")))
	whole = uses(t, f, report.UsesQuery{Account: "acc_a"}).Total
	if got := byUser(); got["user 2099"].Requests != 2 ||
		got[report.Other].Requests+got["late"].Requests != rest.Requests+1 {
		t.Errorf("settled late: got %+v, and %d requests of others, %d before; want one more of each",
			got["user 2099"], got[report.Other].Requests, rest.Requests)
	}
	verified(t, f)
	again := must.Get(f.Ledger.Verify(t.Context(), nil))(t)
	must.Do(t, f.Attribution.Attribute(t.Context(), day, nil)) // nothing is left to do
	must.Equal(t, must.Get(f.Ledger.Verify(t.Context(), nil))(t).Rollups, again.Rollups, "rollups")

	must.Do(t, f.Attribution.RetainAttribution(t.Context(), day))
	if got := byUser(); got["user 2099"].Requests != 2 {
		t.Errorf("stored until the day after: got %+v", got["user 2099"])
	}
	must.Do(t, f.Attribution.RetainAttribution(t.Context(), day.AddDate(0, 0, 1)))
	apply(t, f, j.next(nil, entryOf(5002, "")))
	whole = uses(t, f, report.UsesQuery{Account: "acc_a"}).Total
	if got := byUser(); got[""].Requests != users+26 || got["user 2099"].Requests != 1 { // one row exists
		t.Errorf("deleted: got %d requests without a user and %+v", got[""].Requests, got["user 2099"])
	}
	verified(t, f)
}

// testAttributionNamed checks that the operator's tags are reported separately, and that attempts under report.Other
// are counted.
func testAttributionNamed(t *testing.T, f *fixture) {
	create(t, f, "a")
	e := entry(1)
	e.Account, e.Arrived = "acc_a", noon.AddDate(0, 0, -1)
	e.Attribution = llm.Attribution{User: "ada", Tags: []llm.Tag{
		{Name: "team", Value: "x"},
		{Name: "session", Value: "7"},
	}}
	apply(t, f, newTape().next(nil, e))
	must.Do(t, f.Attribution.Attribute(t.Context(), noon.AddDate(0, 0, -1), []string{"team"}))
	q := report.UsesQuery{Account: "acc_a", By: []report.Dimension{
		report.ByUser, report.ByTag("team"),
		report.ByTag("session"),
	}}
	page := uses(t, f, q)
	if len(page.Uses) != 1 {
		t.Fatalf("by user and tags: got %+v, want one group", page.Uses)
	}
	var got []string
	for _, value := range page.Uses[0].Group {
		got = append(got, *value)
	}
	must.Equal(t, got, []string{"ada", "x", report.Other}, "user, team and session")
	must.Equal(t, f.Attribution.OtherAttempts(), int64(1), "attempts without separate groups")
}

// testAttributionOfClosed checks that no sum has a closed account's end users and tags, and that its usage remains.
func testAttributionOfClosed(t *testing.T, f *fixture) {
	create(t, f, "a")
	j := newTape()
	var list []ledger.Entry
	for n := range 4 {
		e := entry(n)
		e.Account, e.Arrived = "acc_a", noon.AddDate(0, 0, -1-n%2)
		e.Attribution = llm.Attribution{User: "ada", Tags: []llm.Tag{{Name: "team", Value: "x"}}}
		list = append(list, e)
	}
	apply(t, f, j.next(nil, list...))
	must.Do(t, f.Attribution.Attribute(t.Context(), noon.AddDate(0, 0, -1), nil))
	must.Get(f.Accounts.CloseAccount(t.Context(), root, "acc_a", noon))(t)
	must.Do(t, f.Attribution.Attribute(t.Context(), noon.AddDate(0, 0, -9), nil))
	page := uses(t, f, report.UsesQuery{Account: "acc_a", By: []report.Dimension{report.ByUser}})
	if len(page.Uses) != 1 || page.Uses[0].Group[0] != nil || page.Uses[0].Requests != 4 {
		t.Errorf("by user: got %+v, want 4 requests without a user", page.Uses)
	}
	f.advance(time.Hour)
	verified(t, f)
}
