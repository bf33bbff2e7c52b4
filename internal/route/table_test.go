package route_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

func newProvider(t *testing.T, name string, keys int, models ...string) *provider.Provider {
	t.Helper()
	o := provider.Options{Name: name, Dialect: registrytest.All()[1], BaseURL: "https://" + name + ".example.com/v1", Models: models}
	for i := range keys {
		o.APIKeys = append(o.APIKeys, llm.NewSecret(strings.Repeat("k", 10+i)))
	}
	p := must.Get(provider.New(o))(t)
	t.Cleanup(p.Close)
	return p
}

func newTable(t *testing.T, change func(*route.Options)) (*route.Table, error) {
	t.Helper()
	book, err := pricing.NewBook(pricing.Overrides{Models: map[string]pricing.ModelOverride{"a/sized": {MaxOutput: 100}, "a/windowed": {Context: 2000}}})
	must.Do(t, err)
	o := route.Options{
		Providers: []*provider.Provider{newProvider(t, "a", 3), newProvider(t, "b", 1, "x", "shared"), newProvider(t, "c", 1, "y", "shared")},
		Book:      book, DefaultMaxOutput: 8192,
		Aliases: map[string]route.Alias{"fast": {Targets: []string{"b/x", "a/vendor/y"}}},
	}
	if change != nil {
		change(&o)
	}
	return route.NewTable(o)
}

func TestTargetsOfModelNames(t *testing.T) {
	t.Parallel()
	table, err := newTable(t, func(o *route.Options) { o.Providers = append(o.Providers, newProvider(t, "openai", 1)) })
	must.Do(t, err)
	tests := []struct {
		name, model, clientAPI string
		want                   []string
		code                   llm.Code
	}{
		{"split at the first slash", "a/vendor/y", "", []string{"a/vendor/y"}, ""},
		{"alias", "fast", "", []string{"b/x", "a/vendor/y"}, ""},
		{"listed model", "b/x", "", []string{"b/x"}, ""},
		{"model that is not listed", "b/other", "", nil, llm.CodeModelNotFound},
		{"unknown provider", "z/m", "", nil, llm.CodeModelNotFound},
		{"no slash in our own API, listed once", "y", "", []string{"c/y"}, ""},
		{"no slash in our own API, listed twice", "shared", "", nil, llm.CodeInvalidRequest},
		{"no slash in our own API, listed nowhere", "gone", "", nil, llm.CodeInvalidRequest},
		{"no slash in our own API, in the price data", "gpt-5-mini", "", []string{"openai/gpt-5-mini"}, ""},
		{"no slash in another vendor's API, in the price data", "gpt-5-mini", "z", []string{"openai/gpt-5-mini"}, ""},
		{"no slash in the vendor API", "gpt", "a", []string{"a/gpt"}, ""},
		{"no slash in the API of a vendor that does not list it", "y", "b", []string{"c/y"}, ""},
		{"no slash, listed twice", "shared", "z", nil, llm.CodeInvalidRequest},
		{"no slash, listed nowhere", "gone", "z", nil, llm.CodeModelNotFound},
		{"nothing before the slash", "/m", "", nil, llm.CodeInvalidRequest},
		{"nothing behind the slash", "a/", "", nil, llm.CodeInvalidRequest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			targets, err := table.Targets(nil, test.model, test.clientAPI)
			if test.code != "" {
				if got := llm.AsError(err); err == nil || got.Code != test.code || got.Param != "model" {
					t.Errorf("%q: got %v, want %s naming the model", test.model, err, test.code)
				}
				return
			}
			var got []string
			for i := range targets {
				got = append(got, targets[i].FullName())
			}
			if diff := cmp.Diff(got, test.want); diff != "" || err != nil {
				t.Errorf("%q: %v, got -, want +\n%s", test.model, err, diff)
			}
		})
	}
}

func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	table, err := newTable(t, nil)
	must.Do(t, err)
	used := map[int]int{}
	for range 9 {
		targets := must.Get(table.Targets(nil, "a/m", ""))(t)
		plan := table.Plan(route.Caller{}, targets, time.Now())
		used[plan.Target().Key]++
	}
	must.Equal(t, used, map[int]int{0: 3, 1: 3, 2: 3}, "the uses of each key")
}

// TestOutputCap checks the cap that is inserted if the client sets none: never as much as a window, which must also
// hold the input.
func TestOutputCap(t *testing.T) {
	t.Parallel()
	book, err := pricing.NewBook(pricing.Overrides{Models: map[string]pricing.ModelOverride{
		"a/sized": {MaxOutput: 100}, "a/windowed": {Context: 2000}, "a/wide": {Context: 200_000},
	}})
	must.Do(t, err)
	table, err := newTable(t, func(o *route.Options) { o.Book = book })
	must.Do(t, err)
	for model, want := range map[string]int64{"sized": 100, "windowed": 2000, "wide": 8192, "unknown": 8192} {
		targets := must.Get(table.Targets(nil, "a/"+model, ""))(t)
		if got := table.OutputCap(&targets[0]); got != want {
			t.Errorf("%s: a cap of %d, want %d", model, got, want)
		}
	}
}

func TestMaxOutput(t *testing.T) {
	t.Parallel()
	table, err := newTable(t, nil)
	must.Do(t, err)
	for model, want := range map[string]int64{"sized": 100, "windowed": 2000, "unknown": 8192} {
		targets := must.Get(table.Targets(nil, "a/"+model, ""))(t)
		if got, known := table.MaxOutput(&targets[0]); got != want || known != (model != "unknown") {
			t.Errorf("%s: got %d, known %t; want %d", model, got, known, want)
		}
	}
}

func TestWrongTables(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*route.Options){
		"aliases.bad: target z/m":  func(o *route.Options) { o.Aliases["bad"] = route.Alias{Targets: []string{"z/m"}} },
		"default_model":            func(o *route.Options) { o.DefaultModel = "z/m" },
		"aliases.two: target b/no": func(o *route.Options) { o.Aliases["two"] = route.Alias{Targets: []string{"b/x", "b/no"}} },
	} {
		if _, err := newTable(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	table := must.Get(newTable(t, nil))(t)
	var got []string
	for _, m := range table.Models(time.Now()) {
		got = append(got, m.Name)
	}
	want := []string{"a/sized", "a/windowed", "b/shared", "b/x", "c/shared", "c/y", "fast"}
	must.Equal(t, got, want, "the listed models")
}

// TestOneNameOfAModel checks that a model with several names is known, and so priced and allowed, under one.
func TestOneNameOfAModel(t *testing.T) {
	t.Parallel()
	all := registrytest.All()
	gemini := all[slices.IndexFunc(all, func(d *dialect.Dialect) bool { return d.Name == "gemini" })]
	p, err := provider.New(provider.Options{Name: "g", Dialect: gemini, BaseURL: "https://g.example.com/v1beta"})
	must.Do(t, err)
	table, err := newTable(t, func(o *route.Options) { o.Providers = append(o.Providers, p) })
	must.Do(t, err)
	for _, name := range []string{"g/gemini-9", "g/models/gemini-9", "g/models/models/gemini-9"} {
		targets, err := table.Targets(nil, name, "")
		if err != nil || targets[0].FullName() != "g/gemini-9" {
			t.Errorf("%s: got %v, %v, want g/gemini-9", name, targets, err)
		}
	}
	if _, err := table.Targets(nil, "g/models/", ""); err == nil {
		t.Error("g/models/: got a target, want none")
	}
}

// TestOpenAliases checks an alias for all names with one beginning.
func TestOpenAliases(t *testing.T) {
	t.Parallel()
	table, err := newTable(t, func(o *route.Options) {
		o.Aliases = map[string]route.Alias{
			"claude-*":       {Targets: []string{"a/any"}},
			"claude-haiku-*": {Targets: []string{"a/small"}, NoRescue: true},
			"claude-haiku-1": {Targets: []string{"a/one"}},
		}
	})
	must.Do(t, err)
	for model, want := range map[string]string{
		"claude-opus-4-8": "a/any", "claude-": "a/any", "claude-haiku-4-5": "a/small", "claude-haiku-1": "a/one",
		"gpt-5": "", "a/claude-x": "a/claude-x",
	} {
		got, err := table.Targets(nil, model, "")
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: got %s, want an error", model, got[0].FullName())
		case want != "" && (err != nil || got[0].FullName() != want):
			t.Errorf("%s: got %v, %v, want %s", model, got, err, want)
		}
	}
	if table.Rescues("claude-haiku-4-5") || !table.Rescues("claude-opus-4-8") {
		t.Error("the options of an open alias do not count")
	}
}
