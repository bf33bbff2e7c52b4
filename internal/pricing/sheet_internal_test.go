package pricing

import (
	"slices"
	"testing"

	"weir/internal/must"
	"weir/internal/worktest"
)

// TestAbilityDataIsWhole checks the mistakes in a file of abilities that would pass unnoticed because its models'
// abilities would be unknown, like TestDataIsWhole.
func TestAbilityDataIsWhole(t *testing.T) {
	t.Parallel()
	x := must.Get(readIndex(abilityIndex))(t)
	files, err := data.ReadDir("data/abilities")
	if err != nil || len(files)-1 != len(x.Vendors) { // one is the notice
		t.Errorf("files: got %d, %v, want %d and a notice", len(files), err, len(x.Vendors))
	}
	total := 0
	for id, want := range x.Vendors {
		s, err := readSheet(id)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(s.models) != want || want == 0 {
			t.Errorf("%s: got %d models, want %d", id, len(s.models), want)
		}
		total += len(s.models)
		for i := range s.models {
			f := &s.models[i]
			if f.Context > 0 && f.Output > f.Context {
				t.Errorf("%s/%s: got output %d, want at most the context, %d", id, f.ID, f.Output, f.Context)
			}
			if f.Abilities.Tools == Unknown || f.Abilities.Images == Unknown {
				t.Errorf("%s/%s: got %+v, want tools and images known", id, f.ID, f.Abilities)
			}
		}
	}
	if total < 1000 {
		t.Errorf("models: got %d, want 1000 at least", total)
	}
}

func TestSpellingsOfModelNames(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"":                          {""},
		"gpt-4o":                    {"gpt-4o"},
		"gpt-4o-2024-11-20":         {"gpt-4o-2024-11-20", "gpt-4o"},
		"gpt-4o-20241120":           {"gpt-4o-20241120", "gpt-4o"},
		"gpt-4o-2024-11-31":         {"gpt-4o-2024-11-31"},
		"claude@20251001":           {"claude@20251001", "claude"},
		"meta/llama:free":           {"meta/llama:free", "meta/llama", "llama:free", "llama"},
		"@cf/meta/llama":            {"@cf/meta/llama", "llama"},
		"us.a.claude-20251001-v1:0": {"us.a.claude-20251001-v1:0", "us.a.claude-20251001-v1", "a.claude-20251001-v1:0", "a.claude-20251001-v1", "us.a.claude", "a.claude"},
		"xx.a":                      {"xx.a"},
		"/":                         {"/"},
		":":                         {":"},
		"us.":                       {"us."},
		"a/":                        {"a/"},
		"-2025-01-01":               {"-2025-01-01"},
		"deepseek-v3":               {"deepseek-v3"},
	}
	for name, want := range tests {
		got := spellings(name)
		slices.Sort(got)
		got = slices.Compact(got)
		slices.Sort(want)
		must.Equal(t, got, want, "spellings(%q)", name)
	}
}

func TestBrokenSheets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{"models":{}}`, `{"models":[{}]}`, `{"models":[{"id":"a","context":-1}]}`, `{"models":[{"id":"a","output":-1}]}`,
		`{"models":[{"id":"a","context":1.5}]}`, `{"models":[{"id":"a"},{"id":"A "}]}`, `{"models":[{"id":"a","yes":["wings"]}]}`,
		`{"models":[{"id":"a","yes":["tools"],"no":["tools"]}]}`, `{"models":[{"id":"a","no":["tools","tools"]}]}`,
	} {
		if s, err := parseSheet([]byte(text)); err == nil {
			t.Errorf("parseSheet(%s): got %+v, want an error", text, s)
		}
	}
}

// FuzzVendor checks that reading any data file and requesting prices from it ends, without a panic and without a price
// below zero.
func FuzzVendor(f *testing.F) {
	for _, id := range []string{"deepseek", "typesafe", "zai", "modal"} {
		b := must.Get(data.ReadFile("data/providers/" + id + ".json"))(f)
		f.Add(b, "deepseek-chat", int64(1_790_000_000))
	}
	f.Add([]byte(`{"models":[{"id":"x","match":{"not":{"regex":"("}},"prices":[{"from":"22:00:00","to":"02:00:00","rates":{"input_mtok":{"base":"1","tiers":[{"above":5,"price":"2"}]}}}]}]}`), "x", int64(-1))
	x, err := readIndex(priceIndex)
	must.Do(f, err)
	f.Fuzz(func(t *testing.T, b []byte, name string, sec int64) {
		worktest.Check(t, b, func(b []byte) { _, _ = parseVendor(b) })
		v, err := parseVendor(b)
		if err != nil {
			return
		}
		m, _ := v.find(fold(name))
		if m == nil {
			return
		}
		q := m.quote(x, "v", "", sec%(1<<40))
		for _, rate := range q.price.Rates {
			if rate < 0 {
				t.Errorf("%s of %q: got rate %d, want none below 0", name, b, rate)
			}
		}
	})
}

// FuzzSheet checks the same for abilities: no size below zero, and a model is found by its own name.
func FuzzSheet(f *testing.F) {
	for _, id := range []string{"deepseek", "modal", "cerebras"} {
		b := must.Get(data.ReadFile("data/abilities/" + id + ".json"))(f)
		f.Add(b, "us.deepseek/deepseek-chat-20250101:free")
	}
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		worktest.Check(t, b, func(b []byte) { _, _ = parseSheet(b) })
		worktest.Check(t, []byte(name), func(name []byte) { spellings(fold(string(name))) })
		names := spellings(fold(name))
		if len(names) > 16 || len(name) > 0 && slices.Contains(names[1:], "") {
			t.Errorf("spellings(%q): got %q, want at most 16, none empty", name, names)
		}
		s, err := parseSheet(b)
		if err != nil {
			return
		}
		s.find(names)
		s.family(&rule{Contains: "a"})
		for i := range s.models {
			m := &s.models[i]
			if m.Context < 0 || m.Output < 0 || s.find([]string{fold(m.ID)}) != m {
				t.Errorf("%q: got %+v, want it under its name, with sizes from 0", b, m)
			}
		}
	})
}
