package pricing

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
)

// TestDataIsWhole checks the mistakes in a data file that would pass unnoticed because a book would answer "unpriced":
// every file is read, every expression compiles, every price key is known.
func TestDataIsWhole(t *testing.T) {
	t.Parallel()
	x := must.Get(readIndex(priceIndex))(t)
	files, err := data.ReadDir("data/providers")
	if err != nil || len(files) != len(x.Vendors) {
		t.Errorf("files: got %d, %v, want %d", len(files), err, len(x.Vendors))
	}
	for id, want := range x.Vendors {
		v, err := readVendor(id)
		if err != nil {
			t.Error(err)
			continue
		}
		if v.ID != id || len(v.Models) != want || len(v.URLs) == 0 {
			t.Errorf("%s: got id %s, %d models, %d addresses, want %d models", id, v.ID, len(v.Models), len(v.URLs), want)
		}
		for _, id := range v.Fallback {
			if _, ok := x.Vendors[id]; !ok {
				t.Errorf("%s: fallback %s is not in the data", v.ID, id)
			}
		}
		for i := range v.Models {
			checkModel(t, id, &v.Models[i])
		}
	}
}

func checkModel(t *testing.T, vendor string, m *model) {
	t.Helper()
	checkRule(t, vendor+"/"+m.ID, &m.Match)
	for _, d := range m.Prices {
		if (d.From == nil) != (d.To == nil) {
			t.Errorf("%s/%s: a time of day without its other end", vendor, m.ID)
		}
		amounts, err := readAmounts(d.Rates)
		if err != nil {
			t.Errorf("%s/%s: %v", vendor, m.ID, err)
		}
		if _, _, err := flatten(amounts); err != nil {
			t.Errorf("%s/%s: %v", vendor, m.ID, err)
		}
		for key := range amounts {
			if _, ok := units[key]; !ok {
				t.Errorf("%s/%s: price key %s is unknown", vendor, m.ID, key)
			}
		}
	}
}

func checkRule(t *testing.T, name string, r *rule) {
	t.Helper()
	set := 0
	for _, text := range []string{r.Equals, r.StartsWith, r.EndsWith, r.Contains} {
		if text != "" {
			set++
		}
		if text != strings.ToLower(text) {
			t.Errorf("%s: rule %q is not lower case", name, text)
		}
	}
	if r.Regex != nil {
		set++
		if _, err := regexp.Compile(r.Regex.source); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rules := append(append([]rule(nil), r.Or...), r.And...)
	if r.Not != nil {
		rules = append(rules, *r.Not)
	}
	if len(rules) > 0 {
		set++
	}
	if set != 1 {
		t.Errorf("%s: got %d kinds of rule in one, want 1", name, set)
	}
	for i := range rules {
		checkRule(t, name, &rules[i])
	}
}

func TestSourceFor(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"openai": "openai", "anthropic": "anthropic", "gemini": "google", "google": "google", "vertex": "google",
		"xai": "x-ai", "x-ai": "x-ai", "bedrock": "aws", "aws": "aws", "azure": "azure", "openrouter": "openrouter",
		"groq": "groq", "mistral": "mistral", "deepseek": "deepseek", "together": "together", "fireworks": "fireworks",
		"perplexity": "perplexity", "cerebras": "cerebras", "moonshot": "moonshotai", "cohere": "cohere",
		"zai": "zai", "zhipu": "zhipuai", "minimax": "minimax", "novita": "novita", "cloudflare": "cloudflare",
		"ollama": "", "demo": "", "alibaba": "", "nvidia": "", "huggingface": "", "house": "", "": "", "../index": "", "OpenAI": "",
	}
	b := must.Get(NewBook(Overrides{}))(t)
	unpriced := []string{"alibaba", "nvidia", "huggingface"} // their models are known, their prices are not
	for provider, want := range tests {
		got := b.index.sourceFor(provider)
		if got != want {
			t.Errorf("sourceFor(%q): got %q, want %q", provider, got, want)
		}
		listed := want != "" || slices.Contains(unpriced, provider)
		if n := len(b.Models(provider, time.Now())); (n > 0) != listed {
			t.Errorf("Models(%q): got %d, want some: %v", provider, n, listed)
		}
	}
}

// TestMemoryIsBounded checks that memory is bounded for any number of names, because clients choose them.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := must.Get(NewBook(Overrides{}))(t)
	at := time.Unix(1_790_000_000, 0)
	for i := range maxCached + 500 {
		b.Price("house", fmt.Sprintf("model-%d", i), at)
		b.Price("house", strings.Repeat("x", maxNameSize+1+i), at)
	}
	if got := len(b.cache); got != maxCached {
		t.Errorf("names remembered: got %d, want %d", got, maxCached)
	}
	for k := range b.cache {
		if len(k.model) > maxNameSize {
			t.Errorf("remembered a name of %d bytes, want %d at most", len(k.model), maxNameSize)
		}
	}
}

// TestBrokenDataIsUnpriced checks that a broken price is unknown, never free.
func TestBrokenDataIsUnpriced(t *testing.T) {
	t.Parallel()
	for _, rates := range []string{
		``, `null`, `{}`, `[]`, `{"input_mtok":"x"}`, `{"input_mtok":"-1"}`, `{"input_mtok":1}`, `{"new_mtok":"1"}`,
		`{"input_mtok":{"base":""}}`, `{"input_mtok":"99999999999999999999"}`, `{"input_mtok":{"base":"1","tiers":[{"above":5,"price":"?"}]}}`,
	} {
		m := &model{ID: "x", Prices: []dated{{Rates: json.RawMessage(rates)}}}
		if q := m.quote(&index{}, "v", "", 0); q.price.Known() {
			t.Errorf("rates %s: got %+v, want unknown", rates, q.price)
		}
	}
}

func TestDashDates(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                       "",
		"gpt-4o":                 "gpt-4o",
		"a-20250805":             "a-2025-08-05",
		"a-20250805-v1:0":        "a-2025-08-05-v1:0",
		"a-20250805:0":           "a-2025-08-05:0",
		"a-20250805-20240229":    "a-2025-08-05-2024-02-29",
		"a-20250229":             "a-20250229", // no such day
		"a-20251305":             "a-20251305",
		"a-202508051":            "a-202508051",
		"a-19990101":             "a-19990101",
		"20250805":               "20250805",
		"a-2025080":              "a-2025080",
		"a--20250805":            "a--2025-08-05",
		"a-20250229-20250228-é":  "a-20250229-2025-02-28-é",
		"a-2025-08-05":           "a-2025-08-05",
		"a-20+50805":             "a-20+50805",
		strings.Repeat("-20", 9): strings.Repeat("-20", 9),
	}
	for name, want := range tests {
		if got := dashDates(name); got != want {
			t.Errorf("dashDates(%q): got %q, want %q", name, got, want)
		}
	}
}

// TestSpanOverMidnight checks times of day that cross midnight, which the data does not have today.
func TestSpanOverMidnight(t *testing.T) {
	t.Parallel()
	var m model
	err := json.Unmarshal([]byte(`{"prices":[{"rates":{}},{"from":"22:00:00","to":"02:00:00","rates":{"input_mtok":"1"}}]}`), &m)
	must.Do(t, err)
	midnight := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Unix()
	for _, tt := range []struct {
		hour        int64
		night       bool
		from, until int64
	}{
		{-3, false, -22, -2}, {-2, true, -2, 2}, {0, true, -2, 2}, {1, true, -2, 2}, {2, false, 2, 22}, {12, false, 2, 22}, {22, true, 22, 26}, {23, true, 22, 26},
	} {
		sec := midnight + tt.hour*3600
		if got := m.at(sec) == &m.Prices[1]; got != tt.night {
			t.Errorf("hour %d is night: got %v, want %v", tt.hour, got, tt.night)
		}
		from, until := m.span(sec)
		if got, want := [2]int64{(from - midnight) / 3600, (until - midnight) / 3600}, [2]int64{tt.from, tt.until}; got != want {
			t.Errorf("hour %d spans: got %v, want %v", tt.hour, got, want)
		}
	}
}
