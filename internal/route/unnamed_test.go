package route_test

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/route"
)

// TestMisspeltModel checks that a 404 of a model that only requests name is the client's mistake: it opens no circuit,
// not even for its own account, and leaves nothing to be shown. One of a model that the configuration names is a
// failure.
func TestMisspeltModel(t *testing.T) {
	t.Parallel()
	missing := status(404, llm.CodeModelNotFound)
	w := pair(t)
	ask := func(account, model string) (mistaken bool) {
		for range 30 {
			w.account = account
			p := w.plan(model)
			p.Failed(missing, w.now)
			mistaken = p.Mistaken(missing)
			p.Release()
		}
		return mistaken
	}
	for _, account := range []string{"one", "another"} {
		if !ask(account, "a/mispelt") {
			t.Error("a misspelt name: want the client's mistake")
		}
	}
	if c := w.table.Providers(w.now)[0]; c.State != route.StateUnused || len(c.Targets) != 0 || len(w.told) != 0 {
		t.Errorf("a misspelt name: shown %+v, events %+v; want none", c, w.told)
	}
	if ask("one", "a/m") {
		t.Error("a model of an alias: want a failure, not the client's mistake")
	}
	if c := w.condition("a"); c.State != route.StateFailing || len(w.told) != 1 {
		t.Errorf("a model of an alias: shown %+v, events %+v; want it failing", c, w.told)
	}
}
