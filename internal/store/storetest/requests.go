package storetest

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// came returns an entry of a request that arrived so long after noon, with an id of that time.
func came(after time.Duration) ledger.Entry {
	e := entry(0)
	e.Arrived = noon.Add(after)
	e.Opened = e.Arrived
	binary.BigEndian.PutUint64(e.ID.Request[:], uint64(e.Arrived.UnixMilli())<<16|0x7000)
	binary.BigEndian.PutUint64(e.ID.Request[8:], 1<<63|uint64(after)&0xffff)
	return e
}

// then returns the next attempt of the same request, opened later at another model.
func then(e ledger.Entry, after time.Duration) ledger.Entry {
	e.ID.N++
	e.Opened = e.Opened.Add(after)
	e.Model = "next"
	return e
}

func requests(t *testing.T, f *fixture, q report.RequestsQuery) ([]report.Request, report.Cursor) {
	t.Helper()
	if q.Account == "" {
		q.Account = "acc_a"
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	list, next, err := f.Reports.Requests(t.Context(), q)
	if err != nil {
		t.Fatalf("requests %+v: %v", q, err)
	}
	return list, next
}

func ids(list []report.Request) []uuid.UUID {
	var all []uuid.UUID
	for i := range list {
		all = append(all, list[i].ID)
	}
	return all
}

func testRequests(t *testing.T, f *fixture) {
	plain, failed := came(0), came(time.Minute)
	failed.Outcome, failed.Counts, failed.Usage, failed.Cost, failed.FirstToken = ledger.OutcomeRejected, false,
		llm.Usage{}, 0, 0
	failed.Status, failed.Code = 429, llm.CodeRateLimited
	rescued := then(failed, 2*time.Second)
	rescued.Settlement = plain.Settlement
	rescued.Provenance, rescued.Price, rescued.Cost, rescued.AtMost = ledger.Estimated, llm.Price{}, 0, 99
	rescued.Unpriced = rescued.Price.Unpriced(&rescued.Usage, "")
	lost := unknown(0)
	lost.ID, lost.Arrived, lost.Opened, lost.Key = came(2*time.Minute).ID, came(2*time.Minute).Arrived,
		came(2*time.Minute).Arrived, "key_b"
	running := came(24 * time.Hour).Attempt
	foreign := came(time.Second)
	foreign.Account = "acc_b"
	apply(t, f, newTape().next([]ledger.Attempt{running}, plain, failed, rescued, lost, foreign))
	must.Do(t, f.Corrections.Resolve(t.Context(), audit.Gateway(), lost.ID, 5, false))
	first := report.Request{
		ID: plain.ID.Request, Arrived: plain.Arrived, Key: "key_a", Requested: "fast", Model: "openai/org/gpt",
		Outcome: ledger.OutcomeOK, Status: 200, Stream: true, Attempts: 1, Usage: plain.Usage, Cost: plain.Cost,
		AtMost:     plain.Cost,
		Provenance: ledger.Exact, FirstToken: plain.FirstToken, Duration: plain.Duration,
	}
	second := first
	second.ID, second.Arrived, second.Model, second.Attempts = failed.ID.Request, failed.Arrived, "openai/next", 2
	second.Cost, second.AtMost, second.Unpriced, second.Provenance = 0, rescued.AtMost, rescued.Unpriced,
		ledger.Estimated
	second.Unseen, second.PurchaseUnpriced = true, rescued.Unpriced
	second.FirstToken, second.Duration = 2*time.Second+plain.FirstToken, 2*time.Second+plain.Duration
	third := first
	third.ID, third.Arrived, third.Key, third.Outcome = lost.ID.Request, lost.Arrived, "key_b", ledger.OutcomeUnknown
	third.AtMost = 5
	third.Status, third.Usage, third.Cost, third.Provenance, third.FirstToken, third.Duration = 0, lost.Usage, 5,
		ledger.Unknown, 0, 0
	fourth := report.Request{
		ID: running.ID.Request, Arrived: running.Arrived, Key: "key_a", Requested: "fast", Model: "openai/org/gpt",
		Outcome: ledger.OutcomeOpen, Stream: true, Attempts: 1,
	}
	for _, test := range []struct {
		name  string
		query report.RequestsQuery
		want  []report.Request
	}{
		{"all", report.RequestsQuery{}, []report.Request{fourth, third, second, first}},
		{"ok", report.RequestsQuery{Ended: report.EndedOK}, []report.Request{second, first}},
		{"errors", report.RequestsQuery{Ended: report.EndedError}, []report.Request{third}},
		{"end not seen, nor resolved", report.RequestsQuery{Ended: report.EndedUnseen}, []report.Request{
			second,
		}},
		{"a key", report.RequestsQuery{Key: "key_b"}, []report.Request{third}},
		{"the model of a first attempt", report.RequestsQuery{Model: "openai/org/gpt"}, []report.Request{
			fourth,
			third, second, first,
		}},
		{"the model that answered", report.RequestsQuery{Model: "openai/next"}, []report.Request{second}},
		{"as it was asked for", report.RequestsQuery{Model: "fast", Key: "key_b"}, []report.Request{third}},
		{"no such model", report.RequestsQuery{Model: "slow"}, nil},
		{"from", report.RequestsQuery{From: "2026-11-22"}, []report.Request{fourth}},
		{"to", report.RequestsQuery{To: "2026-11-21"}, []report.Request{third, second, first}},
		{"to a day without any", report.RequestsQuery{To: "2026-11-20"}, nil},
		{"after the third", report.RequestsQuery{After: third.Cursor()}, []report.Request{second, first}},
		{
			"after one of a later day",
			report.RequestsQuery{After: fourth.Cursor(), To: "2026-11-21"},
			[]report.Request{third, second, first},
		},
		{"as many as there are", report.RequestsQuery{Limit: 4}, []report.Request{fourth, third, second, first}},
		{"nobody", report.RequestsQuery{Account: "acc_x"}, nil},
	} {
		got, next := requests(t, f, test.query)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(got, test.want); diff != "" || next != (report.Cursor{}) {
			t.Errorf("%s: next %q (-got +want):\n%s", test.name, next, diff)
		}
	}
	for _, q := range []report.RequestsQuery{
		{},
		{Limit: report.MaxRequests + 1},
		{Limit: 1, From: "soon"},
		{Limit: 1, Ended: "well"},
		{Limit: 1, After: report.Cursor{Date: "soon"}},
	} {
		if _, _, err := f.Reports.Requests(t.Context(), q); err == nil {
			t.Errorf("%+v: got no error, want one", q)
		}
	}
}

// testRequestsPages reads the same requests with pages of every size.
func testRequestsPages(t *testing.T, f *fixture) {
	var list []ledger.Entry
	for i := range 60 {
		e := came(time.Duration(i) * 30 * time.Minute)
		list = append(list, e)
		for range i % 4 {
			e = then(e, time.Second)
			list = append(list, e)
		}
	}
	apply(t, f, newTape().next(nil, list...))
	for _, query := range []report.RequestsQuery{{}, {Model: "openai/next"}} {
		query.Limit = 100
		all, _ := requests(t, f, query)
		if want := map[string]int{"": 60, "openai/next": 45}[query.Model]; len(all) != want {
			t.Fatalf("model %q: got %d requests, want %d", query.Model, len(all), want)
		}
		if !slices.IsSortedFunc(all, func(a, b report.Request) int { return b.Arrived.Compare(a.Arrived) }) {
			t.Error("got requests in another order, want the newest first")
		}
		for _, limit := range []int{1, 2, 7, 44, 45, 59, 60, 61} {
			query.Limit, query.After = limit, report.Cursor{}
			var got []report.Request
			for more := true; more && len(got) <= len(all); {
				page, next := requests(t, f, query)
				if len(page) > limit {
					t.Fatalf("got a page of %d, want at most %d", len(page), limit)
				}
				got = append(got, page...)
				query.After, more = next, next != report.Cursor{}
			}
			must.Equal(t, got, all, "model %q, pages of %d", query.Model, limit)
		}
	}
}

// testRequestsRare searches for the only request of a key after so many others that more than one page is needed.
func testRequestsRare(t *testing.T, f *fixture) {
	const others = 6_000
	rare := came(0)
	rare.Key = "key_rare"
	list := []ledger.Entry{rare}
	for i := range others {
		list = append(list, came(time.Duration(i+1)*time.Second))
	}
	apply(t, f, newTape().next(nil, list...))
	q := report.RequestsQuery{Key: "key_rare"}
	var found []report.Request
	pages := 0
	for more := true; more && pages < 5; pages++ {
		var page []report.Request
		page, q.After = requests(t, f, q)
		found, more = append(found, page...), q.After != report.Cursor{}
	}
	if len(found) != 1 || found[0].ID != rare.ID.Request || pages != 2 {
		t.Errorf("got %d requests on %d pages, want the one of the key on the second", len(found), pages)
	}
}

func testRequestsSince(t *testing.T, f *fixture) {
	var list []ledger.Entry
	var all []uuid.UUID // newest first
	for i := range 9 {
		e := came(time.Duration(i-4) * 6 * time.Hour)
		list = append(list, e, then(e, time.Second))
		all = slices.Insert(all, 0, e.ID.Request)
	}
	foreign := came(time.Hour)
	foreign.Account = "acc_b"
	apply(t, f, newTape().next(nil, append(list, foreign)...))
	page, _ := requests(t, f, report.RequestsQuery{})
	for _, test := range []struct {
		after report.Cursor
		limit int
		want  []uuid.UUID
	}{
		{report.Cursor{}, 3, all[:3]},
		{page[0].Cursor(), 3, nil},
		{page[2].Cursor(), 10, all[:2]},
		{page[7].Cursor(), 3, all[:3]},
		{report.CursorAt(noon), 10, all[:5]},
		{report.CursorAt(noon.Add(time.Second)), 10, all[:4]},
	} {
		got, err := f.Reports.RequestsSince(t.Context(), "acc_a", test.after, test.limit)
		if diff := cmp.Diff(ids(got), test.want); diff != "" || err != nil {
			t.Errorf("since %s, %d: %v (-got +want):\n%s", test.after, test.limit, err, diff)
		}
	}
	for _, limit := range []int{0, report.MaxRequests + 1} {
		if _, err := f.Reports.RequestsSince(t.Context(), "acc_a", report.Cursor{}, limit); err == nil {
			t.Errorf("a limit of %d: got no error, want one", limit)
		}
	}
}

func usageLine(c llm.Class, count int64, rate llm.Rate, amount llm.Money) report.CostLine {
	return report.CostLine{What: report.LineUsage, Class: c, Count: count, Rate: rate, Amount: amount}
}

func testRequest(t *testing.T, f *fixture) {
	long, second, lost, nameless := came(0), then(came(0), time.Second), came(time.Minute), came(2*time.Minute)
	long.Usage = llm.Usage{llm.Input: 999, llm.CacheRead: 3, llm.Output: 1}
	long.Cost = long.Price.Cost(&long.Usage, "")
	lost.Settlement = unknown(0).Settlement
	nameless.Price.Version = "nobody knows"
	apply(t, f, newTape().next(nil, long, second, lost, nameless))
	must.Do(t, f.Corrections.Resolve(t.Context(), audit.Gateway(), lost.ID, 7, false))
	correction := ledger.Correction{
		Kind: "resolved", Seq: 1, Cost: 7 - lost.Hold, By: audit.Gateway().String(),
		At: f.clock(),
	}
	other := report.Attempt{Row: ledger.Row{Entry: nameless}, Lines: []report.CostLine{
		{What: report.LineUsage, Class: llm.Input, Count: 10},
		{What: report.LineUsage, Class: llm.CacheRead, Count: 5},
		{What: report.LineUsage, Class: llm.Output, Count: 20},
		{What: report.LineOther, Amount: nameless.Cost},
	}}
	other.Price = llm.Price{Version: "nobody knows"}
	for _, want := range [][]report.Attempt{
		{{Row: ledger.Row{Entry: long}, Tier: 1000, Lines: []report.CostLine{
			usageLine(llm.Input, 999, 300_000, 299_700), usageLine(llm.CacheRead, 3, 0, 0),
			usageLine(llm.Output, 1, 1_200_000, 1200),
		}}, {Row: ledger.Row{Entry: second}, Lines: []report.CostLine{
			usageLine(llm.Input, 10, 150_000, 1500), usageLine(llm.CacheRead, 5, 15_000, 75),
			usageLine(llm.Output, 20, 600_000, 12_000),
		}}},
		{{Row: ledger.Row{Entry: lost, Corrections: []ledger.Correction{correction}}, Lines: []report.CostLine{
			{What: report.LineHold, Amount: lost.Hold}, {What: report.LineCorrection, Amount: 7 - lost.Hold},
		}}},
		{other},
	} {
		got, there, err := f.Reports.Request(t.Context(), "acc_a", want[0].ID.Request)
		if diff := cmp.Diff(got.Parts, want); diff != "" || !there || err != nil {
			t.Errorf("request %s: %v, %v (-got +want):\n%s", want[0].ID, there, err, diff)
		}
		must.Equal(t, got.Request, report.Summarize(want), "request %s in short", want[0].ID)
	}
	for account, id := range map[string]uuid.UUID{"acc_b": long.ID.Request, "acc_a": came(time.Hour).ID.Request} {
		if got, there, err := f.Reports.Request(t.Context(), account, id); there || err != nil {
			t.Errorf("request %s of %s: got %+v, %v; want none", id, account, got, err)
		}
	}
}
