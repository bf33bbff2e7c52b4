package dashboard_test

import (
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/pricing"
	"weir/internal/route"
)

func price() llm.Price {
	return llm.Price{Version: "openai/gpt@1", Rates: llm.Rates{llm.Input: 1_250_000, llm.CacheRead: 125_000, llm.Output: 10_000_000}}
}

// models lists those that every site serves.
var models = []route.Model{
	{Name: "fast", Targets: []string{"openai/gpt", "house/small"}},
	{Name: "house/small", Provider: "house", Abilities: pricing.Abilities{Images: pricing.No}},
	{Name: "openai/gpt", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Price: price(), Abilities: pricing.Abilities{Images: pricing.Yes}, Source: "data/prices@1", Checked: "2026-11-20"},
}

// journal writes usage into the site's database.
type journal struct {
	site *site
	id   uuid.UUID
	at   ledger.Position
}

func (s *site) journal() *journal { return &journal{site: s, id: uuid.New()} }

func (j *journal) apply(t testing.TB, opened []ledger.Attempt, settled ...ledger.Entry) {
	t.Helper()
	p := price()
	b := &ledger.Batch{
		Journal: j.id, From: j.at, To: j.at + 100, Opened: opened, Settled: settled,
		Prices: []ledger.PriceRecord{{Version: p.Version, Rates: p.Rates}},
	}
	for i := range settled {
		if q := &settled[i].Price; q.Known() && q.Version != p.Version {
			b.Prices = append(b.Prices, ledger.PriceRecord{Version: q.Version, Rates: q.Rates, Tiers: q.Tiers, Modes: q.Modes})
		}
	}
	j.at = b.To
	must.Do(t, j.site.store.Ledger.Apply(t.Context(), b))
}

// used returns a request of an account at that time, with a matching id.
func used(of account.Account, at time.Time, model string) ledger.Entry {
	name, rest, _ := strings.Cut(model, "/")
	e := ledger.Entry{Attempt: ledger.Attempt{
		ID: ledger.AttemptID{N: 1}, Account: of.ID, Key: "key-of-" + of.Name, Requested: model, Provider: name, Model: rest,
		Opened: at, Arrived: at, Price: price(), Hold: 80_000_000,
	}, Settlement: ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: llm.Usage{llm.Input: 1000, llm.CacheRead: 200, llm.Output: 100},
		Counts: true, Finish: llm.FinishStop, Status: 200, FirstToken: 300 * time.Millisecond, Duration: time.Second,
	}}
	e.Cost = e.Price.Cost(&e.Usage, "")
	binary.BigEndian.PutUint64(e.ID.Request[:], uint64(at.UnixMilli())<<16|0x7000)
	binary.BigEndian.PutUint64(e.ID.Request[8:], 1<<63|uint64(at.Nanosecond())&0xffff)
	return e
}

// ago returns the time that many days ago, a little before the hour of the site's clock.
func ago(days int, more time.Duration) time.Time {
	return now.AddDate(0, 0, -days).Add(-time.Hour + more)
}

func TestOverviewShowsUsage(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme", "Three steps")
	k := s.key(t, s.acme, "ada")
	first := used(s.acme, ago(3, 0), "openai/gpt")
	first.Key = k.ID
	failed := used(s.acme, ago(0, time.Minute), "openai/<b>mini")
	failed.Settlement = ledger.Settlement{Outcome: ledger.OutcomeRejected, Provenance: ledger.Exact, Counts: true, Status: 500}
	s.journal().apply(t, nil, first, used(s.acme, ago(40, 0), "openai/old"), failed, used(s.other, ago(3, 0), "openai/foreign"))

	text := s.see(t, "/accounts/acme", "$0.002275", "openai/gpt", "openai/&lt;b&gt;mini", k.Label, "1 attempt failed (50 %)", "23 Oct to 21 Nov 2026", "300 ms")
	for _, not := range []string{"openai/old", "foreign", "<b>mini"} {
		if strings.Contains(strings.ReplaceAll(text, "<wbr>", ""), not) {
			t.Errorf("30 days: got %q in it", not)
		}
	}
	s.see(t, "/accounts/acme?days=90", "old", "$0.00455")
	s.see(t, "/accounts/acme?month=2026-10", "$0.002275", "1 Oct to 31 Oct 2026")
	s.see(t, "/accounts/acme?month=2026-09", "No usage in this period")
	for _, query := range []string{"days=31", "days=x", "month=2026-12", "month=x", "month=0001-01"} {
		if got := s.send(t, "GET", "/accounts/acme?"+query, nil, nil); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", query, got.status)
		}
	}
	for _, path := range []string{"", "/usage", "/usage.csv", "/requests", "/requests/tail", "/models", "/requests/" + first.ID.Request.String()} {
		if got := s.send(t, "GET", "/accounts/other"+path, nil, nil); got.status != http.StatusNotFound {
			t.Errorf("%s of another account: got %d, want 404", path, got.status)
		}
	}
}

// TestOverviewShowsLast24Hours shows usage by hour, without that of the hours before and of other accounts.
func TestOverviewShowsLast24Hours(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	k := s.key(t, s.acme, "ada")
	first, failed := used(s.acme, ago(0, 0), "openai/gpt"), used(s.acme, ago(0, time.Minute), "openai/mini")
	first.Key = k.ID
	failed.Settlement = ledger.Settlement{Outcome: ledger.OutcomeRejected, Provenance: ledger.Exact, Counts: true, Status: 500}
	s.journal().apply(t, nil, first, used(s.acme, ago(0, -3*time.Hour), "openai/gpt"), failed,
		used(s.acme, ago(1, -time.Hour), "openai/old"), used(s.other, ago(0, 0), "openai/foreign"))
	text := s.see(t, "/accounts/acme?range=24h", "Spend by hour", "The last 24 hours, since 2", "$0.00455", "$0.002275",
		"100 % more than in the 24 hours before", "1 attempt failed (33 %)", "openai/<wbr>mini", k.Label, "300 ms")
	for _, not := range []string{"openai/old", "foreign"} {
		if strings.Contains(strings.ReplaceAll(text, "<wbr>", ""), not) {
			t.Errorf("24 hours: got %q in it", not)
		}
	}
	if got := s.send(t, "GET", "/accounts/acme?range=25h", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("25 hours: got %d, want 400", got.status)
	}
}

// TestRemainingBudgetIsShown shows a budget and credit with their remainder, to the last digit.
func TestRemainingBudgetIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	by := s.visitor.Actor(people.Origin{})
	must.Get(s.accounts.SetBudget(t.Context(), by, "acme", account.Budget{Limit: llm.USD / 100, Period: budget.PeriodDay}))(t)
	must.Get(s.accounts.AddCredit(t.Context(), by, "acme", llm.USD))(t)
	s.journal().apply(t, nil, used(s.acme, ago(0, 0), "openai/gpt"), used(s.acme, ago(1, 0), "openai/gpt"))
	s.see(t, "/accounts/acme", "<strong>$0.007725</strong> left of $0.01; $0.002275 spent", "<strong>$0.99545</strong> left of $1.00; $0.00455 spent", "23 %")
}

func TestUsagePageSumsAttempts(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme/usage", "No usage")
	var all []ledger.Entry
	for i := range 60 {
		all = append(all, used(s.acme, ago(i/2, time.Duration(i)), fmt.Sprintf("openai/gpt-%d", i%2)))
	}
	s.journal().apply(t, nil, append(all, used(s.other, ago(0, 0), "openai/foreign"))...)
	s.see(t, "/accounts/acme/usage", "1 to 2 of 2", "$0.1365", "start_date=2026-10-23", "/v1/uses?")
	const byDay = "/accounts/acme/usage?group_by=day,model"
	first := s.see(t, byDay, "1 to 50 of 60", "offset=50")
	second := s.see(t, byDay+"&start_date=2026-10-23&end_date=2026-11-21&offset=50", "51 to 60 of 60")
	if rows := strings.Count(first, `data-th="Tokens in"`) + strings.Count(second, `data-th="Tokens in"`); rows != 60 || strings.Contains(first, "foreign") {
		t.Errorf("rows of both pages: got %d, want 60 and none of another account", rows)
	}
	s.see(t, "/accounts/acme/usage?start_date=2026-11-20&end_date=2026-11-21&model=openai%2Fgpt-1&group_by=day", "1 to 2 of 2", "$0.00455")
	s.see(t, "/accounts/acme/usage?start_date=2026-11-20T23:00:00-03:00&end_date=2026-11-21", "21 Nov 2026, total")
	for query, field := range map[string]string{
		"start_date=soon": "start_date", "end_date=2026-02-30": "end_date", "start_date=2026-11-21&end_date=2026-11-20": "start_date",
		"start_date=2020-01-01": "start_date", "model=" + strings.Repeat("x", 257): "model",
	} {
		got := s.send(t, "GET", "/accounts/acme/usage?"+query, nil, nil)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, `id="f-`+field+`-error"`) {
			t.Errorf("%.40s: got %d, want 422 with an error at %s", query, got.status, field)
		}
	}
	if got := s.send(t, "GET", "/accounts/acme/usage?offset=-1", nil, nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("offset=-1: got %d, want 422", got.status)
	}
}

func TestUsageCSV(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	evil := used(s.acme, ago(0, 0), "=HYPERLINK(\"x\",\"y\")/gpt")
	evil.Price, evil.Cost = llm.Price{}, 0
	evil.Unpriced, evil.AtMost = evil.Price.Unpriced(&evil.Usage, ""), evil.Hold
	s.journal().apply(t, nil, evil, used(s.acme, ago(0, 1), "openai/gpt"), used(s.acme, ago(1, 0), "openai/gpt"), used(s.acme, ago(31, 0), "openai/gpt"), used(s.other, ago(0, 0), "x/y"))
	got := s.send(t, "GET", "/accounts/acme/usage.csv?start_date=2026-11-01&end_date=2026-11-21", nil, nil)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/csv; charset=utf-8" || got.header.Get("Content-Disposition") != "attachment; filename=usage-acme-2026-11-01-2026-11-21.csv" {
		t.Fatalf("got %d, %v", got.status, got.header)
	}
	rows := must.Get(csv.NewReader(strings.NewReader(got.text)).ReadAll())(t)
	const classes = ",input,cache_read,cache_write,cache_write_1h,cache_read_audio,audio_in,image_in,citation,output,reasoning,audio_out,image_out," +
		"request,image,character,millisecond,search,maps,x_search,file_search,code_interpreter,tool_image,other_tool,"
	counts := ",1000,200,0,0,0,0,0,0,100,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
	want := [][]string{
		strings.Split("date,model,requests,tokens"+classes+"cost_usd,unpriced,cost_at_most_usd,missed,missed_cost_usd,cached_requests,saved_usd", ","),
		append([]string{"2026-11-21", `'=HYPERLINK("x","y")/gpt`}, strings.Split("1,1300"+counts+"0.000000000,true,0.080000000,0,0.000000000,0,0.000000000", ",")...),
		strings.Split("2026-11-21,openai/gpt,1,1300"+counts+"0.002275000,false,,0,0.000000000,0,0.000000000", ","),
		strings.Split("2026-11-20,openai/gpt,1,1300"+counts+"0.002275000,false,,0,0.000000000,0,0.000000000", ","),
	}
	must.Equal(t, rows, want, "rows")
	if got := s.send(t, "GET", "/accounts/acme/usage.csv?start_date=soon", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("an invalid date: got %d, want 400", got.status)
	}
}

func TestRequestsAreListedAndFiltered(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme/requests", "No requests yet", `data-tail="/accounts/acme/requests/tail"`)
	k := s.key(t, s.acme, "ada")
	var all []ledger.Entry
	for i := range 120 {
		e := used(s.acme, ago(i/50, time.Duration(i)*time.Second), fmt.Sprintf("openai/gpt-%d", i%3))
		if i%10 == 0 {
			e.Key, e.Outcome = k.ID, ledger.OutcomeCut
		}
		all = append(all, e)
	}
	s.journal().apply(t, nil, append(all, used(s.other, ago(0, 0), "openai/foreign"))...)
	for query, want := range map[string]int{"": 120, "key=" + k.ID: 12, "ended=error": 12, "ended=ok": 108, "model=openai%2Fgpt-1": 40, "start_date=2026-11-20&end_date=2026-11-20": 50, "key=none": 0} {
		seen := map[string]bool{}
		for path := "/accounts/acme/requests?" + query; path != ""; {
			text := s.see(t, path)
			for _, row := range strings.Split(text, `<tr class="leads dense" id="r-`)[1:] {
				id, _, _ := strings.Cut(row, `"`)
				if seen[id] {
					t.Errorf("%s: got %s twice", query, id)
				}
				seen[id] = true
			}
			path = ""
			if older := between(text, `rel="next"`, "Older"); older != "" {
				before, _, _ := strings.Cut(text, `" rel="next"`)
				path = strings.ReplaceAll(before[strings.LastIndex(before, `href="`)+len(`href="`):], "&amp;", "&")
			}
		}
		if len(seen) != want {
			t.Errorf("%q: got %d requests, want %d", query, len(seen), want)
		}
	}
	for _, query := range []string{"ended=maybe", "after=x", "start_date=x", "start_date=2026-11-21&end_date=2026-11-20"} {
		if got := s.send(t, "GET", "/accounts/acme/requests?"+query, nil, nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want 422", query, got.status)
		}
	}
}

func TestOneRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	e := used(s.acme, ago(0, 0), "openai/gpt")
	e.Requested = "fast"
	second := e
	second.ID.N, second.Opened = 2, e.Opened.Add(2*time.Second)
	e.Settlement = ledger.Settlement{Outcome: ledger.OutcomeUnknown, Provenance: ledger.Unknown, Usage: llm.Usage{llm.Input: 1}, Cost: e.Hold}
	foreign := used(s.other, ago(0, time.Second), "openai/gpt")
	s.journal().apply(t, nil, e, second, foreign)
	path := "/accounts/acme/requests/" + e.ID.Request.String()
	s.see(t, path, "$0.082275", "$0.08", "$1.25 per million", "$10.00 per million", "<td class=\"num\">$0.002275</td>", "openai/gpt@1", "fast", "upper bound: the gateway did not see the end")
	by := s.visitor.Actor(people.Origin{})
	must.Do(t, s.store.Corrections.Resolve(t.Context(), by, e.ID, 7_000_000, false))
	s.see(t, path, "-$0.073", "<td class=\"num\">$0.007</td>", "resolved later", "ada@example.com", "$0.009275")
	for _, id := range []string{foreign.ID.Request.String(), uuid.Nil.String(), "x"} {
		if got := s.send(t, "GET", "/accounts/acme/requests/"+id, nil, nil); got.status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", id, got.status)
		}
	}
}

func TestModelsAreSearched(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	for query, want := range map[string][]string{
		"": {"fast", "house/small", "openai/gpt"}, "q=GPT": {"openai/gpt"}, "q=open+gp": {"openai/gpt"}, "provider=house": {"house/small"},
		"provider=*": {"fast"}, "can=images": {"openai/gpt"}, "q=nothing": nil, "offset=2": {"openai/gpt"}, "offset=99": nil,
	} {
		text := s.see(t, "/accounts/acme/models?"+query)
		var got []string
		for _, row := range strings.Split(text, `<span id="model-`)[1:] {
			got = append(got, strings.ReplaceAll(between(row, `">`, "</span>"), "<wbr>", ""))
		}
		must.Equal(t, got, want, "%q", query)
	}
	s.see(t, "/accounts/acme/models", "<small>alias of</small><small>openai/gpt:", "400 k", "128 k", "$1.25", "Cache read $0.125 per million", "Unpriced", "prices@1, 2026-11-20", "no</span>", "yes</span>", "unknown</span>")
	got := s.send(t, "GET", "/accounts/acme/models?"+url.Values{"offset": {"x"}}.Encode(), nil, nil)
	if got.status != http.StatusUnprocessableEntity {
		t.Errorf("offset=x: got %d, want 422", got.status)
	}
}

// TestPagesWaitForSettledRequests checks that each page has the last settled request, and is still served if the wait
// fails.
func TestPagesWaitForSettledRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	j := s.journal()
	e := used(s.acme, ago(0, 0), "openai/gpt")
	for _, path := range []string{"", "/usage", "/usage.csv", "/requests", "/requests/" + e.ID.Request.String()} {
		waited := 0
		s.flush = func() error {
			waited++
			if waited == 1 && path == "" {
				j.apply(t, nil, e)
			}
			return nil
		}
		if got := s.send(t, "GET", "/accounts/acme"+path, nil, nil); got.status != http.StatusOK || waited != 1 || !strings.Contains(got.text, "gpt") {
			t.Errorf("%s: got %d after it waited %d times, want 200 after once, with the request", path, got.status, waited)
		}
	}
	s.flush = func() error { return errors.New("the database is away") }
	s.see(t, "/accounts/acme", "gpt")
}

// TestUnseenEndsShowBothCosts checks that each cost of attempts with unseen ends is shown with its estimate and its
// upper bound, and that operators find links to these attempts and to the page that resolves them.
func TestUnseenEndsShowBothCosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	k := s.key(t, s.acme, "ada")
	gone := used(s.acme, ago(10, 0), "openai/gpt")
	gone.Key, gone.Outcome, gone.Provenance, gone.AtMost = k.ID, ledger.OutcomeClientGone, ledger.Estimated, llm.USD/2
	whole := used(s.acme, ago(9, 0), "openai/gpt")
	whole.ProviderCost = new(llm.Money(2_300_000))
	unpriced := used(s.other, ago(2, 0), "openai/gpt") // its end was seen
	unpriced.Unpriced, unpriced.AtMost = unpriced.Unpriced.With(llm.Maps), unpriced.Cost+5
	s.journal().apply(t, nil, gone, whole, unpriced, used(s.other, ago(1, 0), "openai/gpt"))
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme", "at most $0.502275", "at most $0.50", "$0.497725 higher than the spend")
	s.see(t, "/accounts/acme/usage", "at most $0.502275", "at most $0.50")
	s.see(t, "/accounts/acme/requests", "at most $0.50", "provider: $0.0023", "End not seen")
	text := s.see(t, "/accounts/acme/requests?ended=unseen", "at most $0.50")
	if strings.Contains(text, "provider:") {
		t.Error("filter for unseen ends: got the request with a seen end, too")
	}
	const resolve = "/attempts/1/resolve"
	unseen := "/accounts/acme/requests/" + gone.ID.Request.String()
	if text := s.see(t, unseen, "at most $0.50", "until an operator sets its cost"); strings.Contains(text, resolve) {
		t.Error("a viewer got the form that sets the cost")
	}
	if text := s.see(t, "/accounts/acme/requests/"+whole.ID.Request.String(), "Cost reported by the provider", "the provider reports $0.0023"); strings.Contains(text, "until an operator") {
		t.Error("a request with a seen end: got how to resolve it")
	}
	s.come("ada", "")
	s.see(t, "/accounts/"+s.other.Name+"/requests/"+unpriced.ID.Request.String(), unpriced.ID.Request.String()+resolve)
	s.see(t, unseen, unseen+resolve)
	s.see(t, "/operator/accounts", "1 attempt has an unknown end", "in the last 180 days", "$0.497725 higher", `href="/accounts/acme/requests?ended=unseen&amp;start_date=2026-11-11"`, "weir ledger resolve --older 7d --at-most")
	for _, cost := range []string{"much", "-1", "1e9"} {
		if got := s.send(t, "POST", unseen+resolve, url.Values{"cost_usd": {cost}}, nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("cost %q: got status %d, want 422", cost, got.status)
		}
	}
	elsewhere := "/accounts/" + s.other.Name + "/requests/" + gone.ID.Request.String() + resolve
	for path, want := range map[string]int{elsewhere: 404, unseen + "/attempts/2/resolve": 404, unseen + resolve: 303} {
		if got := s.send(t, "POST", path, url.Values{"cost_usd": {"0.000000005"}}, nil); got.status != want {
			t.Errorf("%s: got status %d, want %d", path, got.status, want)
		}
	}
	if text := s.see(t, unseen, "$0.000000005"); strings.Contains(text, "at most") {
		t.Error("the resolved request: got a bound, want the cost alone")
	}
	if text := s.see(t, "/operator/accounts"); strings.Contains(text, "an unknown end") {
		t.Error("resolved: got the line about it, want none")
	}
}

// TestArithmeticShowsEachFee checks that there is a row for each tool and fee, and for the mode and tier of the price.
func TestArithmeticShowsEachFee(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	e := used(s.acme, ago(1, 0), "openai/gpt")
	e.Price = llm.Price{Version: "tools", Modes: []llm.Mode{{Name: "priority", Times: 1750}}}
	for c := range llm.NumClasses {
		e.Usage[c], e.Price.Rates[c] = int64(c+1)*1000, llm.Rate(1_000_000*(c+1))
	}
	e.Price.Rates[llm.Maps] = 0
	e.Price.Tiers = []llm.Tier{{Above: 500, Rates: e.Price.Rates}}
	e.Tier = "priority"
	e.Cost, e.Unpriced = e.Price.Cost(&e.Usage, "priority"), e.Price.Unpriced(&e.Usage, "priority")
	s.journal().apply(t, nil, e)
	text := s.see(t, "/accounts/acme/requests/"+e.ID.Request.String(), "priority, tokens at 1.75 times the standard rates", "more than 500 input tokens", "16 s", "per second", "at least $")
	for c := range llm.Class(llm.NumClasses) {
		name := strings.Replace(c.What(), " tokens", "", 1)
		if !strings.Contains(text, `<th scope="row">`+name+"</th>") {
			t.Errorf("%s: got no row of it", c)
		}
	}
}
