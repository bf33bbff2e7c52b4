package schematest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
)

// entry is a name in a row of the page: a field that is left out, or a refusal, at a provider in a wire format.
type entry struct {
	provider, format string
	isRefusal        bool
	name             string
}

// entries returns the page's entries that a conversation shows at a route.
func (r *route) entries(a *asked) (all []entry) {
	_, dropped, err := r.sent(a)
	return r.entriesOf(dropped, err)
}

// entriesOf returns the entries that follow from an outcome of sent.
func (r *route) entriesOf(dropped []string, err error) (all []entry) {
	at := entry{provider: r.target.provider, format: r.target.format}
	if err != nil {
		at.isRefusal, at.name = true, short(kindOf(err))
		return []entry{at}
	}
	for _, name := range dropped {
		at.name = name
		all = append(all, at)
	}
	return all
}

// examples holds a client API's conversations from which the page is made: a line of its file in testdata/page each.
// Each shows an entry that no line above it shows. So the page does not depend on the conversations that the generator
// draws; if these show an entry that is missing, -update adds a conversation.
type examples struct {
	client client
	routes []*route
	lines  []string
	shown  map[entry]bool
}

func (c client) examplesFile() string { return "testdata/page/" + c.name + ".jsonl" }

// bodies returns the lines of the client API's file.
func (c client) bodies(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(c.examplesFile())
	if err != nil && (!*update || !os.IsNotExist(err)) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// examplesOf reads the conversations, and sends each to all routes. Those that show nothing new are left out.
func examplesOf(t *testing.T, c client, routes []*route) *examples {
	t.Helper()
	e := &examples{client: c, routes: routes, shown: map[entry]bool{}}
	for _, line := range c.bodies(t) {
		e.add(line)
	}
	return e
}

func (e *examples) add(line string) {
	before := len(e.shown)
	e.show(e.shown, e.client.asked([]byte(line)))
	if len(e.shown) > before {
		e.lines = append(e.lines, line)
	}
}

// complete compares the conversations with the outcomes of generated ones. If an entry is missing, it fails, or with
// -update adds the smallest conversation that shows it, and writes the file.
func (e *examples) complete(t *testing.T, outcomes []outcome) {
	t.Helper()
	for i, r := range e.routes {
		for _, one := range outcomes[i].order {
			switch {
			case e.shown[one]:
			case *update:
				e.add(e.smallest(t, r, one, outcomes[i].entries[one]))
			default:
				t.Errorf("%s lacks %+v of seed %d: run `make docs`", e.client.examplesFile(), one, outcomes[i].entries[one])
			}
		}
	}
	if *update {
		must.Do(t, os.WriteFile(e.client.examplesFile(), []byte(strings.Join(e.lines, "\n")+"\n"), 0o644))
	}
}

// smallest returns the smallest valid conversation that shows an entry, from that of a seed. It shows no other entry
// that the whole conversation does not show: parts of a conversation may be refused for a reason that no client causes.
func (e *examples) smallest(t *testing.T, r *route, one entry, seed uint64) string {
	t.Helper()
	whole := e.client.make(newGenerator(seed))
	usual := map[entry]bool{}
	e.show(usual, e.client.asked(encoded(whole)))
	return string(encoded(shrunk(whole, func(o object) bool {
		a := e.client.asked(encoded(o))
		if !slices.Contains(r.entries(a), one) || len(e.client.known(t, a.body)) > 0 {
			return false
		}
		now := map[entry]bool{}
		e.show(now, a)
		maps.DeleteFunc(now, func(other entry, _ bool) bool { return usual[other] || e.shown[other] })
		return len(now) == 0
	})))
}

// show adds the entries that a conversation shows at any route.
func (e *examples) show(shown map[entry]bool, a *asked) {
	for _, r := range e.routes {
		for _, one := range r.entries(a) {
			shown[one] = true
		}
	}
}

// TestExamplesOfPageAreValid checks the conversations of the page against the client API's own schema, each of which is
// one line of JSON.
func TestExamplesOfPageAreValid(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		for n, line := range c.bodies(t) {
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(line)); err != nil || compact.String() != line {
				t.Errorf("%s:%d: not compact JSON: %v", c.examplesFile(), n+1, err)
			}
			if found := c.known(t, []byte(line)); len(found) > 0 {
				t.Errorf("%s:%d: %v", c.examplesFile(), n+1, found)
			}
		}
	}
}

// kindOf returns the words under which refusals are counted.
func kindOf(err error) string {
	e := llm.AsError(err)
	return place(e.Param) + ": " + place(e.Message)
}
