package pricing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// sheet is what the data says of one provider's models besides their prices.
type sheet struct {
	models []feature
	names  []string       // the folded ID of each
	named  map[string]int // by that
}

// feature is one model of a sheet.
type feature struct {
	ID         string
	Context    int64 // tokens; 0 unknown
	Output     int64 // tokens; 0 unknown
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
		return fmt.Errorf("model %q: no name, or a size below 0", raw.ID)
	}
	*f = feature{ID: raw.ID, Context: raw.Context, Output: raw.Output, Deprecated: raw.Deprecated}
	return errors.Join(f.set(raw.Yes, Yes), f.set(raw.No, No))
}

// set gives the abilities of those names, each once.
func (f *feature) set(names []string, to Ability) error {
	for _, name := range names {
		a := f.Abilities.field(name)
		if a == nil || *a != Unknown {
			return fmt.Errorf("model %q: ability %q is unknown, or stands there twice", f.ID, name)
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
			return nil, fmt.Errorf("model %q stands there twice", name)
		}
		s.names, s.named[name] = append(s.names, name), i
	}
	return s, nil
}

// find is the model under the first of the names, which are folded, that the
// sheet has.
func (s *sheet) find(names []string) *feature {
	for _, name := range names {
		if i, ok := s.named[name]; ok {
			return &s.models[i]
		}
	}
	return nil
}

// family is what the models have in common that the rule matches; nil when
// there are none.
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

// meet leaves what two models have in common.
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

// complete takes from the other what is not known. That one vendor is to end a
// model says nothing about another.
func (f *feature) complete(g *feature) {
	f.Context = cmp.Or(f.Context, g.Context)
	f.Output = cmp.Or(f.Output, g.Output)
	f.Abilities.combine(&g.Abilities, Ability.or)
}

// feature is what the data says that the model of that folded name can do;
// nil for nothing. The price model m that the name led to, of that vendor, may
// be nil. Looked through are the provider's own sheet, then those of the
// vendors whose models it sells, which fill in what it leaves out: for the name
// itself and for the names of its price model, else for all that is priced as
// one with it.
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

// first is what find has in the first of the sheets, completed from the later
// ones; nil where none has anything.
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

// sheetsOf are those in which the provider's models may stand.
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

// sheet is the file of that id, nil when the data has none. One that cannot be
// read leaves its models' abilities unknown.
func (b *Book) sheet(id string) *sheet { return get(b.sheets, id, readSheet) }

// unlisted are the names in the provider's own sheet that the price source,
// which may be nil, does not have.
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
