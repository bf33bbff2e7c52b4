package dashboard

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/budget"
	"weir/internal/contentlog"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/pricing"
	"weir/internal/promptcache"
	"weir/internal/refusal"
	"weir/internal/report"
	"weir/internal/route"
)

// usageSamples returns the pages of an account's usage.
func usageSamples() []sample {
	all := append(overviewSamples(), usesSamples()...)
	return append(append(all, requestSamples()...), modelSamples()...)
}

// sampleModels returns names of models, one of them hostile.
func sampleModels(n int) []string {
	names := []string{"anthropic/claude-sonnet-4-5", "openai/gpt-5", "openai/gpt-5-mini", "gemini/gemini-2.5-flash", "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0", "mistral/" + hostile}
	for len(names) < n {
		names = append(names, fmt.Sprintf("openrouter/vendor-%d/some-model-with-a-long-name-%d", len(names), len(names)))
	}
	return names[:n]
}

// sampleSum returns a made-up, deterministic sum.
func sampleSum(day, model int) report.Sum {
	n := int64((day*7919+model*104729)%97) + 3
	if day%7 > 4 {
		n /= 4
	}
	s := report.Sum{
		Usage: llm.Usage{llm.Input: n * 41_230 / int64(model+1), llm.CacheRead: n * 9_001, llm.Output: n * 7_421 / int64(model+1)},
		Cost:  llm.Money(n*41_230_417) / llm.Money(model*model+1), Requests: n * 12, Attempts: n*12 + n/9, Errors: n / 9,
	}
	s.Speed[4], s.Speed[5], s.Speed[6], s.Speed[9] = n, n*6, n*2, n/5
	return s
}

// sampleMissed returns made-up misses of every cause.
func sampleMissed(day, model int) (m report.Missed) {
	n := int64((day*31 + model*17) % 13)
	m.Tokens = n * 1_408
	m.Costs[n%int64(len(m.Costs))] = llm.Money(n * 4_123_041)
	return m
}

func sampleSums(of span, models int) *spentSums {
	x := &spentSums{span: of, others: models > maxSeries}
	x.whole.Days = make([]report.DaySum, of.days())
	for m, name := range sampleModels(models) {
		sum := report.ModelSum{Model: name}
		for d := range of.days() {
			one := sampleSum(d, m)
			x.whole.Days[d].Date = of.from.AddDate(0, 0, d).Format(time.DateOnly)
			sum.Costs = append(sum.Costs, one.Cost)
			sum.Add(&one)
			x.whole.Days[d].Add(&one)
			x.whole.Total.Add(&one)
		}
		if x.whole.More = m >= mostListed; !x.whole.More {
			x.whole.Models = append(x.whole.Models, sum)
		}
		if m < maxSeries-1 || models <= maxSeries {
			x.series = append(x.series, sum)
		}
	}
	return x
}

func overviewSamples() []sample {
	keys := []account.Key{{ID: "k-1", Label: hostile}, {ID: "k-2", Label: "nightly report"}, {ID: "k-3", Label: "website chat"}}
	var all []sample
	for name, of := range map[string]span{"overview": lastDays(testTime, 30), "overview-7": lastDays(testTime, 7), "overview-90": lastDays(testTime, 90), "overview-month": monthOf(testTime, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))} {
		models := map[string]int{"overview-7": 3}[name]
		if models == 0 {
			models = 12
		}
		x := sampleSums(of, models)
		x.whole.Total.Unpriced, x.whole.Total.Estimated, x.whole.Total.Unknown = 3, 1, 1
		x.whole.Total.Uncertain, x.whole.Models[1].Uncertain = 4*llm.USD/3, 4*llm.USD/3
		x.whole.Models[2].Unpriced = 3
		x.whole.Days[1].Uncertain, x.whole.Days[2].Unpriced = 4*llm.USD/3, 3
		for i, id := range []string{"k-2", "k-1", "gone"} {
			x.keys = append(x.keys, report.KeySum{Key: id, Requests: 100, Cost: x.whole.Total.Cost / llm.Money(i*i+2), Uncertain: llm.Money(i) * llm.USD / 3, Unpriced: int64(i % 2)})
		}
		v := visitOf(people.Owner)
		v.Account.Suspended = name == "overview-7"
		p := overviewPageOf(v.Account, keys, x, testTime)
		monthly := allowanceOf("Monthly budget", "resets on 1 Dec 2026, UTC", 204*llm.USD, 250*llm.USD)
		monthly.forecast(budget.PeriodMonth.Starts(testTime), testTime, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
		credit := allowanceOf("Credit", "prepaid", 4999*llm.USD, 5000*llm.USD)
		credit.lasts(x, testTime)
		p.Allowances = []allowance{monthly, credit}
		x.whole.Days[2].Speed = report.Speed{} // a gap
		all = append(all, sample{name, "/accounts/acme", people.Owner, page{name: "overview", title: "Overview", scripts: []string{"chart.js"}, data: p}})
	}
	hours := sampleSums(span{testTime, testTime.AddDate(0, 0, 23)}, 4) // as many as hours
	when, _ := namedRange(hoursRange, testTime)
	hours.span, hours.since = when.span, when.since
	all = append(all, sample{"overview-24h", "/accounts/acme", people.Owner, page{
		name: "overview", title: "Overview", scripts: []string{"chart.js"},
		data: overviewPageOf(visitOf(people.Owner).Account, keys, hours, testTime),
	}})
	p := overviewPageOf(visitOf(people.Viewer).Account, nil, &spentSums{span: lastDays(testTime, 7)}, testTime)
	return append(all, sample{"overview-quiet", "/accounts/acme", people.Viewer, page{name: "overview", title: "Overview", data: p}})
}

func usesSamples() []sample {
	var all []sample
	add := func(name string, q url.Values, uses *report.UsesPage) {
		v := visitOf(people.Viewer)
		if strings.HasPrefix(name, "usage-all") {
			v = visitOf("")
			v.Account = nil
		}
		u := usageQueryOf(q, v, testTime)
		var p usagePage
		if u.form.bad() {
			p = usagePage{Filters: u.filters(&usageNames{}), Problems: u.form.problems()}
		} else {
			found := &usageFound{before: report.Totals{Cost: llm.USD}, page: *uses, names: usageNames{accounts: map[string]string{"a-1": "acme"}, keys: map[string]string{"k-1": hostile}}}
			chart := &report.UsesPage{}
			for i, start := range u.when.starts(testTime) {
				for m, model := range sampleModels(6)[:min(uses.Count, 6)] {
					sum := sampleSum(i, m)
					chart.Uses = append(chart.Uses, report.Use{Group: []*string{new(u.when.groupText(start)), new(model)}[:min(len(u.by), 1)+1], Usage: sum.Usage, Cost: sum.Cost, Requests: sum.Requests, Attempts: sum.Attempts, Errors: sum.Errors, Speed: sum.Speed, Uncertain: llm.Money(m%2) * llm.USD / 3, Missed: sampleMissed(i, m)})
				}
			}
			for i := range chart.Uses {
				found.whole.Add(&chart.Uses[i])
			}
			if found.chart = found.draw(u, chart, testTime); u.metric.Value == metricSpeed {
				found.chart = speedsChart(&u.when, testTime, chart)
			}
			p = usagePageOf(v, "https://weir.example.com", u, found, testTime)
		}
		path, role := "/accounts/acme/usage", people.Viewer
		if v.Account == nil {
			path, role = allUsagePath, ""
		}
		all = append(all, sample{name, path, role, page{name: "usage", title: "Usage", scripts: []string{"chart.js"}, data: p}})
	}
	uses := &report.UsesPage{Count: 360, Total: report.Totals{Tokens: 148_211_034, Requests: 86_112, Cost: 1_204_184_311_877}}
	for i := range usesShown {
		s := sampleSum(i, i%12)
		uses.Uses = append(uses.Uses, report.Use{Group: []*string{new(sampleModels(60)[i])}, Attempts: s.Attempts, Errors: s.Errors, Speed: s.Speed, Usage: s.Usage, Requests: s.Requests, Cost: s.Cost, Unpriced: int64(i % 3), Uncertain: llm.Money(i%7/6) * llm.USD / 3, Missed: sampleMissed(i, i%12)})
	}
	add("usage", url.Values{}, uses)
	add("usage-hour", url.Values{"range": {"1h"}, "metric": {"requests"}}, uses)
	add("usage-day", url.Values{"range": {"24h"}, "metric": {"first_token"}, "sort": {"name"}}, uses)
	add("usage-total", url.Values{"group_by": {"none"}, "metric": {"cache_read"}}, uses)
	add("usage-92", url.Values{"start_date": {"2026-08-22"}, "end_date": {"2026-11-21"}, "offset": {"50"}}, uses)
	add("usage-years", url.Values{"start_date": {"2023-12-01"}, "end_date": {"2026-11-21"}, "offset": {"50"}, "model": {hostile}}, uses)
	groups := &report.UsesPage{Count: 2, Total: uses.Total}
	for i, value := range []*string{new("k-1"), nil} {
		s := sampleSum(i, i)
		groups.Uses = append(groups.Uses, report.Use{Group: []*string{value}, Usage: s.Usage, Requests: s.Requests, Cost: s.Cost, Unpriced: int64(i % 2), Uncertain: llm.USD})
	}
	add("usage-keys", url.Values{"group_by": {"key"}, "sort": {"cost"}}, groups)
	add("usage-tags", url.Values{"tag": {"project"}, "key": {"k-1"}, "tag.team": {hostile}}, groups)
	accounts := &report.UsesPage{Count: 2, Uses: []report.Use{{Group: []*string{new("a-1")}, Requests: 7, Cost: llm.USD, Margin: report.Margin{Margin: 5}}, {Group: []*string{new("gone")}, Requests: 7}}}
	add("usage-all", url.Values{"range": {"7d"}}, accounts)
	add("usage-all-wrong", url.Values{"metric": {"luck"}, "range": {"2h"}, "provider": {strings.Repeat("p", 300)}}, nil)
	add("usage-empty", url.Values{"model": {"openai/gpt-5"}}, &report.UsesPage{})
	add("usage-wrong-groups", url.Values{"group_by": {"colour"}, "sort": {"luck"}, "key": {strings.Repeat("k", 70)}}, nil)
	add("usage-wrong", url.Values{"start_date": {hostile}, "end_date": {"soon"}, "offset": {"-1"}, "model": {hostile}}, nil)
	return all
}

// sampleRequest returns a request of several attempts with these outcomes.
func sampleRequest(outcomes ...ledger.Outcome) report.RequestDetail {
	price := llm.Price{Version: "openai/gpt-5@2026-11-01", Rates: llm.Rates{llm.Input: 1_250_000, llm.CacheRead: 125_000, llm.Output: 10_000_000, llm.Searches: 10_000_000_000}}
	price.Rates[llm.Maps], price.Rates[llm.FileSearches], price.Rates[llm.CodeSessions], price.Rates[llm.Images] = 14_000_000_000, 2_500_000_000, 30_000_000_000, 40_000_000_000
	price.Rates[llm.Requests], price.Rates[llm.Milliseconds], price.Rates[llm.Characters] = 5_000_000_000, 100_000_000_000, 15_000_000
	price.Modes = []llm.Mode{{Name: "priority", Times: 1750}, {Name: "geo:us", Times: 1100}}
	price.Tiers = []llm.Tier{{Above: 200_000, Rates: price.Rates}}
	price.Tiers[0].Rates[llm.Input], price.Tiers[0].Rates[llm.CacheRead], price.Tiers[0].Rates[llm.Output] = 2_500_000, 250_000, 15_000_000
	var d report.RequestDetail
	for i, o := range outcomes {
		a := report.Attempt{Row: ledger.Row{Entry: ledger.Entry{Attempt: ledger.Attempt{
			ID: ledger.AttemptID{Request: uuid.MustParse("0199a0b0-0000-7000-8000-00000000000a"), N: uint16(i + 1)}, Key: "k-1", Requested: "fast",
			Provider: "openai", Model: "gpt-5", Arrived: testTime, Opened: testTime.Add(time.Duration(i) * 830 * time.Millisecond), Stream: true, Price: price, Hold: 81_204_000,
		}, Settlement: ledger.Settlement{Outcome: o}}}}
		if i == 1 {
			a.Model, a.Requested = hostile, hostile
		}
		settleSample(&a)
		a.Explain()
		d.Parts = append(d.Parts, a)
	}
	d.Request = report.Summarize(d.Parts)
	return d
}

func settleSample(a *report.Attempt) {
	a.Provenance, a.Duration = ledger.Exact, 812*time.Millisecond
	switch a.Outcome {
	case ledger.OutcomeOpen:
		a.Settlement = ledger.Settlement{Outcome: ledger.OutcomeOpen}
	case ledger.OutcomeRejected:
		a.Status, a.Code = 429, llm.CodeRateLimited
	case ledger.OutcomeUnknown:
		a.Provenance, a.Cost, a.Usage = ledger.Unknown, a.Hold, llm.Usage{llm.Input: 210, llm.Output: 8192}
		a.Corrections = []ledger.Correction{{Kind: "resolved", Cost: -a.Hold, Usage: llm.Usage{llm.Input: -210, llm.Output: -8192}, By: "operator " + hostile, At: testTime.Add(time.Hour)}}
	case ledger.OutcomeFailed:
		a.Provenance, a.Usage = ledger.Estimated, llm.Usage{llm.Input: 210}
		a.Cost = a.Price.Cost(&a.Usage, "")
		a.AtMost = a.Cost + llm.USD/7
	case ledger.OutcomeClientGone: // the provider's own figure counts
		a.Usage, a.Settlement.Tier, a.Billed, a.Status = llm.Usage{llm.Input: 210, llm.Searches: 2}, "priority", true, 200
		a.Cost, a.ProviderCost = 21_000_000, new(llm.Money(21_000_000))
	case ledger.OutcomeCut:
		a.Price, a.Usage, a.Provenance = llm.Price{}, llm.Usage{llm.Input: 210, llm.Output: 12}, ledger.Estimated
		a.Unpriced, a.AtMost = a.Price.Unpriced(&a.Usage, ""), a.Hold
	default:
		a.Missed = ledger.Missed{Miss: promptcache.Miss{Tokens: 190_464, Cause: promptcache.Changed, Message: 3}, Cost: 214_272_000}
		a.Usage = llm.Usage{llm.Input: 211_034, llm.CacheRead: 1204, llm.Output: 733, llm.Searches: 2, llm.Maps: 1, llm.FileSearches: 3, llm.CodeSessions: 1}
		a.Usage[llm.Requests], a.Usage[llm.Images], a.Usage[llm.Milliseconds], a.Usage[llm.Characters] = 1, 1, 12_345, 210
		a.Settlement.Tier, a.ProviderCost = "priority,geo:us", new(llm.Money(1_204_000_000))
		a.Cost, a.Status, a.FirstToken, a.Duration, a.Finish = a.Price.Cost(&a.Usage, a.Settlement.Tier), 200, 402*time.Millisecond, 2912*time.Millisecond, llm.FinishStop
	}
}

func requestSamples() []sample {
	base, labels := "/accounts/acme/requests", map[string]string{"k-1": hostile}
	keys := []account.Key{{ID: "k-1", Label: hostile, Last4: "9xQe"}, {ID: "k-2", Label: "nightly report", Last4: "Zk3d"}}
	var list []report.Request
	outcomes := []ledger.Outcome{ledger.OutcomeOpen, ledger.OutcomeOK, ledger.OutcomeCut, ledger.OutcomeUnknown, ledger.OutcomeClientGone, ledger.OutcomeRejected, ledger.OutcomeRefused, ledger.OutcomeFailed, ledger.OutcomeOK, "new"}
	for i := range requestsShown {
		d := sampleRequest(outcomes[i%len(outcomes)])
		if i%4 == 1 {
			d = sampleRequest(ledger.OutcomeRejected, outcomes[i%len(outcomes)])
		}
		d.ID[0], d.Arrived = byte(i), testTime.Add(-time.Duration(i*i)*time.Minute)
		list = append(list, d.Request)
	}
	var all []sample
	for name, q := range map[string]url.Values{
		"requests": {}, "requests-page": {"key": {"k-2"}, "model": {hostile}, "ended": {"error"}, "after": {"2026-11-21.0199a0b0-0000-7000-8000-00000000000a"}},
		"requests-none": {"model": {"openai/gpt-5"}}, "requests-empty": {}, "requests-rare": {"model": {"openai/gpt-5"}},
		"requests-wrong": {"key": {hostile}, "ended": {"maybe"}, "start_date": {hostile}, "after": {"x"}, "tag": {hostile}, "status": {hostile}, "min_cost_usd": {"x"}, "end_time": {"noon"}},
	} {
		f := &form{values: q}
		query := requestQuery(f, "acc-1")
		p := requestsPage{Filters: requestForm(f, keys, base), Problems: f.problems()}
		next := report.Cursor{Date: "2026-11-20", ID: uuid.UUID{1}}
		switch name {
		case "requests", "requests-page":
			p.fill(base, filtersOf(f), &query, requestRows(base, list, labels), next, testTime)
		case "requests-rare":
			p.fill(base, filtersOf(f), &query, nil, next, testTime)
		default:
			p.fill(base, filtersOf(f), &query, nil, report.Cursor{}, testTime)
		}
		all = append(all, sample{name, base, people.Viewer, page{name: "requests", title: "Requests", scripts: []string{"tail.js"}, data: p}})
	}
	for name, d := range map[string]report.RequestDetail{
		"request": sampleRequest(ledger.OutcomeRejected, ledger.OutcomeCut, ledger.OutcomeOK), "request-open": sampleRequest(ledger.OutcomeOpen),
		"request-unknown": sampleRequest(ledger.OutcomeUnknown), "request-unseen": sampleRequest(ledger.OutcomeClientGone, ledger.OutcomeFailed), "request-long": sampleRequest(manyOK()...),
	} {
		all = append(all, sample{name, base + "/x", people.Viewer, page{name: "request", title: "Request", data: requestPageOf(base, &d, labels)}})
	}
	return append(append(all, refusalSamples(base, keys, labels)...), contentSamples(base)...)
}

// contentSamples returns the pages of logged content.
func contentSamples(base string) (all []sample) {
	chat := `{"choices":[{"index":0,"text":` + strconv.Quote(hostile) + `,"reasoning":"Hm.","tool_calls":[{"name":"weather","arguments":"{\"city\":\"Kiel\"}"}]},{"index":1,"text":""}]}`
	for name, answer := range map[string]string{"content": chat, "content-other": `{"text":"said"}`, "content-failed": "null", "content-cut": `"{\"text\":\"sa"`} {
		c := admin.LoggedContent{
			RequestID: "0199a0b0-0000-7000-8000-00000000000a", Created: testTime, Expires: testTime.AddDate(0, 0, 30),
			Content: contentlog.Content{
				Request: []byte(`{"model":"house/m","messages":[{"role":"user","prompt":` + strconv.Quote(hostile) + `}]}`), Answer: []byte(answer),
				Redacted: 2, RequestTruncated: name == "content", AnswerTruncated: name == "content",
			},
		}
		if name == "content-failed" {
			c.Failures = []contentlog.Failure{
				{Attempt: 1, Target: "house/m", Message: "The provider house answered with status 500.", Provider: hostile},
				{Attempt: 2, Target: "house/n", Message: "The connection to the provider house broke."},
			}
		}
		p := contentPageOf(base+"/0199a0b0-0000-7000-8000-00000000000a", &c)
		p.Remove = removeContent(p.Back)
		all = append(all, sample{name, base + "/x", people.Owner, page{name: "request-content", title: "Content of a request", data: p}})
	}
	return all
}

// refusalSamples returns the pages of refused requests.
func refusalSamples(base string, keys []account.Key, labels map[string]string) (all []sample) {
	one := admin.RefusedRequest{
		ID: "0199a0b0-0000-7000-8000-00000000000a", Arrived: testTime, KeyID: "k-1", Model: hostile, Reason: llm.CodeModelNotFound,
		Status: 404, Message: "The model " + hostile + " is not served here.",
	}
	found := admin.RefusalReport{Total: 12345, Latest: []admin.RefusedRequest{one, {ID: one.ID, Arrived: testTime, KeyID: "k-3", Reason: llm.CodeRateLimited, Status: 429, Message: "Wait."}}}
	for i, reason := range refusal.Reasons() {
		model := []string{"", "openai/gpt-5", hostile}[i%3]
		found.Counts = append(found.Counts, admin.RefusalCount{KeyID: &keys[i%2].ID, Reason: &reason, Model: &model, Count: int64(100 - i)})
	}
	for name, x := range map[string]*admin.RefusalReport{"refused": &found, "refused-none": {}, "refused-one": {Total: 1}} {
		f := &form{values: url.Values{"ended": {endedRefused}}}
		p := requestsPage{
			Filters: requestForm(f, keys, base),
			Refused: refusedViewOf(base, "in the last 24 hours", x, labels),
		}
		all = append(all, sample{name, base, people.Viewer, page{name: "requests", title: "Requests", data: p}})
	}
	p := refusedRowOf(base, &one, labels)
	return append(all, sample{"refusal", base + "/x", people.Viewer, page{name: "refusal", title: "Refused request", data: p}})
}

// manyOK returns more attempts than a page shows.
func manyOK() (all []ledger.Outcome) {
	for range 30 {
		all = append(all, ledger.OutcomeOK)
	}
	return all
}

func modelSamples() []sample {
	price := sampleRequest(ledger.OutcomeOK).Parts[0].Price
	models := []route.Model{
		{Name: "fast", Targets: []string{"openai/gpt-5-mini", "house/small"}},
		{Name: hostile, Targets: []string{hostile}},
		{Name: "house/" + hostile, Provider: hostile, Price: price, Source: hostile},
	}
	for i := range 60 {
		m := route.Model{
			Name: "openrouter/vendor/" + strings.Repeat("long-name-", 3) + fmt.Sprint(i), Provider: "openrouter", Context: 1_048_576, MaxOutput: 65_536,
			Abilities: pricing.Abilities{Images: pricing.Yes, Documents: pricing.No, Tools: pricing.Yes, Structured: pricing.Yes}, Deprecated: i%9 == 3,
			Source: "github.com/BerriAI/litellm@1.2.3", Checked: "2026-11-20",
		}
		if i%5 != 4 {
			m.Price = price
		}
		models = append(models, m)
	}
	var all []sample
	for name, q := range map[string]url.Values{
		"models": {}, "models-next": {"offset": {"40"}, "q": {"LONG vendor"}, "provider": {"openrouter"}, "can": {"images"}},
		"models-none": {"q": {hostile + "x"}}, "models-wrong": {"offset": {"many"}}, "models-aliases": {"provider": {aliasesOnly}},
	} {
		p := modelsPageOf("/accounts/acme/models", models, q)
		p.Default = "openai/gpt-5-mini"
		all = append(all, sample{name, "/accounts/acme/models", people.Viewer, page{name: "models", title: "Models", data: p}})
	}
	return append(all, sample{"models-empty", "/accounts/acme/models", people.Viewer, page{name: "models", title: "Models", data: modelsPageOf("/accounts/acme/models", nil, nil)}})
}
