package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// readOpenAI reads usage by model (https://platform.openai.com/docs/api-reference/usage/completions, as quoted at
// https://share.apidog.com/apidoc/docs-site/370474/api-12401171, 2026-11-26) and costs by line item, which begins with
// the model (https://platform.openai.com/docs/api-reference/usage/costs, as in the schema of docs.rs/openai-client-base
// 0.16.0, 2026-11-26).
func readOpenAI(ctx context.Context, s *Source, from, to time.Time) (Theirs, error) {
	t := newTheirs(from, to)
	header := http.Header{"Authorization": {"Bearer " + s.AdminKey.Reveal()}}
	query := func(group string) url.Values {
		return url.Values{
			"start_time": {strconv.FormatInt(from.Unix(), 10)}, "bucket_width": {"1d"}, "group_by": {group},
			"end_time": {strconv.FormatInt(to.AddDate(0, 0, 1).Unix(), 10)}, "limit": {strconv.Itoa(perPage)},
		}
	}
	type used struct {
		Model  string `json:"model"`
		Input  int64  `json:"input_tokens"`
		Cached int64  `json:"input_cached_tokens"`
		Output int64  `json:"output_tokens"`
	}
	for _, what := range []string{"completions", "embeddings"} {
		err := each(ctx, s, "/organization/usage/"+what, query("model"), header, func(day string, r *used) error {
			return t.use(day, r.Model, Usage{r.Input, r.Cached, r.Output})
		})
		if err != nil {
			return t, err
		}
	}
	type cost struct {
		Amount struct {
			Value    json.Number `json:"value"`
			Currency string      `json:"currency"`
		} `json:"amount"`
		LineItem string `json:"line_item"`
	}
	return t, each(ctx, s, "/organization/costs", query("line_item"), header, func(day string, r *cost) error {
		usd, err := dollarsOf(r.Amount.Value.String(), r.Amount.Currency, 1)
		if err != nil {
			return err
		}
		at := strings.LastIndex(r.LineItem, ", ")
		return t.book(day, r.LineItem[:max(at, 0)], at > 0, usd)
	})
}

// readAnthropic reads usage by model (https://platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages) and
// costs by description, which includes the model (https://platform.claude.com/docs/en/api/admin/cost_report), both
// 2026-11-26. The vendor calls these reports legacy but still serves them; the recommended replacement is a beta
// (https://platform.claude.com/docs/en/manage-claude/usage-cost-api, 2026-11-26).
func readAnthropic(ctx context.Context, s *Source, from, to time.Time) (Theirs, error) {
	t := newTheirs(from, to)
	header := http.Header{"X-Api-Key": {s.AdminKey.Reveal()}, "Anthropic-Version": {"2023-06-01"}}
	query := func(group string) url.Values {
		return url.Values{
			"starting_at": {from.Format(time.RFC3339)}, "ending_at": {to.AddDate(0, 0, 1).Format(time.RFC3339)},
			"bucket_width": {"1d"}, "group_by[]": {group}, "limit": {strconv.Itoa(perPage)},
		}
	}
	type used struct {
		Model    string `json:"model"`
		Uncached int64  `json:"uncached_input_tokens"`
		Created  struct {
			Hour int64 `json:"ephemeral_1h_input_tokens"`
			Five int64 `json:"ephemeral_5m_input_tokens"`
		} `json:"cache_creation"`
		Read   int64 `json:"cache_read_input_tokens"`
		Output int64 `json:"output_tokens"`
	}
	root := "/v1/organizations"
	if strings.HasSuffix(strings.TrimRight(s.BaseURL, "/"), "/v1") {
		root = "/organizations"
	}
	err := each(ctx, s, root+"/usage_report/messages", query("model"), header, func(day string, r *used) error {
		for _, n := range []int64{r.Uncached, r.Created.Hour, r.Created.Five, r.Read} {
			if err := t.use(day, r.Model, Usage{Input: n}); err != nil {
				return err
			}
		}
		return t.use(day, r.Model, Usage{Cached: r.Read, Output: r.Output})
	})
	if err != nil {
		return t, err
	}
	type cost struct {
		Amount   string `json:"amount"` // in cents
		Currency string `json:"currency"`
		Model    string `json:"model"` // empty for costs without a model
	}
	return t, each(ctx, s, root+"/cost_report", query("description"), header, func(day string, r *cost) error {
		usd, err := dollarsOf(r.Amount, r.Currency, 100)
		if err != nil {
			return err
		}
		return t.book(day, r.Model, r.Model != "", usd)
	})
}

// readOpenRouter reads usage and costs by model for the last 30 completed days
// (https://openrouter.ai/docs/api/api-reference/analytics/get-user-activity, 2026-11-26).
func readOpenRouter(ctx context.Context, s *Source, from, to time.Time) (Theirs, error) {
	t := newTheirs(from, to)
	t.Uncached = true
	header := http.Header{"Authorization": {"Bearer " + s.AdminKey.Reveal()}}
	type activity struct {
		Model  string      `json:"model"`
		Usage  json.Number `json:"usage"` // US dollars
		Input  int64       `json:"prompt_tokens"`
		Output int64       `json:"completion_tokens"`
	}
	for at := from; !at.After(to); at = at.AddDate(0, 0, 1) {
		day := at.Format(time.DateOnly)
		answer, err := s.get(ctx, "/activity?"+url.Values{"date": {day}}.Encode(), header)
		if err != nil {
			return t, err
		}
		for _, result := range rawjson.Elements(rawjson.Get(answer, "data")) {
			err := decoded("/activity", day, result, func(day string, r *activity) error {
				usd, err := dollarsOf(r.Usage.String(), "usd", 1)
				if err == nil {
					err = t.use(day, r.Model, Usage{Input: r.Input, Output: r.Output})
				}
				if err == nil {
					err = t.book(day, r.Model, true, usd)
				}
				return err
			})
			if err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// dollarsOf parses an amount in a unit that is 1/parts of a dollar, to the nano-dollar.
func dollarsOf(amount, currency string, parts int64) (llm.Money, error) {
	if !strings.EqualFold(currency, "usd") {
		return 0, errors.New("a cost is not in US dollars")
	}
	usd, ok := parseAmount(amount, parts)
	if !ok {
		return 0, errors.New("a cost is not a valid amount")
	}
	return usd, nil
}
