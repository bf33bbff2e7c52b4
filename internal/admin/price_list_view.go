package admin

import (
	"time"

	"weir/internal/account"
	"weir/internal/pricing"
)

// PriceListView shows an account's prices from a time on.
type PriceListView struct {
	Since  time.Time                        `json:"since"`
	Markup string                           `json:"markup_percent"`
	Prices map[string]pricing.PriceOverride `json:"prices,omitzero"` // as in the configuration
}

// ViewPriceList returns the view of a price list; its prices are nil if it has none.
func ViewPriceList(l *account.PriceList) PriceListView {
	v := PriceListView{Since: l.Since, Markup: l.Markup.String()}
	if len(l.Prices) > 0 {
		v.Prices = l.Prices
	}
	return v
}
