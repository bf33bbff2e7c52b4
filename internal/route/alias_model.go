package route

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Answer is what is known of the alias that answers a name, which may be one with an asterisk; false for none.
func (t *Table) Answer(name string, at time.Time) (Model, bool) {
	a := t.alias(name)
	if a == nil {
		return Model{}, false
	}
	return t.aliasModel(name, a, at), true
}

// aliasModel is an alias as a listing shows it: whichever of its targets answers can do this much.
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

// isPattern reports whether a name stands for all that begin so.
func isPattern(name string) bool { return strings.HasSuffix(name, "*") && !strings.Contains(name, "/") }

// asked are the models by names that can be asked for: in place of an alias with an asterisk those of its targets' names that
// it answers. Sorted are all, by name.
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
