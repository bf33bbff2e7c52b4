package meter_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// clock is a clock that runs, and can be set forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// to sets the clock forward to that moment.
func (c *clock) to(at time.Time) { c.ahead.Store(int64(time.Until(at))) }

// midnight returns the beginning of a UTC day in the future, the given number of days later.
func midnight(days int) time.Time {
	return time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 10+days)
}

func day(days int) string { return midnight(days).Format("2006-01-02") }

// openThreeDays opens a gateway that on each of three days, 0 to 2, answered for three models: on day d, d+1 requests
// for each.
func openThreeDays(t *testing.T) *harness.Gateway {
	up := harness.NewUpstream(t)
	c := &clock{}
	c.to(midnight(0).Add(time.Hour))
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Now: c.now})
	for d := range 3 {
		c.to(midnight(d).Add(time.Hour))
		for _, model := range []string{"house/reason", "house/echo", "house/chat"} {
			for range d + 1 {
				h.MustAnswer(h.Chat(model))
			}
		}
	}
	return h
}

// entries formats a page's entries, a word each.
func entries(u harness.UsesPage) []string {
	words := make([]string, 0, len(u.Data))
	for _, e := range u.Data {
		words = append(words, fmt.Sprintf("%s %s %s", e.Date, strings.TrimPrefix(e.Model, "house/"), e.Requests))
	}
	return words
}

// grid returns all entries of the three days in their order.
func grid() (all []string) {
	for d := 2; d >= 0; d-- {
		for _, model := range []string{"chat", "echo", "reason"} {
			all = append(all, fmt.Sprintf("%s %s %d", day(d), model, d+1))
		}
	}
	return all
}

func TestUsesSelection(t *testing.T) {
	t.Parallel()
	h := openThreeDays(t)
	all := grid()
	zone := midnight(1).In(time.FixedZone("", 3600)) // one in the morning there
	tests := []struct {
		name, query, body string
		want              []string
		total             int
	}{
		{name: "everything", want: all, total: 9},
		{name: "the newest day", query: "?start_date=" + day(2), want: all[:3], total: 3},
		{name: "the oldest day", query: "?end_date=" + day(0), want: all[6:], total: 3},
		{name: "one day, both inclusive", query: "?start_date=" + day(1) + "&end_date=" + day(1), want: all[3:6], total: 3},
		{name: "a timestamp", query: "?start_date=" + midnight(1).Add(23*time.Hour).Format(time.RFC3339), want: all[:6], total: 6},
		{name: "a timestamp elsewhere", query: "?end_date=" + strings.ReplaceAll(zone.Add(-2*time.Hour).Format(time.RFC3339), "+", "%2B"), want: all[6:], total: 3},
		{name: "a timestamp, the plus unescaped", query: "?end_date=" + zone.Add(-2*time.Hour).Format(time.RFC3339), want: all[6:], total: 3},
		{name: "a fraction of a second", query: "?start_date=" + midnight(2).Add(1500*time.Millisecond).Format(time.RFC3339Nano), want: all[:3], total: 3},
		{name: "a model", query: "?model=house/echo", want: []string{all[1], all[4], all[7]}, total: 3},
		{name: "a model, escaped", query: "?model=house%2Fecho", want: []string{all[1], all[4], all[7]}, total: 3},
		{name: "a model of nobody", query: "?model=house/none", want: []string{}, total: 0},
		{name: "half a model", query: "?model=house", want: []string{}, total: 0},
		{name: "all at once", query: "?model=house/chat&start_date=" + day(0) + "&end_date=" + day(1) + "&limit=1&offset=1", want: all[6:7], total: 2},
		{name: "limit", query: "?limit=4", want: all[:4], total: 9},
		{name: "offset", query: "?offset=7", want: all[7:], total: 9},
		{name: "page", query: "?limit=3&offset=2", want: all[2:5], total: 9},
		{name: "beyond the end", query: "?offset=9", want: []string{}, total: 9},
		{name: "empty values", query: "?limit=&offset=&model=&start_date=&end_date=", want: all, total: 9},
		{name: "unknown parameter", query: "?colour=blue", want: all, total: 9},
		{name: "in a body", body: `{"model":"house/echo","limit":2,"offset":1,"start_date":"` + day(0) + `"}`, want: []string{all[4], all[7]}, total: 3},
		{name: "in a body, as strings and null", body: `{"limit":"2","offset":null,"other":[]}`, want: all[:2], total: 9},
		{name: "query wins", query: "?limit=1&model=house/chat", body: `{"limit":2,"model":"house/echo","offset":1}`, want: all[3:4], total: 3},
	}
	for _, path := range []string{"/v1/uses", "/uses"} {
		for _, test := range tests {
			r := h.Do(harness.Ask{Method: "GET", Path: path + test.query, Body: test.body})
			var page harness.UsesPage
			harness.Decode(t, r.Body, &page)
			if diff := cmp.Diff(test.want, entries(page)); diff != "" || page.Pagination.Total != test.total {
				t.Errorf("%s %s: total %d, want %d; entries (-want +got):\n%s", path, test.name, page.Pagination.Total, test.total, diff)
			}
			harness.WantCommonHeaders(t, r.Header)
			harness.WantNames(t, r.Body, "data total pagination")
			members := harness.RawMembers(t, r.Body)
			harness.WantNames(t, string(members["total"]), "tokens requests cost")
			harness.WantNames(t, string(members["pagination"]), "limit offset total")
		}
	}
}

// TestUsesTotals checks the sum, which covers all matching entries and not only the page.
func TestUsesTotals(t *testing.T) {
	t.Parallel()
	h := openThreeDays(t)
	whole := h.Uses("?limit=1000")
	if whole.Total.Requests != "18" || whole.Total.Tokens != "720" || whole.Pagination.Limit != 1000 {
		t.Errorf("total %+v, want 18 requests and 6 times (16+44+60) tokens", whole.Total)
	}
	if page := h.Uses("?limit=1&offset=3"); page.Total != whole.Total || page.Pagination.Limit != 1 || page.Pagination.Offset != 3 {
		t.Errorf("of one entry: total %+v, pagination %+v; want the total %+v of all", page.Total, page.Pagination, whole.Total)
	}
	if u := h.Uses(""); u.Pagination.Limit != 100 || u.Pagination.Offset != 0 {
		t.Errorf("pagination %+v, want limit 100 and offset 0", u.Pagination)
	}
	var ids []string
	for offset := range 9 {
		page := h.Uses(fmt.Sprintf("?limit=1&offset=%d", offset))
		must.Equal(t, whole.Data[offset:offset+1], page.Data, "entry %d (-whole +page):", offset)
		ids = append(ids, page.Data[0].ID)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 9 {
		t.Errorf("%d ids of 9 entries", n)
	}
}

// TestUsesMistakes sends invalid parameters.
func TestUsesMistakes(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	tests := []struct{ query, body, param string }{
		{query: "?limit=0", param: "limit"},
		{query: "?limit=1001", param: "limit"},
		{query: "?limit=-1", param: "limit"},
		{query: "?limit=1.5", param: "limit"},
		{query: "?limit=ten", param: "limit"},
		{query: "?limit=99999999999999999999", param: "limit"},
		{query: "?offset=-1", param: "offset"},
		{query: "?offset=x", param: "offset"},
		{query: "?start_date=yesterday", param: "start_date"},
		{query: "?start_date=2026-13-01", param: "start_date"},
		{query: "?start_date=2026-02-30", param: "start_date"},
		{query: "?start_date=01.02.2026", param: "start_date"},
		{query: "?end_date=2026-1-1", param: "end_date"},
		{query: "?end_date=1767225600", param: "end_date"},
		{query: "?start_date=2026-01-02&end_date=2026-01-01", param: "start_date"},
		{query: "?group_by=colour", param: "group_by"},
		{query: "?group_by=model,,day", param: "group_by"},
		{query: "?group_by=model,model", param: "group_by"},
		{query: "?group_by=Model", param: "group_by"},
		{query: "?group_by=model,tag:" + strings.Repeat("a", 65), param: "group_by"},
		{query: "?tag:team=a", param: "tag.NAME"},
		{query: "?tags.team=a", param: "tag.NAME"},
		{query: "?tag.=a", param: "tag.NAME"},
		{query: "?tag.team=" + strings.Repeat("a", 513), param: "tag.NAME"},
		{query: "?tag." + strings.Repeat("a", 65) + "=a", param: "tag.NAME"},
		{query: "?tag.team=a&tag.team=b", param: "tag.team"},
		{query: "?limit=1&limit=2", param: "limit"},
		{body: `{"tag:team":"a"}`, param: "tag.NAME"},
		{body: `{"tag.team":null}`, param: "tag.team"},
		{query: "?key=%FF", param: "key"},
		{body: `{"group_by":"x"}`, param: "group_by"},
		{query: "?limit=%zz", param: ""},
		{body: `{"limit":0}`, param: "limit"},
		{body: `{"limit":{}}`, param: "limit"},
		{body: `{"model":true}`, param: "model"},
		{body: `{"offset":-1}`, param: "offset"},
		{body: `[]`, param: ""},
		{body: `{"limit":`, param: ""},
		{body: "limit=1", param: ""},
	}
	for _, test := range tests {
		r := h.Do(harness.Ask{Method: "GET", Path: "/v1/uses" + test.query, Body: test.body})
		if e := harness.WantError(t, r, 400, "INVALID_REQUEST"); e.Named() != test.param {
			t.Errorf("%s%s: param %q, want %q", test.query, test.body, e.Named(), test.param)
		}
	}
	if r := h.Do(harness.Ask{Method: "GET", Path: "/v1/uses", Body: `{"x":"` + strings.Repeat("a", 70<<10) + `"}`}); r.Status != 413 {
		t.Errorf("a body of 70 KiB: status %d, want 413", r.Status)
	}
}

// TestUsesIsFresh checks that usage is visible as soon as the reply is.
func TestUsesIsFresh(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for i := range 10 {
		if i%2 == 0 {
			h.MustAnswer(h.Chat("house/echo"))
		} else {
			h.Stream("house/echo")
		}
		u := h.Uses("")
		if want := fmt.Sprint(i + 1); u.Total.Requests.String() != want || u.Total.Tokens.String() != fmt.Sprint(16*(i+1)) {
			t.Fatalf("after %s requests: %+v", want, u.Total)
		}
	}
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() { h.Chat("house/echo") })
	}
	all.Wait()
	if u := h.Uses(""); u.Total.Requests != "40" || u.Total.Cost != "0.000168" {
		t.Errorf("after 40 requests at 0.0000042: %+v", u.Total)
	}
}

// TestUsesCost checks the text of amounts, to the last digit.
func TestUsesCost(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for i, want := range []string{"0.15", "0.3", "0.45", "0.6"} { // 0.1 + 0.2 is 0.30000000000000004 to a float
		h.MustAnswer(h.Chat("house/chat:prompt=1000000,tokens=0"))
		u := h.Uses("")
		if u.Data[0].Cost.String() != want || u.Total.Cost.String() != want {
			t.Errorf("after %d requests: cost %s, total %s, want %s", i+1, u.Data[0].Cost, u.Total.Cost, want)
		}
	}
	r := h.Chat("house/echo")
	harness.WantHeaders(t, r.Header, map[string]string{"X-Weir-Cost-Usd": "0.0000042"})
	if u := h.Uses(""); u.Total.Cost != "0.6000042" {
		t.Errorf("total %s, want 0.6000042", u.Total.Cost)
	}
}

// TestUsesOfOthers checks that an account does not see the usage of others.
func TestUsesOfOthers(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), "other")
		return err
	})
	other := h.NewKey(account.KeyOptions{Account: "other"})
	second := h.NewKey(account.KeyOptions{Account: "default"})
	h.MustAnswer(h.Chat("house/echo"))
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: second}))
	if u := h.Uses(""); u.Total.Requests != "2" {
		t.Errorf("default: %s requests, want those of both its keys", u.Total.Requests)
	}
	r := h.Do(harness.Ask{Path: "/v1/uses", Key: other})
	if want := `{"data":[],"total":{"tokens":0,"requests":0,"cost":0},"pagination":{"limit":100,"offset":0,"total":0}}`; r.Body != want {
		t.Errorf("other: got %s, want %s", r.Body, want)
	}
}

// TestMidnightCountsOnDayOfOpening opens a request on one day and ends it on the next: it counts on the day on which it
// was opened.
func TestMidnightCountsOnDayOfOpening(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	c := &clock{}
	c.to(midnight(0).Add(-time.Hour))
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Now: c.now})
	c.to(midnight(0).Add(-1500 * time.Millisecond))
	h.Stream("house/echo:pace=600ms")
	h.MustAnswer(h.Chat("house/echo"))
	want := []string{day(0) + " echo 1", day(-1) + " echo:pace=600ms 1"}
	must.Equal(t, entries(h.Uses("")), want, "entries")
}
