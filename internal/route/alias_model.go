package route

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Answer describes the alias that answers to a name, possibly one with an asterisk; false if there is none.
func (t *Table) Answer(name string, at time.Time) (Model, bool) {
	a := t.alias(name)
	if a == nil {
		return Model{}, false
	}
	return t.aliasModel(name, a, at), true
}

// aliasModel describes an alias for a listing, with the abilities and bounds that all of its targets have.
func (t *Table) aliasModel(name string, a *alias, at time.Time) Model {
	m := Model{Name: name}
	for i := range a.targets {
		full := a.targets[i].FullName()
		m.Targets = append(m.Targets, full)
		target, _ := t.Model(full, at)
		if i == 0 {
			m.Context, m.MaxOutput, m.Abilities = target.Context, target.MaxOutput, target.Abilities
			continue
		}
		m.Context, m.MaxOutput = min(m.Context, target.Context), min(m.MaxOutput, target.MaxOutput)
		m.Abilities = m.Abilities.Least(&target.Abilities)
	}
	return m
}

// isPattern reports whether a name matches all names with its prefix.
func isPattern(name string) bool { return strings.HasSuffix(name, "*") && !strings.Contains(name, "/") }

// asked returns the models that clients can request by name: it replaces an alias with an asterisk by the names of its
// targets' models that the alias answers to. Both lists are sorted by name.
func (t *Table) asked(sorted []Model, at time.Time) []Model {
	var names []Model
	seen := map[string]bool{}
	for i := range sorted {
		if !isPattern(sorted[i].Name) {
			names = append(names, sorted[i])
			continue
		}
		for _, full := range sorted[i].Targets {
			_, bare, _ := strings.Cut(full, "/")
			_, exact := t.aliases[bare]
			if !exact && !seen[bare] && !strings.Contains(bare, "/") && t.alias(bare) == t.aliases[sorted[i].Name] {
				seen[bare] = true
				names = append(names, t.aliasModel(bare, t.alias(bare), at))
			}
		}
	}
	slices.SortFunc(names, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return names
}
