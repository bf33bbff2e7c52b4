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
	// Fallback names the sources whose models this one sells too, at the same
	// price.
	Fallback []string `json:"fallback"`
	Models   []model  `json:"models"`

	named map[string]int // the first model that lists the name outright
	ruled []int          // the models that have other rules, in their order
}

// model is one entry of the data.
type model struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"` // a name that finds it, where the ID does not
	Match      rule    `json:"match"`
	Context    int64   `json:"context"` // tokens; 0 unknown
	MaxOutput  int64   `json:"-"`       // of a model that the supplement adds, tokens; 0 unknown
	Deprecated bool    `json:"deprecated"`
	Free       bool    `json:"free"`
	Prices     []dated `json:"prices"`

	additions []*addition // what the supplement and the operator's files say of it
	added     *addition   // the entry that adds it; nil: it is in the data
	own       *addition   // the last entry of the operator's about its price; nil for none
}

// dated is what a model costs while a condition holds. Without a condition it
// always holds. Rates are read when they are asked for.
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

// compile prepares the look-up: the first model whose rule matches wins.
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

// find is the first model whose rule matches the name, which is lower case, and whether
// it is that very model and not one with a name like it. What is free is so by its very
// name alone.
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

// isNamed reports whether the source names the model so, but for the vendor's own date,
// version or region around the name.
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

// listed is the name under which a listing shows the model.
func (m *model) listed() string {
	if m.Name != "" {
		return m.Name
	}
	return m.ID
}

// at is the price that holds at that second: the last whose condition does,
// else the first. It is nil when the model has none.
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

// span is the stretch of time around that second in which no condition of the
// model changes: from inclusive, until exclusive.
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

// fold is the name as rules see it.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
