package route

import (
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/provider"
)

// nameBare maps each model name without a slash to the providers that have it: by their configured models, or by the
// price data if none are configured.
func (t *Table) nameBare() {
	t.bare = map[string][]*provider.Provider{}
	for _, p := range t.providers {
		for _, m := range t.modelsOf(p, time.Time{}) {
			name := strings.TrimPrefix(m.Name, p.Name()+"/")
			if !strings.Contains(name, "/") && !slices.Contains(t.bare[name], p) {
				t.bare[name] = append(t.bare[name], p)
			}
		}
	}
}

// listed returns the only provider that has the model. If no provider has it, Weir's own client API, where full names
// are the documented form, reports an invalid name instead of an unknown model.
func (t *Table) listed(dst []Target, model, clientAPI string) ([]Target, error) {
	found := t.bare[model]
	switch {
	case len(found) == 1:
		return append(dst, Target{Provider: found[0], Model: model}), nil
	case len(found) == 0 && clientAPI == "":
		return nil, llm.Invalidf("model", `%q is neither an alias nor of the form "<provider>/<model-name>", and no `+
			"configured provider lists it; GET /v1/models lists the available models.", model)
	case len(found) == 0:
		return nil, notFound(model, `Write it as "<provider>/<model-name>"; GET /v1/models lists the available models.`)
	}
	var names []string
	for _, p := range found {
		names = append(names, p.Name()+"/"+model)
	}
	return nil, llm.Invalidf("model", "%q is ambiguous: choose one of %s.", model, strings.Join(names, ", "))
}
