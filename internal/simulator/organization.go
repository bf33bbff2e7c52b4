package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir/internal/llm"
)

// The simulator's charges, in dollars for a million tokens, in its reports to an organization.
const (
	inputDollars  = 1
	outputDollars = 2
)

// organizationRoutes adds the reports of OpenAI, Anthropic and OpenRouter to an organization: see package reconcile.
// They report the true usage, by UTC day and model, and costs in whole cents.
func (s *Server) organizationRoutes() {
	for path, report := range map[string]func(url.Values) any{
		"/v1/organization/usage/completions":      s.openAIUsage,
		"/v1/organization/usage/embeddings":       func(url.Values) any { return bucketPage("openai", nil) },
		"/v1/organization/costs":                  s.openAICosts,
		"/v1/organizations/usage_report/messages": s.anthropicUsage,
		"/v1/organizations/cost_report":           s.anthropicCosts,
		"/v1/activity":                            s.openRouterActivity,
	} {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(report(r.URL.Query())) // a client that disconnected sends the request again
		})
	}
}

// consumed is the usage of a model on a day.
type consumed struct {
	day   time.Time
	model string
	usage llm.Usage
}

// cents returns its cost, in whole cents.
func (c *consumed) cents() int64 {
	const half = 500_000 / 100
	return ((c.usage.InputTokens()*inputDollars+c.usage.OutputTokens()*outputDollars)*100 + half*100) / 1_000_000
}

// consumedAt returns the usage of these wire formats from one day to before another, by day and model.
func (s *Server) consumedAt(from, until time.Time, dialects ...string) []consumed {
	type place struct {
		day   time.Time
		model string
	}
	sums := map[place]*consumed{}
	for rec := range s.ledger.Records(0) {
		day := rec.Received.UTC().Truncate(24 * time.Hour)
		if rec.Usage.IsZero() || !slices.Contains(dialects, rec.Dialect) || day.Before(from) || !day.Before(until) {
			continue
		}
		at := place{day, rec.Model}
		if sums[at] == nil {
			sums[at] = &consumed{day: day, model: rec.Model}
		}
		sums[at].usage.Add(&rec.Usage)
	}
	var all []consumed
	for _, c := range slices.SortedFunc(maps.Values(sums), func(a, b *consumed) int {
		return cmp.Or(a.day.Compare(b.day), cmp.Compare(a.model, b.model))
	}) {
		all = append(all, *c)
	}
	return all
}

// bucketPage returns a report of one page, with a bucket for each result.
func bucketPage(vendor string, results []bucket) map[string]any {
	data := []any{}
	for _, b := range results {
		bucket := map[string]any{"results": []any{b.result}}
		if vendor == "openai" {
			bucket["object"], bucket["start_time"], bucket["end_time"] = "bucket", b.day.Unix(),
				b.day.AddDate(0, 0, 1).Unix()
		} else {
			bucket["starting_at"], bucket["ending_at"] = b.day.Format(time.RFC3339),
				b.day.AddDate(0, 0, 1).Format(time.RFC3339)
		}
		data = append(data, bucket)
	}
	return map[string]any{"object": "page", "data": data, "has_more": false, "next_page": nil}
}

// bucket is a result of a day.
type bucket struct {
	day    time.Time
	result map[string]any
}

// report returns a page of the usage.
func (s *Server) report(vendor string, from, until time.Time, result func(*consumed) map[string]any) any {
	dialects := []string{"anthropic"}
	if vendor == "openai" {
		dialects = []string{"openai", "responses"}
	}
	var all []bucket
	for _, c := range s.consumedAt(from, until, dialects...) {
		all = append(all, bucket{c.day, result(&c)})
	}
	return bucketPage(vendor, all)
}

func unixDays(q url.Values) (from, until time.Time) {
	start, _ := strconv.ParseInt(q.Get("start_time"), 10, 64)
	end, _ := strconv.ParseInt(q.Get("end_time"), 10, 64)
	return time.Unix(start, 0), time.Unix(end, 0)
}

func textDays(q url.Values) (from, until time.Time) {
	from, _ = time.Parse(time.RFC3339, q.Get("starting_at"))
	until, _ = time.Parse(time.RFC3339, q.Get("ending_at"))
	return from, until
}

func (s *Server) openAIUsage(q url.Values) any {
	from, until := unixDays(q)
	return s.report("openai", from, until, func(c *consumed) map[string]any {
		return map[string]any{
			"object": "organization.usage.completions.result", "model": c.model, "input_tokens": c.usage.InputTokens(),
			"input_cached_tokens": c.usage[llm.CacheRead], "output_tokens": c.usage.OutputTokens(),
		}
	})
}

func (s *Server) openAICosts(q url.Values) any {
	from, until := unixDays(q)
	return s.report("openai", from, until, func(c *consumed) map[string]any {
		return map[string]any{
			"object": "organization.costs.result", "line_item": c.model + ", input",
			"amount": map[string]any{"value": float64(c.cents()) / 100, "currency": "usd"},
		}
	})
}

func (s *Server) anthropicUsage(q url.Values) any {
	from, until := textDays(q)
	return s.report("anthropic", from, until, func(c *consumed) map[string]any {
		u := &c.usage
		return map[string]any{
			"model": c.model,
			"uncached_input_tokens": u.InputTokens() - u[llm.CacheRead] - u[llm.CacheWrite] -
				u[llm.CacheWrite1h],
			"cache_creation": map[string]any{
				"ephemeral_5m_input_tokens": u[llm.CacheWrite], "ephemeral_1h_input_tokens": u[llm.CacheWrite1h],
			},
			"cache_read_input_tokens": u[llm.CacheRead], "output_tokens": u.OutputTokens(),
		}
	})
}

func (s *Server) anthropicCosts(q url.Values) any {
	from, until := textDays(q)
	return s.report("anthropic", from, until, func(c *consumed) map[string]any {
		return map[string]any{"model": c.model, "amount": fmt.Sprintf("%d.00", c.cents()), "currency": "USD"}
	})
}

func (s *Server) openRouterActivity(q url.Values) any {
	day, _ := time.Parse(time.DateOnly, q.Get("date"))
	data := []any{}
	for _, c := range s.consumedAt(day, day.AddDate(0, 0, 1), "openai") {
		data = append(data, map[string]any{
			"date": day.Format(time.DateOnly), "model": c.model, "usage": float64(c.cents()) / 100,
			"prompt_tokens": c.usage.InputTokens(), "completion_tokens": c.usage.OutputTokens(),
		})
	}
	return map[string]any{"data": data}
}
