package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/conversation"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestLargeUsesAreHeld checks that a large page of usage counts in its account's memory until it is sent, and that a
// small one does not, and is served with little memory free.
func TestLargeUsesAreHeld(t *testing.T) {
	t.Parallel()
	var held int64
	h := &Uses{readCapacity: func(_ *http.Request, account string) (conversation.Capacity, func()) {
		if account != "acc_a" {
			t.Errorf("got account %q, want acc_a", account)
		}
		return conversation.Capacity{Reserve: func(n int64) error { held += n; return nil }}, func() { held = 0 }
	}}
	for size, want := range map[int]int64{largeUses - 1: 0, largeUses: largeUses} {
		r := &request{Request: httptest.NewRequest(http.MethodGet, "/v1/uses", http.NoBody)}
		must.Do(t, h.hold(r, "acc_a", size))
		if held != want {
			t.Errorf("%d bytes: got %d held, want %d", size, held, want)
		}
		if r.end(); held != 0 {
			t.Errorf("%d bytes: got %d held at the end, want none", size, held)
		}
	}
}

// TestSizeOfUses checks that a page is no larger than counted before it is encoded.
func TestSizeOfUses(t *testing.T) {
	t.Parallel()
	long, plain := strings.Repeat("<", 512), "a"
	for _, by := range [][]report.Dimension{nil, {report.ByTag(strings.Repeat("\u2028", 64)), report.ByUser, report.ByModel, report.ByDay}} {
		q, page := report.UsesQuery{Account: "a", By: by}, report.UsesPage{}
		for i := range 50 {
			u := report.Use{
				Date: "2026-11-21", Model: "house/" + long, Requests: math.MaxInt64, Cost: -llm.MaxCost, Uncertain: 2*llm.MaxCost - 1, Unpriced: 1,
				Usage: llm.Usage{llm.Input: math.MaxInt64},
			}
			for range by {
				u.Group = append(u.Group, []*string{&long, &plain, nil}[i%3])
			}
			page.Uses = append(page.Uses, u)
		}
		one := len(must.Get(EncodeUses(q, report.UsesPage{}))(t))
		got, most := len(must.Get(EncodeUses(q, page))(t)), sizeOf(&q, &page)
		if got-one > most || most > 8*got {
			t.Errorf("by %.20q: %d bytes, and %d are counted", by, got, most)
		}
	}
}

// TestTotalOfUses checks that a total has marks if, and only if, one of its entries has them, and a bound over them
// all.
func TestTotalOfUses(t *testing.T) {
	t.Parallel()
	const seed = 41
	r := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		var page report.UsesPage
		for range r.IntN(4) {
			u := report.Use{Date: "2026-11-21", Model: "house/a", Cost: llm.Money(r.IntN(9)), Uncertain: llm.Money(r.IntN(3) / 2), Unpriced: int64(r.IntN(3) / 2)}
			page.Uses = append(page.Uses, u)
			page.Total.Add(&report.Totals{Cost: u.Cost, Uncertain: u.Uncertain, Unpriced: u.Unpriced})
		}
		body := must.Get(EncodeUses(report.UsesQuery{Account: "a"}, page))(t)
		var got struct {
			Data []struct {
				Cost   json.Number `json:"cost"`
				AtMost json.Number `json:"cost_at_most"`
				Marked bool        `json:"unpriced"`
			} `json:"data"`
			Total map[string]json.RawMessage `json:"total"`
		}
		must.Do(t, json.Unmarshal(body, &got))
		want, most, bounded, marked := map[string]string{"tokens": "0", "requests": "0"}, llm.Money(0), false, false
		for _, e := range got.Data {
			marked, bounded = marked || e.Marked, bounded || e.AtMost != ""
			most += must.Get(llm.ParseMoney(string(cmp.Or(e.AtMost, e.Cost))))(t)
		}
		want["cost"] = page.Total.Cost.String()
		if bounded {
			want["cost_at_most"] = most.String()
		}
		if marked {
			want["unpriced"] = "true"
		}
		have := map[string]string{}
		for name, value := range got.Total {
			have[name] = string(value)
		}
		if !maps.Equal(have, want) {
			t.Fatalf("seed %d: %s: got a total of %v, want %v", seed, body, have, want)
		}
	}
}
