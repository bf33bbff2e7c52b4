package quote

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/quotetest"
)

// elsewhereBodies are requests that are longer in other wire formats than in the client's.
func elsewhereBodies() map[string]string {
	var custom, nested, calls strings.Builder
	for i := range 200 {
		fmt.Fprintf(&custom, `,{"type":"custom","name":"c%d"}`, i)
		fmt.Fprintf(&nested, `,{"type":"function","name":"f%d"}`, i)
		fmt.Fprintf(&calls, `,{"type":"custom_tool_call","call_id":"%d","name":"c","input":""}`, i)
	}
	list := func(b *strings.Builder) string { return "[" + b.String()[1:] + "]" }
	long := strings.Repeat("n", 60)
	item := func(tools string) string {
		return `{"input":[{"type":"additional_tools","role":"developer","tools":` + tools + `},{"role":"user","content":"Hi"}]}`
	}
	return map[string]string{
		"custom tools":            `{"input":"Hi","tools":` + list(&custom) + `}`,
		"custom tools in an item": item(list(&custom)),
		"a long namespace":        item(`[{"type":"namespace","name":"` + long + `","tools":` + list(&nested) + `}]`),
		"the vendor's tools":      `{"input":"Hi","tools":[{"type":"local_shell"},{"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}},{"type":"tool_search","execution":"client"}]}`,
		"calls":                   `{"input":[{"role":"user","content":"Hi"}` + calls.String() + `]}`,
	}
}

// TestElsewhereWithinBound holds that what a provider gets in place of the client's own tools, and would charge for, is
// within what a budget holds, and that it is not so without what is added for it.
func TestElsewhereWithinBound(t *testing.T) {
	t.Parallel()
	for name, body := range elsewhereBodies() {
		for _, target := range []string{"openai", "anthropic", "gemini", "bedrock", "cohere", "ollama"} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "responses", Target: target, Body: body, Sizes: sized()})
			tree, err := q.Source.Tree()
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := q.Spoken.EncodeRequest(tree, &llm.Quirks{})
			if err != nil {
				t.Fatalf("%s at %s: %v", name, target, err)
			}
			for _, how := range []Precision{Coarse, Fine} {
				d := q.demandOf(how)
				if got, want := d.fixed[llm.Input], CountTokens(string(out)); got < want {
					t.Errorf("%s at %s: a bound of %d tokens (%v), want at least %d of what is sent", name, target, got, how, want)
				}
			}
		}
	}
	q := newAsked(t, quotetest.Asked{
		ClientAPI: "responses", Target: "openai", Sizes: sized(),
		Body: elsewhereBodies()["custom tools in an item"],
	})
	tree, err := q.Source.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var added Inputs
	added.offered(tree.Elsewhere)
	out, _, err := q.Spoken.EncodeRequest(tree, &llm.Quirks{})
	if bare := q.demandOf(Fine).fixed[llm.Input] - added.schemas; err != nil || bare >= CountTokens(string(out)) {
		t.Errorf("%d tokens without what is added, %v: the case shows nothing", bare, err)
	}
}
