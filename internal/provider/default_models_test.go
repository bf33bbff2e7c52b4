package provider_test

import (
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/worktest"
)

// TestDefaultModelsAreKnown checks that the embedded data has the size of each default model, and its price if the data
// has prices of the provider.
func TestDefaultModelsAreKnown(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	catalogue := must.Get(provider.LoadCatalogue())(t)
	sources := map[string]string{}
	for _, e := range catalogue {
		if e.PriceSource != "" {
			sources[e.Name] = e.PriceSource
		}
		if e.PriceSource == e.Name {
			wrongEntry(t, "%s: price_source says what the name does: leave it out", e.Name)
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
			wrongEntry(t, "%s/%s: the embedded data has the default model %v, with a context window of %d tokens: add the "+
				"model to internal/pricing/data/supplement.json, or name another", e.Name, e.DefaultModel, ok, info.Context)
		}
		listed := len(book.URLs(e.Name)) > 0
		price := book.Price(e.Name, e.DefaultModel, time.Now())
		if known := price.Known(); known != listed {
			wrongEntry(t, "%s/%s: got a price of the default model %v, want %v, as the embedded data has prices of the "+
				"provider: %v; its id there, where it is not %s, is its price_source",
				e.Name, e.DefaultModel, known, listed, listed, e.Name)
		}
	}
}
