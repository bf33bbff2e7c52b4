package pricing

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// vendor is one price source of the data: a company that sells models.
type vendor struct {
	ID   string   `json:"id"`
	URLs []string `json:"urls"`
	// Fallback names the sources whose models this vendor also sells, at the same price.
	Fallback []string `json:"fallback"`
	Models   []model  `json:"models"`

	named map[string]int // index of the first model that lists the name literally
	ruled []int          // indexes of the models with other rules, in order
}

// model is one entry of the data.
type model struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"` // a name that finds the model if the ID does not
	Match      rule    `json:"match"`
	Context    int64   `json:"context"` // tokens; 0 if unknown
	MaxOutput  int64   `json:"-"`       // of a model that the supplement adds, tokens; 0 if unknown
	Deprecated bool    `json:"deprecated"`
	Free       bool    `json:"free"`
	Prices     []dated `json:"prices"`

	additions []*addition // entries of the supplement and of the operator's files about it
	added     *addition   // the entry that adds it; nil if it is in the data
	own       *addition   // the operator's last entry about its price; nil for none
}

// dated holds the rates of a model while a condition applies; without a condition they always apply. The rates are
// parsed on use.
type dated struct {
	Since *day `json:"since"`
	window
	Rates json.RawMessage `json:"rates"`
}

// parseVendor reads a file of the data.
func parseVendor(b []byte) (*vendor, error) {
	var v vendor
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	v.compile()
	return &v, nil
}

// compile builds the lookup tables. The first model with a matching rule wins.
func (v *vendor) compile() {
	v.named, v.ruled = make(map[string]int, len(v.Models)), nil
	for i := range v.Models {
		names, only := v.Models[i].Match.names()
		for _, n := range names {
			if _, taken := v.named[n]; !taken {
				v.named[n] = i
			}
		}
		if !only {
			v.ruled = append(v.ruled, i)
		}
	}
}

// find returns the first model with a rule that matches the lower-case name. Exact reports that it is that very model
// and not one with a similar name. A free model is found only by its own name.
func (v *vendor) find(name string) (m *model, exact bool) {
	first, ok := v.named[name]
	if !ok {
		first = len(v.Models)
	}
	for _, i := range v.ruled {
		if i >= first {
			break
		}
		m := &v.Models[i]
		if exact := m.isNamed(name); (exact || !m.Free) && m.Match.matches(name) {
			return m, exact
		}
	}
	if !ok {
		return nil, false
	}
	return &v.Models[first], true
}

// has reports whether a model's rule matches the name, in either form of its dates.
func (v *vendor) has(name string) bool {
	return slices.ContainsFunc(datings(name), func(name string) bool {
		m, _ := v.find(name)
		return m != nil
	})
}

// isNamed reports whether the source gives the model this name, apart from the vendor's date, version or region.
func (m *model) isNamed(name string) bool {
	plain, version := plainName(name), bedrockVersion(name)
	same := func(other string) bool {
		v := bedrockVersion(other)
		return plain == plainName(other) && (v == version || v == "" || version == "")
	}
	if same(fold(m.ID)) || m.Name != "" && same(fold(m.Name)) {
		return true
	}
	names, _ := m.Match.names()
	return slices.ContainsFunc(names, same)
}

// listed returns the model's name in listings.
func (m *model) listed() string {
	if m.Name != "" {
		return m.Name
	}
	return m.ID
}

// at returns the price that applies at that second: the last one with a fulfilled condition, else the first; nil if the
// model has none.
func (m *model) at(sec int64) *dated {
	for i := len(m.Prices) - 1; i >= 0; i-- {
		if m.Prices[i].holds(sec) {
			return &m.Prices[i]
		}
	}
	if len(m.Prices) == 0 {
		return nil
	}
	return &m.Prices[0]
}

// span returns the period around that second in which no condition of the model changes: from inclusive, until
// exclusive.
func (m *model) span(sec int64) (from, until int64) {
	from, until = math.MinInt64, math.MaxInt64
	edge := func(t int64) {
		if t <= sec {
			from = max(from, t)
		} else {
			until = min(until, t)
		}
	}
	for _, a := range m.additions {
		if a.Since != nil {
			edge(int64(*a.Since))
		}
		if a.Until != nil {
			edge(a.Until.next())
		}
		for i := range a.When {
			a.When[i].edges(sec, edge)
		}
	}
	for i := range m.Prices {
		d := &m.Prices[i]
		if d.Since != nil {
			edge(int64(*d.Since))
		}
		if d.From != nil {
			d.edges(sec, edge)
		}
	}
	return from, until
}

func (d *dated) holds(sec int64) bool {
	if d.Since != nil {
		return sec >= int64(*d.Since)
	}
	return d.window.holds(sec)
}

// fold returns the name in the form that rules compare.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
