package route

import (
	"strings"
	"time"

	"weir/internal/pricing"
)

// ExampleModel returns a model for a user's first request: the default model, else an alias, else a listed model,
// preferably one that is known to call tools, because such a model is for chat. If no model is listed, known is false
// and name only shows the form of a name.
func (t *Table) ExampleModel(at time.Time) (name string, known bool) {
	if t.defaultModel != "" {
		return t.defaultModel, true
	}
	all := t.Models(at)
	rank := func(m *Model) int {
		switch {
		case strings.ContainsAny(m.Name, `'"\`): // characters with a meaning in a shell or in JSON
			return 0
		case m.Provider == "" && !strings.HasSuffix(m.Name, "*"):
			return 4
		case m.Provider == "":
			return 0
		case m.Deprecated:
			return 1
		case m.Abilities.Tools == pricing.Yes:
			return 3
		}
		return 2
	}
	best := 0
	for i := range all {
		if r := rank(&all[i]); r > best {
			name, best = all[i].Name, r
		}
	}
	if best > 0 {
		return name, true
	}
	if len(t.providers) > 0 {
		return t.providers[0].Name() + "/<model-name>", false
	}
	return "<provider>/<model-name>", false
}
