package pricing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// sheet holds a provider's data about models except prices.
type sheet struct {
	models []feature
	names  []string       // folded ID of each
	named  map[string]int // index by folded ID
}

// feature is one model of a sheet.
type feature struct {
	ID         string
	Context    int64 // tokens; 0 if unknown
	Output     int64 // tokens; 0 if unknown
	Abilities  Abilities
	Deprecated bool
}

// UnmarshalJSON reads one line of the data.
func (f *feature) UnmarshalJSON(b []byte) error {
	var raw struct {
		ID         string   `json:"id"`
		Context    int64    `json:"context"`
		Output     int64    `json:"output"`
		Yes        []string `json:"yes"`
		No         []string `json:"no"`
		Deprecated bool     `json:"deprecated"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if raw.ID == "" || raw.Context < 0 || raw.Output < 0 {
		return fmt.Errorf("model %q: the name is missing or a size is negative", raw.ID)
	}
	*f = feature{ID: raw.ID, Context: raw.Context, Output: raw.Output, Deprecated: raw.Deprecated}
	return errors.Join(f.set(raw.Yes, Yes), f.set(raw.No, No))
}

// set sets the abilities with those names, and fails for a repeated name.
func (f *feature) set(names []string, to Ability) error {
	for _, name := range names {
		a := f.Abilities.field(name)
		if a == nil || *a != Unknown {
			return fmt.Errorf("model %q: ability %q is unknown or appears twice", f.ID, name)
		}
		*a = to
	}
	return nil
}

// parseSheet reads a file of the data.
func parseSheet(b []byte) (*sheet, error) {
	var raw struct {
		Models []feature `json:"models"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	s := &sheet{models: raw.Models, named: make(map[string]int, len(raw.Models))}
	for i := range s.models {
		name := fold(s.models[i].ID)
		if _, twice := s.named[name]; twice {
			return nil, fmt.Errorf("model %q appears twice", name)
		}
		s.names, s.named[name] = append(s.names, name), i
	}
	return s, nil
}

// find returns the model with the first of the folded names that the sheet contains.
func (s *sheet) find(names []string) *feature {
	for _, name := range names {
		if i, ok := s.named[name]; ok {
			return &s.models[i]
		}
	}
	return nil
}

// family returns the common features of the models that the rule matches; nil if there are none.
func (s *sheet) family(r *rule) *feature {
	var common *feature
	for i, name := range s.names {
		f := &s.models[i]
		switch {
		case !r.matches(name):
		case common == nil:
			first := *f
			common = &first
		default:
			common.meet(f)
		}
	}
	return common
}

// meet reduces f to the features that both have.
func (f *feature) meet(g *feature) {
	if f.Context != g.Context {
		f.Context = 0
	}
	if f.Output != g.Output {
		f.Output = 0
	}
	f.Deprecated = f.Deprecated && g.Deprecated
	f.Abilities.combine(&g.Abilities, Ability.and)
}

// complete fills in unknown values from g. It does not copy Deprecated, because one vendor's end of life says nothing
// about another.
func (f *feature) complete(g *feature) {
	f.Context = cmp.Or(f.Context, g.Context)
	f.Output = cmp.Or(f.Output, g.Output)
	f.Abilities.combine(&g.Abilities, Ability.or)
}

// feature returns the data's facts about the model with that folded name; nil for none. The price model m of that
// vendor, which the name referred to, may be nil. It searches the provider's own sheet, then the sheets of the vendors
// whose models it resells, which complete it: by the name and the names of its price model, else by all names that
// share the price.
func (b *Book) feature(provider, name, vendor string, m *model) *feature {
	sheets := b.sheetsOf(provider, vendor)
	if len(sheets) == 0 {
		return nil
	}
	names := spellings(name)
	if m != nil {
		names = append(names, spellings(fold(m.ID))...)
		names = append(names, fold(m.Name))
	}
	if f := first(sheets, func(s *sheet) *feature { return s.find(names) }); f != nil || m == nil {
		return f
	}
	return first(sheets, func(s *sheet) *feature { return s.family(&m.Match) })
}

// first returns the result of find for the first sheet, completed by later ones; nil if none has one.
func first(sheets []*sheet, find func(*sheet) *feature) *feature {
	var found *feature
	for _, s := range sheets {
		f := find(s)
		switch {
		case f == nil:
		case found == nil:
			own := *f
			found = &own
		default:
			found.complete(f)
		}
	}
	return found
}

// sheetsOf returns the sheets that may contain the provider's models.
func (b *Book) sheetsOf(provider, vendor string) []*sheet {
	source := b.source(provider)
	ids := []string{b.abilities.sheetFor(provider, source), vendor, source}
	if v := b.vendor(b.list(provider)); v != nil {
		ids = append(ids, v.Fallback...)
	}
	var sheets []*sheet
	for _, id := range ids {
		if s := b.sheet(id); s != nil && !slices.Contains(sheets, s) {
			sheets = append(sheets, s)
		}
	}
	return sheets
}

// sheet returns the sheet with that id; nil if the data has none. If it cannot be read, its models' abilities are
// unknown.
func (b *Book) sheet(id string) *sheet { return get(b.sheets, id, readSheet) }

// unlisted returns the names in the provider's own sheet that the price source, which may be nil, does not contain.
func (b *Book) unlisted(provider string, v *vendor) (names []string) {
	s := b.sheet(b.abilities.sheetFor(provider, b.source(provider)))
	if s == nil {
		return nil
	}
	for i, name := range s.names {
		if v == nil || !v.has(name) {
			names = append(names, s.models[i].ID)
		}
	}
	return names
}
