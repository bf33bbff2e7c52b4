package storetest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// entryAt returns the n-th attempt, settled, whose request arrived at a time, with the id of that time.
func entryAt(n int, at time.Time, user string) ledger.Entry {
	e := entry(n)
	e.Arrived, e.Opened = at, at
	e.ID.Request = uuid.UUID{6: 0x70, 8: 0x80, 15: byte(n)}
	binary.BigEndian.PutUint64(e.ID.Request[:], uint64(at.UnixMilli())<<16|0x7000)
	e.Attribution = llm.Attribution{User: user}
	return e
}

// listOf returns groups as text: their values and requests.
func listOf(page report.UsesPage) string {
	var list []string
	for i := range page.Uses {
		u := &page.Uses[i]
		text := ""
		for _, value := range u.Group {
			if value == nil {
				text += "- "
			} else {
				text += *value + " "
			}
		}
		list = append(list, fmt.Sprint(text, u.Requests+u.Speed.Answers()))
	}
	return strings.Join(list, ", ")
}

// testUsesByMinute reads parts of days: by minute from rows, with corrections and a filter by end user, and by hour from
// the rollup. Each range includes its first minute and excludes its last.
func testUsesByMinute(t *testing.T, f *fixture) {
	at := func(clock string) time.Time {
		return must.Get(time.Parse("2006-01-02 15:04:05", "2026-11-21 "+clock))(t)
	}
	apply(t, f, newTape().next(nil, entryAt(1, at("10:59:59"), "ada"), entryAt(2, at("11:00:00"), "ada"),
		entryAt(3, at("11:00:30"), "bob"), entryAt(4, at("12:04:59"), ""), entryAt(5, at("12:05:00"), "ada"),
		entryAt(6, at("12:05:00").AddDate(0, 0, -1), "ada")))
	must.Do(t, f.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{
		ID: entryAt(5, at("12:05:00"), "").ID, Amount: llm.USD, Reason: "outside of the range",
	}))
	for _, test := range []struct {
		query report.UsesQuery
		want  string
	}{
		{
			report.UsesQuery{Since: at("11:00:00"), Until: at("12:05:00"), By: []report.Dimension{report.ByMinute}},
			"2026-11-21T12:04:00Z 1, 2026-11-21T11:00:00Z 2",
		},
		{
			report.UsesQuery{Since: at("11:00:00"), Until: at("12:05:00"), By: []report.Dimension{report.ByUser}},
			"ada 1, bob 1, - 1",
		},
		{report.UsesQuery{Since: at("10:30:00"), User: "ada", By: []report.Dimension{report.ByModel}}, "openai/org/gpt 3"},
		{
			report.UsesQuery{Since: at("11:00:00"), Until: at("13:00:00"), By: []report.Dimension{report.ByHour}},
			"2026-11-21T12:00:00Z 2, 2026-11-21T11:00:00Z 2",
		},
		{report.UsesQuery{Since: at("12:00:00"), By: []report.Dimension{report.ByModel}}, "openai/org/gpt 2"},
		{
			report.UsesQuery{Since: at("00:00:00"), By: []report.Dimension{report.ByMinute}, User: "bob"},
			"2026-11-21T11:00:00Z 1",
		},
		{
			report.UsesQuery{Since: at("11:00:00"), By: []report.Dimension{report.ByHour, report.ByUser}, Top: 1},
			"2026-11-21T12:00:00Z (other) 1, 2026-11-21T12:00:00Z ada 1, 2026-11-21T11:00:00Z (other) 1, " +
				"2026-11-21T11:00:00Z ada 1",
		},
	} {
		for _, all := range []bool{false, true} {
			q := test.query
			if q.All = all; !all {
				q.Account = "acc_a"
			}
			page := uses(t, f, q)
			if got := listOf(page); got != test.want {
				t.Errorf("%+v: got %s, want %s", q, got, test.want)
			}
			if outside := q.Until.Equal(at("12:05:00")); outside && page.Total.Cost >= llm.USD {
				t.Errorf("%+v: got %s with the correction of a later attempt", q, page.Total.Cost)
			}
		}
	}
	old := report.UsesQuery{Account: "acc_a", Since: noon.AddDate(0, 0, -3).Truncate(time.Minute), Limit: 1}
	if _, err := f.Reports.Uses(t.Context(), old); err == nil || llm.AsError(err).Code != llm.CodeInvalidRequest {
		t.Errorf("by minute, three days ago: got %v, want an invalid request", err)
	}
}

// testUsesSpeeds counts times to first token by day and model from their rollup, and by end user from rows. Failed
// answers have none.
func testUsesSpeeds(t *testing.T, f *fixture) {
	failed := entryAt(4, noon, "ada")
	failed.Outcome = ledger.OutcomeFailed
	other := entryAt(3, noon, "bob")
	other.Provider, other.Model, other.FirstToken = "house", "small", 90*time.Millisecond
	apply(t, f, newTape().next(nil, entryAt(1, noon, "ada"), entryAt(2, noon.AddDate(0, 0, -1), "ada"), other, failed))
	for _, test := range []struct {
		query report.UsesQuery
		want  string
	}{
		{
			report.UsesQuery{By: []report.Dimension{report.ByDay, report.ByModel}},
			"2026-11-21 house/small 1, 2026-11-21 openai/org/gpt 1, 2026-11-20 openai/org/gpt 1",
		},
		{report.UsesQuery{By: []report.Dimension{report.ByProvider}, Sort: report.MeasureCost}, "openai 2, house 1"},
		{report.UsesQuery{By: []report.Dimension{report.ByProvider}, Provider: "house"}, "house 1"},
		{report.UsesQuery{By: []report.Dimension{report.ByModel}, Model: "house/small"}, "house/small 1"},
		{report.UsesQuery{By: []report.Dimension{report.ByUser}}, "ada 2, bob 1"},
		{
			report.UsesQuery{By: []report.Dimension{report.ByHour}, From: "2026-11-21"},
			"2026-11-21T12:00:00Z 2",
		},
		{
			report.UsesQuery{By: []report.Dimension{report.ByDay, report.ByModel}, From: "2026-11-21", Top: 1},
			"2026-11-21 (other) 1, 2026-11-21 house/small 1",
		},
	} {
		for _, all := range []bool{false, true} {
			q := test.query
			if q.Speeds, q.All = true, all; !all {
				q.Account = "acc_a"
			}
			if got := listOf(uses(t, f, q)); got != test.want {
				t.Errorf("%+v: got %s, want %s", q, got, test.want)
			}
		}
	}
}
