package route_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/route"
)

// TestForbiddenModel checks a 403 for one model, which vendors send for a model or a file that the account may not use:
// such requests do not block the provider for others.
func TestForbiddenModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"all": {Targets: []string{"a/m", "b/m"}}}, 0)
	w.walk("a/not-ours", status(403, llm.CodeProviderError))
	if p := w.plan("all"); p.Target().FullName() != "a/m" {
		t.Errorf("%s is the first target, want a/m", p.Target().FullName())
	}
}

// TestManyWrongNames has a client request models by thousands of names: those of the aliases are still remembered.
func TestManyWrongNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"all": {Targets: []string{"a/m", "b/m"}}}, 0)
	for i := range 5000 {
		w.walk(fmt.Sprintf("c/%d", i), status(404, llm.CodeModelNotFound))
	}
	for range 5 {
		p := w.plan("all")
		p.Failed(status(500, llm.CodeProviderError), w.now)
	}
	if p := w.plan("all"); p.Target().FullName() != "b/m" {
		t.Errorf("%s is the first target after five failures, want b/m", p.Target().FullName())
	}
}

// TestProbeThatIsPassedOver has a request probe a target and skip it, for example because its wire format cannot carry
// the request: the next request probes instead.
func TestProbeThatIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"all": {Targets: []string{"a/m", "b/m"}}}, 0)
	for range 5 {
		w.walk("a/m", status(500, llm.CodeProviderError))
	}
	w.now = w.now.Add(time.Minute)
	p := w.plan("all")
	if p.Target().FullName() != "a/m" || !p.Onward(w.now) {
		t.Fatalf("%s is probed, want a/m", p.Target().FullName())
	}
	p.Succeeded(w.now, 0)
	p.Release()
	w.now = w.now.Add(time.Hour)
	if p := w.plan("all"); p.Target().FullName() != "a/m" {
		t.Errorf("%s is the first target, want a/m to be probed", p.Target().FullName())
	}
}
