package route_test

import (
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// TestAliasDecidesAboutCacheMarks checks that an alias overrides the setting of its targets' providers, and that
// nothing is added without a setting.
func TestAliasDecidesAboutCacheMarks(t *testing.T) {
	t.Parallel()
	var providers []*provider.Provider
	for name, adds := range map[string]bool{"adding": true, "usual": false} {
		p := must.Get(provider.New(provider.Options{
			Name: name, Dialect: registrytest.All()[1], BaseURL: "https://api.example.com/v1", Quirks: llm.Quirks{AddCacheMarks: adds},
		}))(t)
		t.Cleanup(p.Close)
		providers = append(providers, p)
	}
	aliases := map[string]route.Alias{}
	for name, marks := range map[string]route.CacheMarks{"unset": "", "client": route.ClientMarks, "add": route.AddMarks} {
		aliases[name] = route.Alias{Targets: []string{"adding/m", "usual/m"}, CacheMarks: marks}
	}
	table := must.Get(route.NewTable(route.Options{
		Providers: providers, Book: must.Get(pricing.NewBook(pricing.Overrides{}))(t), Aliases: aliases,
	}))(t)
	for name, want := range map[string][]bool{
		"adding/m": {true}, "usual/m": {false}, "unset": {true, false}, "client": {false, false}, "add": {true, true},
	} {
		for i, target := range must.Get(table.Targets(nil, name, ""))(t) {
			if got := target.AddsCacheMarks(); got != want[i] {
				t.Errorf("%s, target %d: adds marks %t, want %t", name, i, got, want[i])
			}
		}
	}
}
