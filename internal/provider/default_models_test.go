package provider_test

import (
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
)

// A default model is one that the embedded data knows: how large it is, and
// what it costs where the provider has a price source.
func TestDefaultModelsAreKnown(t *testing.T) {
	t.Parallel()
	catalogue := must.Get(provider.LoadCatalogue())(t)
	sources := map[string]string{}
	for _, e := range catalogue {
		if e.PriceSource != "" {
			sources[e.Name] = e.PriceSource
		}
	}
	book, err := pricing.NewBook(pricing.Overrides{Sources: sources})
	if err != nil {
		t.Fatal(err) // a price source that does not exist
	}
	for _, e := range catalogue {
		if e.DefaultModel == "" {
			continue
		}
		info, ok := book.Model(e.Name, e.DefaultModel)
		if !ok || info.Context == 0 {
			t.Errorf("%s/%s: got %+v, known %v, want it known, with a context window", e.Name, e.DefaultModel, info, ok)
		}
		price := book.Price(e.Name, e.DefaultModel, time.Now())
		if got, want := price.Known(), e.PriceSource != ""; got != want {
			t.Errorf("%s/%s: got a price %v, want %v", e.Name, e.DefaultModel, got, want)
		}
	}
}
