package route

import (
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// mostSimilar bounds the names that Similar compares, because everyone with a key may send unknown names.
const mostSimilar = 200

// Similar returns the served name that is most similar to an unknown one, among those that may permits; false if none
// is similar. For a name without a slash these are the aliases; for a full name the models of its provider, or the
// model's name at a provider with a similar name.
func (t *Table) Similar(unknown string, may func(name string) bool) (string, bool) {
	var names rawjson.Names
	provider, model, full := strings.Cut(unknown, "/")
	e, known := t.byName[provider]
	prefix, word := "", unknown
	switch {
	case !full:
		for name := range t.aliases {
			if !strings.HasSuffix(name, "*") {
				names = append(names, name)
			}
		}
	case known:
		prefix, word = provider+"/", model
		for _, name := range e.provider.Models() {
			names = append(names, name)
		}
	default:
		for _, p := range t.providers {
			names = append(names, p.Name())
		}
		near, ok := names[:min(len(names), mostSimilar)].Nearest(provider)
		e := t.byName[near]
		return near + "/" + model, ok && model != "" && e.provider.Serves(model) && may(near+"/"+model)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names[:min(len(names), mostSimilar)], func(name string) bool {
		return !may(prefix + name)
	})
	near, ok := names.Nearest(word)
	return prefix + near, ok
}

// Unmatched returns the patterns that match no model that is listed, no alias and no provider that serves models
// without a list. A key with only such patterns can use nothing.
func Unmatched(t *Table, patterns []string, at time.Time) []string {
	models := t.Models(at)
	return slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool {
		provider, _, _ := strings.Cut(pattern, "/")
		e, known := t.byName[provider]
		return known && len(e.provider.Models()) == 0 || t.alias(pattern) != nil ||
			slices.ContainsFunc(models, func(m Model) bool { return llm.Matches(pattern, m.Name) })
	})
}
