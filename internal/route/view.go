package route

import (
	"strings"

	"weir/internal/charge"
	"weir/internal/llm"
	"weir/internal/pricing"
)

// View is what is known of a model besides its name and its sizes, as the API
// and the command line write it in JSON. What is not known is left out.
type View struct {
	// Capabilities holds those abilities of which it is known whether the
	// model has them.
	Capabilities map[string]bool `json:"capabilities,omitempty"`
	Deprecated   bool            `json:"deprecated,omitempty"`
	// Prices are by class, as llm.Rates.Decimals writes them; a request with
	// more input has those of the last of PriceTiers that it exceeds.
	Prices     map[string]string `json:"prices,omitempty"`
	PriceTiers []TierView        `json:"price_tiers,omitempty"`
	// Unpriced says that nobody knows a price, which is not that it is free.
	Unpriced bool     `json:"unpriced,omitempty"`
	Source   string   `json:"source,omitempty"`
	Checked  string   `json:"checked,omitempty"` // YYYY-MM-DD
	Targets  []string `json:"targets,omitempty"` // of an alias
}

// TierView is what a request costs that has more input tokens than Above.
type TierView struct {
	Above  int64             `json:"above"`
	Prices map[string]string `json:"prices"`
}

// View is the model's.
func (m *Model) View() View {
	v := View{
		Capabilities: map[string]bool{}, Deprecated: m.Deprecated,
		Unpriced: m.Provider != "" && !m.Price.Known(), Source: m.Source, Checked: m.Checked, Targets: m.Targets,
	}
	for _, a := range m.Abilities.List() {
		if a.Ability != pricing.Unknown {
			v.Capabilities[a.Name] = a.Ability == pricing.Yes
		}
	}
	if m.Provider != "" && !v.Unpriced {
		v.Prices, v.PriceTiers = m.Price.Rates.Decimals(), tiers(&m.Price)
	}
	return v
}

// Charged is the model with the prices that an account is charged by these terms, which are nil where that is its cost.
func (m *Model) Charged(t *charge.Terms) Model {
	charged := *m
	if t != nil {
		charged.Price, charged.Source, charged.Checked = t.Rates(m.Price), "price list", ""
	}
	return charged
}

// Model is the model's name at its provider.
func (m *Model) Model() string { return strings.TrimPrefix(m.Name, m.Provider+"/") }

func tiers(p *llm.Price) (all []TierView) {
	for i := range p.Tiers {
		all = append(all, TierView{Above: p.Tiers[i].Above, Prices: p.Tiers[i].Rates.Decimals()})
	}
	return all
}
