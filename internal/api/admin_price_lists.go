package api

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/charge"
	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/rawjson"
)

// viewPriceList returns the view of a price list, with an empty object for no prices.
func viewPriceList(l *account.PriceList) admin.PriceListView {
	v := admin.ViewPriceList(l)
	if v.Prices == nil {
		v.Prices = map[string]pricing.PriceOverride{}
	}
	return v
}

func (h *adminAccounts) listPriceLists(r *adminRequest) (answer, error) {
	place := func(l *account.PriceList) string { return l.Since.Format("2006-01-02T15:04:05.000000Z") }
	return listed(r.query, r.visit.Account.PriceLists, nil, place, viewPriceList)
}

func (h *adminAccounts) addPriceList(r *adminRequest) (answer, error) {
	var l account.PriceList
	var markup *charge.Markup
	err := readFields("", r.body, field{"since", instant(&l.Since)},
		field{"markup_percent", given(&markup, &l.Markup, markupField(&l.Markup))},
		field{"prices", pricesField(&l.Prices)})
	if err != nil {
		return answer{}, err
	}
	if markup == nil && len(l.Prices) == 0 { // it would remove the existing lists
		return answer{}, llm.Invalid("markup_percent", `A price list has a markup, prices or both: give `+
			`markup_percent ("0" for the cost of requests) or prices.`)
	}
	a, err := h.accounts.SetPriceList(r.Context(), r.by(), r.visit.Account.ID, l)
	if err != nil {
		return answer{}, err
	}
	return answered(http.StatusCreated, "", viewPriceList(&a.PriceLists[len(a.PriceLists)-1]))
}

// markupField reads a percentage.
func markupField(dst *charge.Markup) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		s, ok := rawjson.AsString(v)
		m, err := charge.ParseMarkup(s)
		if !ok || err != nil {
			return wrongKind(at, `percent from -100 to 10000 as a string with at most two decimals, such as "15"`)
		}
		*dst = m
		return nil
	}
}

// pricesField reads prices by the names of models.
func pricesField(dst *map[string]pricing.PriceOverride) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if rawjson.KindOf(v) != rawjson.Object {
			return wrongKind(at, `an object of prices by "<provider>/<model>"`)
		}
		*dst = map[string]pricing.PriceOverride{}
		for m := range rawjson.Members(v) {
			if _, twice := (*dst)[m.Name()]; twice {
				return llm.Invalidf(at, "%.100q appears twice. Name each model once.", m.Name())
			}
			if rawjson.KindOf(m.Value) != rawjson.Object {
				return wrongKind(at+"."+m.Name(), "an object of strings")
			}
			price := pricing.PriceOverride{}
			for rate := range rawjson.Members(m.Value) {
				var value string
				if err := text(&value)(at+"."+m.Name()+"."+rate.Name(), rate.Value); err != nil {
					return err
				}
				price[rate.Name()] = value
			}
			(*dst)[m.Name()] = price
		}
		return nil
	}
}
