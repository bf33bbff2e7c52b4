package upstream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/internal/pricing"
	"weir/internal/route"
)

// Models returns the models that the configuration can route to. For a provider's name it returns that provider's
// models, from the embedded data if it is not configured.
func (o *Options) Models(ctx context.Context, providerName string) (models []route.Model, err error) {
	err = o.With(ctx, func(_ *Builder, table *route.Table) error {
		if models = table.Models(time.Now()); providerName == "" {
			return nil
		}
		models = slices.DeleteFunc(models, func(m route.Model) bool { return m.Provider != providerName })
		if _, err := table.Targets(nil, providerName+"/any", ""); len(models) > 0 || err == nil {
			return nil // it is configured, even if its models are unknown
		}
		models, err = catalogued(providerName)
		return err
	})
	return models, err
}

// catalogued returns the models of a provider from the embedded data.
func catalogued(providerName string) ([]route.Model, error) {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return nil, err
	}
	var models []route.Model
	for _, l := range book.Models(providerName, time.Now()) {
		models = append(models, route.Listed(providerName, &l))
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("provider %q is neither configured nor in the model data: weir models lists the "+
			"known ones", providerName)
	}
	return models, nil
}

// PriceData returns the name, version and day of the embedded price data.
func PriceData() string {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return err.Error()
	}
	return book.Source() + " of " + book.Day()
}

// AbilityData returns the name, version and day of the embedded data about models' abilities.
func AbilityData() string {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return err.Error()
	}
	return book.AbilitySource() + " of " + book.AbilityDay()
}
