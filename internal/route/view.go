package route

import (
	"strings"

	"weir/internal/charge"
	"weir/internal/llm"
	"weir/internal/pricing"
)

// View describes a model, besides its name and sizes, in the JSON of the API and the command line. Unknown values are
// omitted.
type View struct {
	// Capabilities holds the abilities that the model is known to have or to lack.
	Capabilities map[string]bool `json:"capabilities,omitempty"`
	Deprecated   bool            `json:"deprecated,omitempty"`
	// Prices are by class, as llm.Rates.Decimals writes them. A request with more input has the prices of the last of
	// PriceTiers that it exceeds.
	Prices     map[string]string `json:"prices,omitempty"`
	PriceTiers []TierView        `json:"price_tiers,omitempty"`
	// Unpriced means that the price is unknown, which does not mean free.
	Unpriced bool     `json:"unpriced,omitempty"`
	Source   string   `json:"source,omitempty"`
	Checked  string   `json:"checked,omitempty"` // YYYY-MM-DD
	Targets  []string `json:"targets,omitempty"` // of an alias
}

// TierView holds the prices of a request with more input tokens than Above.
type TierView struct {
	Above  int64             `json:"above"`
	Prices map[string]string `json:"prices"`
}

// View returns the model's view.
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

// Charged returns the model with the prices of the account's terms; nil terms mean that the account is charged the
// cost.
func (m *Model) Charged(t *charge.Terms) Model {
	charged := *m
	if t != nil {
		charged.Price, charged.Source, charged.Checked = t.Rates(m.Price), "price list", ""
	}
	return charged
}

// Model returns the model's name at its provider.
func (m *Model) Model() string { return strings.TrimPrefix(m.Name, m.Provider+"/") }

func tiers(p *llm.Price) (all []TierView) {
	for i := range p.Tiers {
		all = append(all, TierView{Above: p.Tiers[i].Above, Prices: p.Tiers[i].Rates.Decimals()})
	}
	return all
}
