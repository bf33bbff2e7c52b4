package route_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/route"
)

// TestSimilarNamesWhatKeysMayUse checks the suggestion for an unknown name, and that it never names a model that the key
// may not use.
func TestSimilarNamesWhatKeysMayUse(t *testing.T) {
	t.Parallel()
	table := must.Get(newTable(t, func(o *route.Options) {
		o.Providers = append(o.Providers, newProvider(t, "north", 1, "chat", "small"))
		o.Aliases["slow*"] = route.Alias{Targets: []string{"b/x"}}
	}))(t)
	all := func(string) bool { return true }
	for _, test := range []struct {
		unknown string
		may     func(string) bool
		want    string
	}{
		{"fst", all, "fast"},
		{"fst", func(string) bool { return false }, ""},
		{"slwo", all, ""}, // a pattern is no name
		{"north/caht", all, "north/chat"},
		{"north/caht", func(name string) bool { return name != "north/chat" }, ""},
		{"nort/small", all, "north/small"},
		{"nort/other", all, ""}, // the similar provider does not serve it
		{"nort/", all, ""},
		{"zzz/zzz", all, ""},
		{"", all, ""},
	} {
		if got, ok := table.Similar(test.unknown, test.may); ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%q: got %q and %t, want %q", test.unknown, got, ok, test.want)
		}
	}
}

// TestUnmatchedPatternsAreFound checks patterns of keys against models, aliases and providers without a list.
func TestUnmatchedPatternsAreFound(t *testing.T) {
	t.Parallel()
	table := must.Get(newTable(t, nil))(t)
	patterns := []string{"b/*", "b/x", "*", "fast", "f*", "a/anything", "b/other", "nort/*", "slow", "c/z*"}
	if got := strings.Join(route.Unmatched(table, patterns, time.Time{}), " "); got != "b/other nort/* slow c/z*" {
		t.Errorf("got %s, want the patterns that match nothing", got)
	}
	if got := route.Unmatched(table, nil, time.Time{}); len(got) > 0 {
		t.Errorf("no patterns: got %q", got)
	}
}
