package quote

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/quotetest"
)

// elsewhereBodies returns requests that are longer in other wire formats than in the client's.
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

// historyBodies returns requests of Chat Completions whose history is longer in other wire formats.
func historyBodies() map[string]string {
	history := func(arguments string) string {
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"t%d","type":"function","function":{"name":"f%d","arguments":%q}}]},{"role":"tool","tool_call_id":"t%d","content":"1"}`, i, i, arguments, i)
		}
		return `[{"role":"user","content":"Hi"}` + b.String() + `]`
	}
	var files strings.Builder
	for range 50 {
		files.WriteString(`,{"role":"user","content":[{"type":"file","file":{"file_data":"data:text/plain;base64,YQ=="}}]},{"role":"assistant","content":"a"}`)
	}
	const tools = `,"tools":[{"type":"function","function":{"name":"f0"}}]}`
	return map[string]string{
		"calls without tools":       `{"messages":` + history("{}") + `}`,
		"broken calls":              `{"messages":` + history(`{"a`) + tools,
		"broken calls, no tools":    `{"messages":` + history("x") + `}`,
		"no tool is to be called":   `{"tool_choice":"none","messages":` + history("{}") + tools,
		"documents without a word":  `{"messages":[{"role":"user","content":"Hi"}` + files.String() + `,{"role":"user","content":"a"}]}`,
		"one call, and one message": `{"tool_choice":"none","messages":[{"role":"user","content":"H"},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"1"}}]},{"role":"tool","tool_call_id":"t","content":"1"}]}`,
	}
}

// compactHistory returns a history of Gemini's API, which has the shortest form of calls.
func compactHistory() string {
	var calls, results strings.Builder
	for i := range 400 {
		fmt.Fprintf(&calls, `{"functionCall":{"name":"f%d"}},`, i)
		fmt.Fprintf(&results, `{"functionResponse":{"name":"f%d"}},`, i)
	}
	return `{"contents":[{"parts":[{"text":"Hi"}]},{"role":"model","parts":[` + strings.Trim(calls.String(), ",") + `]},{"parts":[` + strings.Trim(results.String(), ",") + `]}]}`
}

// TestHistoryWithinBound checks that the additions to a history in another wire format are within a budget's hold.
func TestHistoryWithinBound(t *testing.T) {
	t.Parallel()
	bodies := historyBodies()
	bodies["in few words"] = compactHistory()
	for name, body := range bodies {
		client := "openai"
		if strings.Contains(body, `"contents"`) {
			client = "gemini"
		}
		for _, target := range []string{"anthropic", "gemini", "bedrock", "cohere", "ollama"} {
			q := newAsked(t, quotetest.Asked{ClientAPI: client, Target: target, Body: body, Sizes: sized()})
			tree, err := q.Tree()
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := q.Spoken.EncodeRequest(tree, &llm.Quirks{})
			if err != nil {
				t.Fatalf("%s at %s: %v", name, target, err)
			}
			for _, how := range []Precision{Coarse, Fine} {
				d := q.demandOf(how)
				if got, want := d.fixed[llm.Input], CountTokens(string(out))+itsOwn(out); got < want {
					t.Errorf("%s at %s: a bound of %d tokens (%v), want at least %d of the sent request", name, target, got, how, want)
				}
			}
		}
	}
}

// itsOwn returns the tokens of a vendor's own text for a request with tools.
func itsOwn(body []byte) int64 {
	if strings.Contains(string(body), `"toolConfig"`) {
		return aroundTools
	}
	return 0
}

// TestElsewhereWithinBound checks that the replacements of the client's own tools at a provider, and their charge, are
// within a budget's hold, and would not be without the addition for them.
func TestElsewhereWithinBound(t *testing.T) {
	t.Parallel()
	for name, body := range elsewhereBodies() {
		for _, target := range []string{"openai", "anthropic", "gemini", "bedrock", "cohere", "ollama"} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "responses", Target: target, Body: body, Sizes: sized()})
			out := sentBody(t, q)
			for _, how := range []Precision{Coarse, Fine} {
				d := q.demandOf(how)
				if got, want := d.fixed[llm.Input], CountTokens(out); got < want {
					t.Errorf("%s at %s: a bound of %d tokens (%v), want at least %d of the sent request", name, target, got, how, want)
				}
			}
		}
	}
	q := newAsked(t, quotetest.Asked{
		ClientAPI: "responses", Target: "openai", Sizes: sized(),
		Body: elsewhereBodies()["custom tools in an item"],
	})
	tree, err := q.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var added Inputs
	added.offered(tree.Elsewhere)
	out, _, err := q.Spoken.EncodeRequest(tree, &llm.Quirks{})
	if bare := q.demandOf(Fine).fixed[llm.Input] - added.schemas; err != nil || bare >= CountTokens(string(out)) {
		t.Errorf("%d tokens without the addition, %v: the case shows nothing", bare, err)
	}
}

// TestTextForJSONModeIsHeld checks that the text that replaces a JSON mode, if the target's wire format has none, is
// within a budget's hold for it, and that nothing is held for it if the request is sent unchanged.
func TestTextForJSONModeIsHeld(t *testing.T) {
	t.Parallel()
	modes := map[string][2]string{ // without and with it, of the same length
		"openai": {
			`{"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"text"       }}`,
			`{"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_object"}}`,
		},
		"responses": {
			`{"input":"Hi","text":{"format":{"type":"text"       }}}`,
			`{"input":"Hi","text":{"format":{"type":"json_object"}}}`,
		},
		"gemini": {
			`{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"responseMimeType":"text/plain"      }}`,
			`{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"responseMimeType":"application/json"}}`,
		},
	}
	for clientAPI, bodies := range modes {
		for _, target := range []string{"anthropic", "bedrock", clientAPI} {
			var held, sent [2]int64
			for i, body := range bodies {
				q := newAsked(t, quotetest.Asked{ClientAPI: clientAPI, Target: target, Body: body, Sizes: sized()})
				held[i], sent[i] = q.demandOf(Coarse).fixed[llm.Input], CountTokens(sentBody(t, q))
			}
			more, need := held[1]-held[0], sent[1]-sent[0]
			if same := clientAPI == target; same && more != 0 || !same && (need < 10 || more < need) {
				t.Errorf("%s at %s: %d tokens are held for the mode, which needs %d", clientAPI, target, more, need)
			}
		}
	}
}

// sentBody returns the request to its target.
func sentBody(t *testing.T, q *Quote) string {
	t.Helper()
	tree, err := q.Tree()
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := q.Spoken.EncodeRequest(tree, &llm.Quirks{})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
