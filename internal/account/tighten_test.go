package account_test

import (
	"slices"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
)

func TestLoosenedFindsWiderLimits(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	before := account.Key{
		Label: "nightly", Models: []string{"openai/*", "fast"}, Expires: &at,
		Limits: account.Limits{RPM: 60, TPM: 1000, Concurrency: 4}, Budget: account.Budget{Limit: 5 * llm.USD, Period: budget.PeriodDay},
		Tags: account.KeyTags{Defaults: []llm.Tag{{Name: "unit", Value: "a"}}, Required: []string{"team"}},
		Per: []account.Per{
			{Budget: account.Budget{Limit: llm.USD, Period: budget.PeriodMonth}},
			{Tag: "a", Limits: account.Limits{RPM: 4}},
		},
	}
	per := func(change func(user, tag *account.Per)) func(k *account.Key) {
		return func(k *account.Key) {
			k.Per = slices.Clone(k.Per)
			change(&k.Per[0], &k.Per[1])
		}
	}
	for name, test := range map[string]struct {
		change func(k *account.Key)
		param  string // the loosened one; empty for none
	}{
		"nothing":        {func(*account.Key) {}, ""},
		"label":          {func(k *account.Key) { k.Label = "weekly" }, ""},
		"less":           {func(k *account.Key) { k.Limits = account.Limits{RPM: 1, TPM: 999, Concurrency: 4} }, ""},
		"less money":     {func(k *account.Key) { k.Budget.Limit-- }, ""},
		"sooner":         {func(k *account.Key) { k.Expires = new(at.Add(-1)) }, ""},
		"fewer models":   {func(k *account.Key) { k.Models = []string{"openai/*"} }, ""},
		"a narrower one": {func(k *account.Key) { k.Models = []string{"openai/gpt-*", "openai/gpt-5"} }, ""},
		"rpm":            {func(k *account.Key) { k.Limits.RPM = 61 }, "rpm"},
		"no rpm":         {func(k *account.Key) { k.Limits.RPM = 0 }, "rpm"},
		"tpm":            {func(k *account.Key) { k.Limits.TPM = 1001 }, "tpm"},
		"no limits":      {func(k *account.Key) { k.Limits = account.Limits{} }, "rpm"},
		"concurrency":    {func(k *account.Key) { k.Limits.Concurrency = 0 }, "concurrency"},
		"more money":     {func(k *account.Key) { k.Budget.Limit++ }, "budget"},
		"no budget":      {func(k *account.Key) { k.Budget = account.Budget{} }, "budget"},
		"another period": {func(k *account.Key) { k.Budget = account.Budget{Limit: llm.USD, Period: budget.PeriodTotal} }, "budget"},
		"less per user":  {per(func(user, _ *account.Per) { user.Budget.Limit-- }), ""},
		"one more tag": {func(k *account.Key) {
			k.Per = account.WithPer(k.Per, account.Per{Tag: "b", Limits: account.Limits{TPM: 1}})
		}, ""},
		"more per user":    {per(func(user, _ *account.Per) { user.Budget.Limit++ }), "per_user"},
		"a day per user":   {per(func(user, _ *account.Per) { user.Budget.Period = budget.PeriodDay }), "per_user"},
		"more per tag":     {per(func(_, tag *account.Per) { tag.Limits.RPM++ }), "per_tag.a"},
		"none per tag":     {func(k *account.Key) { k.Per = k.Per[:1] }, "per_tag.a"},
		"another required": {func(k *account.Key) { k.Tags.Required = []string{"team", "project"} }, ""},
		"another tag": {func(k *account.Key) {
			k.Tags.Defaults = []llm.Tag{{Name: "b", Value: "c"}, {Name: "unit", Value: "a"}}
		}, ""},
		"no tags":           {func(k *account.Key) { k.Tags.Defaults = nil }, "tags"},
		"another value":     {func(k *account.Key) { k.Tags.Defaults = []llm.Tag{{Name: "unit", Value: "b"}} }, "tags"},
		"none required":     {func(k *account.Key) { k.Tags.Required = []string{"project"} }, "required_tags"},
		"later":             {func(k *account.Key) { k.Expires = new(at.Add(1)) }, "expires"},
		"never":             {func(k *account.Key) { k.Expires = nil }, "expires"},
		"all models":        {func(k *account.Key) { k.Models = nil }, "models"},
		"another model":     {func(k *account.Key) { k.Models = []string{"openai/*", "slow"} }, "models"},
		"a wider one":       {func(k *account.Key) { k.Models = []string{"open*"} }, "models"},
		"a star for a name": {func(k *account.Key) { k.Models = []string{"fas*"} }, "models"},
	} {
		after := before
		test.change(&after)
		err := account.Loosened(&before, &after)
		if got := llm.AsError(err); test.param == "" && err != nil || test.param != "" && (err == nil || got.Param != test.param || got.Code != llm.CodeForbidden) {
			t.Errorf("%s: got %v, want an error about %q", name, err, test.param)
		}
		if err := account.Loosened(&account.Key{}, &after); err != nil {
			t.Errorf("%s, where nothing was set: got %v, want none", name, err)
		}
	}
}
