package pricing_test

import (
	"flag"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// makers has the vendors of the data by OpenRouter's names.
var makers = map[string][]string{
	"openai": {"openai"}, "anthropic": {"anthropic"}, "google": {"google"}, "x-ai": {"x-ai"}, "deepseek": {"deepseek"},
	"mistralai": {"mistral"}, "cohere": {"cohere"}, "perplexity": {"perplexity"}, "moonshotai": {"moonshotai"},
	"z-ai": {"zai", "zhipuai"}, "minimax": {"minimax"}, "arcee-ai": {"arcee"}, "amazon": {"aws"},
}

// compared lists the price keys that both sides have for most models.
var compared = []string{"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"}

// TestSecondSource compares models that the data has twice: at their own vendor and at OpenRouter, which sells them at
// the vendor's price or at that of another host. If the two differ, one may be wrong. The golden file lists the
// differences: a person has to check each new or removed one, and "go test ./internal/pricing -run SecondSource
// -update" accepts it.
func TestSecondSource(t *testing.T) {
	t.Parallel()
	const golden = "testdata/second-source.txt"
	got := strings.Join(differences(t), "\n") + "\n"
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	must.Equal(t, strings.Split(got, "\n"), strings.Split(string(want), "\n"), "models with two prices, see the vendors' pages, then run with -update")
}

// differences returns a line for each model with two different prices, at a fixed time, so that it changes only with
// the data.
func differences(t *testing.T) (lines []string) {
	t.Helper()
	vendors := map[string]vendorData{}
	for _, v := range readShipped(t) {
		vendors[v.ID] = v
	}
	at := moment(t, now)
	for _, o := range vendors["openrouter"].Models {
		maker, name, _ := strings.Cut(o.ID, "/")
		for _, id := range makers[maker] {
			m := sameModel(vendors[id].Models, name)
			if m == nil {
				continue
			}
			if diff := compare(t, m.period(at), o.period(at)); diff != "" {
				lines = append(lines, fmt.Sprintf("%s/%s | openrouter/%s | %s", id, m.ID, o.ID, diff))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// sameModel returns the model of exactly that name, with dots or dashes in its version.
func sameModel(models []modelData, name string) *modelData {
	for _, want := range []string{name, strings.ReplaceAll(name, ".", "-")} {
		for i := range models {
			if strings.EqualFold(models[i].ID, want) || strings.EqualFold(models[i].Name, want) {
				return &models[i]
			}
		}
	}
	return nil
}

// compare describes the differences: the vendor's price first.
func compare(t *testing.T, own, other map[string]any) string {
	t.Helper()
	if len(own) == 0 || len(other) == 0 {
		return ""
	}
	var parts []string
	for _, key := range compared {
		a, b := steps(t, own[key]), steps(t, other[key])
		if !maps.EqualFunc(a, b, func(x, y *big.Rat) bool { return x.Cmp(y) == 0 }) {
			name := strings.TrimSuffix(key, "_mtok")
			parts = append(parts, fmt.Sprintf("%s %s, not %s", name, written(a), written(b)))
		}
	}
	return strings.Join(parts, "; ")
}

// steps returns the prices by the input from which they apply, -1 for the first. Edges that differ by one token are
// equal, because sources disagree whether they are included.
func steps(t *testing.T, v any) map[int64]*big.Rat {
	t.Helper()
	switch v := v.(type) {
	case string:
		return map[int64]*big.Rat{-1: decimal(t, v)}
	case map[string]any:
		all := map[int64]*big.Rat{-1: decimal(t, v["base"].(string))}
		for _, tier := range v["tiers"].([]any) {
			tier := tier.(map[string]any)
			all[(int64(tier["above"].(float64))+1)/10*10] = decimal(t, tier["price"].(string))
		}
		return all
	}
	return nil
}

// written formats the prices as a person writes them.
func written(steps map[int64]*big.Rat) string {
	if len(steps) == 0 {
		return "none"
	}
	var parts []string
	for _, above := range slices.Sorted(maps.Keys(steps)) {
		text := strings.TrimRight(strings.TrimRight(steps[above].FloatString(9), "0"), ".")
		if above >= 0 {
			text += fmt.Sprintf(" above %d", above)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// TestCompareFindsDifferences is the negative control of the comparison.
func TestCompareFindsDifferences(t *testing.T) {
	t.Parallel()
	tiered := func(above float64, price string) any {
		return map[string]any{"base": "1", "tiers": []any{map[string]any{"above": above, "price": price}}}
	}
	for _, tt := range []struct {
		own, other any
		want       string
	}{
		{"1", "1.0", ""},
		{"1", "2", "input 1, not 2"},
		{"1", nil, "input 1, not none"},
		{tiered(271_999, "2"), tiered(272_000, "2"), ""},
		{tiered(200_000, "2"), tiered(200_000, "3"), "input 1, 2 above 200000, not 1, 3 above 200000"},
		{tiered(200_000, "2"), "1", "input 1, 2 above 200000, not 1"},
	} {
		own, other := map[string]any{"input_mtok": tt.own, "x": "1"}, map[string]any{"x": "1"}
		if tt.other != nil {
			other["input_mtok"] = tt.other
		}
		if got := compare(t, own, other); got != tt.want {
			t.Errorf("%v and %v: got %q, want %q", tt.own, tt.other, got, tt.want)
		}
	}
}
