package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// matrixFile has the result of TestFeaturesCrossWireFormats: each feature, client API and provider, and whether the
// feature is carried, dropped under a name, or refused.
const matrixFile = "testdata/matrix.txt"

// asks lists requests with one feature each.
var asks = []struct {
	name string
	make func() *llm.Request
}{
	{"calls in parallel and their results", func() *llm.Request { return loop(nil, false) }},
	{"an error in a result", func() *llm.Request { return loop(nil, true) }},
	{"an image in a result", func() *llm.Request {
		return loop(&llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="}}, false)
	}},
	{"an image by address", func() *llm.Request { return showing(llm.PartImage, llm.Media{URL: "https://example.com/a.png"}) }},
	{"an image inline", func() *llm.Request { return showing(llm.PartImage, llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="}) }},
	{"a PDF by address", func() *llm.Request {
		return showing(llm.PartDocument, llm.Media{MIME: "application/pdf", URL: "https://example.com/a.pdf"})
	}},
	{"a PDF inline", func() *llm.Request {
		return showing(llm.PartDocument, llm.Media{MIME: "application/pdf", Data: "JVBERi0=", Name: "report"})
	}},
	{"structured output", func() *llm.Request {
		r := plain()
		r.Format = &llm.Format{Kind: llm.FormatSchema, Name: "n", Schema: json.RawMessage(`{"type":"object"}`)}
		return r
	}},
	{"JSON without a schema", func() *llm.Request {
		r := plain()
		r.Format = &llm.Format{Kind: llm.FormatJSON}
		return r
	}},
	{"a tool by name", func() *llm.Request {
		r := loop(nil, false)
		r.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsNamed, Name: "f"}
		return r
	}},
	{"one call at a time", func() *llm.Request {
		r := loop(nil, false)
		r.ToolChoice, r.ParallelTools = &llm.ToolChoice{Mode: llm.ToolsAuto}, new(bool)
		return r
	}},
	{"a cache mark on a text", func() *llm.Request {
		r := plain()
		r.Messages[0].Parts[0].CacheControl = mark
		return r
	}},
	{"a cache mark on a tool", func() *llm.Request {
		r := loop(nil, false)
		r.Tools[0].CacheControl = mark
		return r
	}},
}

func plain() *llm.Request {
	return &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: "Hi"}}}}}
}

func showing(kind llm.PartKind, m llm.Media) *llm.Request {
	r := plain()
	r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Part{Kind: kind, Media: &m})
	return r
}

// loop builds a conversation with two calls at once and their results; the first result has an image, or is a failure.
func loop(shows *llm.Part, fails bool) *llm.Request {
	r := plain()
	r.Tools = []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}
	calls, results := llm.Message{Role: llm.RoleAssistant}, []llm.Message{}
	for i, id := range []string{"c1", "c2"} {
		calls.Parts = append(calls.Parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: "f", Arguments: fmt.Sprintf(`{"x":%d}`, i)}})
		result := &llm.ToolResult{CallID: id, Name: "f", Parts: []llm.Part{{Kind: llm.PartText, Text: "result of " + id}}, IsError: fails && i == 0}
		if shows != nil && i == 0 {
			result.Parts = append(result.Parts, *shows)
		}
		results = append(results, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.PartToolResult, Result: result}}})
	}
	r.Messages = append(append(r.Messages, calls), results...)
	return r
}

// TestFeaturesCrossWireFormats sends each feature in each client API's format to a provider of each wire format, and
// returns an answer with each finish reason and class of usage. Nothing may be lost silently; the golden file has the
// outcomes.
func TestFeaturesCrossWireFormats(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, ask := range asks {
		for _, clientAPI := range clientAPIs() {
			if clientAPI.EncodeRequest == nil {
				continue
			}
			if !isSaid(t, clientAPI, ask.make()) {
				fmt.Fprintf(&got, "%s, at %s: has no words there\n", ask.name, clientAPI.Name)
				continue
			}
			row := make([]string, 0, 8)
			for _, p := range providers() {
				row = append(row, p.Name+": "+carried(t, ask.name, clientAPI, p, ask.make()))
			}
			fmt.Fprintf(&got, "%s, at %s\n    %s\n", ask.name, clientAPI.Name, strings.Join(row, "\n    "))
		}
	}
	for _, clientAPI := range clientAPIs() {
		if clientAPI.DecodeReply == nil {
			continue
		}
		for _, p := range providers() {
			fmt.Fprintf(&got, "an answer of %s, at %s: %s\n", p.Name, clientAPI.Name, answered(t, clientAPI, p))
		}
	}
	if *update {
		if err := os.WriteFile(matrixFile, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.String(), string(want)); diff != "" {
		t.Errorf("-got +want\n%s", diff)
	}
}

// arriving decodes a request as a client API receives it; nil if its wire format cannot express it.
func arriving(t *testing.T, clientAPI *dialect.Dialect, x *llm.Request) *llm.Request {
	t.Helper()
	x.Model, x.ExtraOf, x.MaxOutput = "m", clientAPI.Name, new(int64(4096))
	body, dropped, err := clientAPI.EncodeRequest(x, &llm.Quirks{})
	if err != nil || len(dropped) > 0 {
		return nil
	}
	r, err := clientAPI.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%s of %s: %v", clientAPI.Name, body, err)
	}
	return r
}

// isSaid reports whether a client API can express all of a request.
func isSaid(t *testing.T, clientAPI *dialect.Dialect, x *llm.Request) bool {
	t.Helper()
	r := arriving(t, clientAPI, x)
	return r != nil && !slices.ContainsFunc(features(x), func(f feature) bool { return !f.in(r) })
}

// carried returns the outcome of a request of a client API at a provider.
func carried(t *testing.T, name string, clientAPI, provider *dialect.Dialect, x *llm.Request) string {
	t.Helper()
	if clientAPI.Name == provider.Name {
		return "untouched"
	}
	r := arriving(t, clientAPI, x)
	r.Model = strongest(provider)
	out, dropped, err := provider.EncodeRequest(r, &llm.Quirks{})
	if err != nil {
		return "refused"
	}
	got, err := provider.DecodeRequest(out)
	if err != nil {
		t.Fatalf("%s: %s of %s: %v", name, provider.Name, out, err)
	}
	for _, f := range features(r) {
		if !f.in(got) && !slices.ContainsFunc(f.drops, func(name string) bool { return slices.Contains(dropped, name) }) {
			t.Errorf("%s, from %s to %s: %s is neither in %s nor named in %q", name, clientAPI.Name, provider.Name, f.name, out, dropped)
		}
	}
	if len(dropped) > 0 {
		return "carried, without " + strings.Join(dropped, ", ")
	}
	return "carried"
}

// answered lists a provider's finish reasons and classes of usage that a client API preserves. The sums must be equal.
func answered(t *testing.T, clientAPI, provider *dialect.Dialect) string {
	t.Helper()
	var told []string
	for _, f := range []llm.FinishReason{llm.FinishStop, llm.FinishLength, llm.FinishContentFilter, llm.FinishToolCalls} {
		x := endingWith(f, llm.Part{Kind: llm.PartText, Text: "So."})
		if f == llm.FinishToolCalls {
			x.Choices[0].Message.Parts = append(x.Choices[0].Message.Parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "f", Arguments: "{}"}})
		}
		if got := through(t, clientAPI, provider, x); got.Choices[0].Finish != f {
			t.Errorf("%s from %s at %s: got %s", f, provider.Name, clientAPI.Name, got.Choices[0].Finish)
		}
	}
	x := endingWith(llm.FinishStop, llm.Part{Kind: llm.PartRefusal, Text: "No."})
	got := through(t, clientAPI, provider, x)
	if len(got.Choices[0].Message.Parts) != 1 || got.Choices[0].Message.Parts[0].Text != "No." {
		t.Errorf("a refusal from %s at %s: got %+v", provider.Name, clientAPI.Name, got.Choices[0].Message.Parts)
	} else if got.Choices[0].Message.Parts[0].Kind == llm.PartRefusal {
		told = append(told, "refusal")
	}
	for c := range llm.Class(llm.NumTokens) {
		x := endingWith(llm.FinishStop, llm.Part{Kind: llm.PartText, Text: "So."})
		x.Usage[c] += 100
		read := reread(t, provider, x)
		got := through(t, clientAPI, provider, x)
		if got.Usage.InputTokens() != read.Usage.InputTokens() || got.Usage.OutputTokens() != read.Usage.OutputTokens() {
			t.Errorf("%s from %s at %s: got %v, want the sums of %v", c, provider.Name, clientAPI.Name, got.Usage, read.Usage)
		}
		if got.Usage == x.Usage {
			told = append(told, c.String())
		}
	}
	return strings.Join(told, ", ")
}

func endingWith(f llm.FinishReason, parts ...llm.Part) *llm.Reply {
	return &llm.Reply{
		ID: "id-1", Model: "m", Reported: true, Usage: llm.Usage{llm.Input: 10, llm.Output: 20},
		Choices: []llm.Choice{{Finish: f, Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}},
	}
}

// reread encodes and decodes a reply in a wire format.
func reread(t *testing.T, d *dialect.Dialect, x *llm.Reply) *llm.Reply {
	t.Helper()
	body := d.EncodeReply(nil, x)
	got, err := d.DecodeReply(body, &llm.Quirks{})
	if err != nil {
		t.Fatalf("%s of %s: %v", d.Name, body, err)
	}
	return got
}

func through(t *testing.T, clientAPI, provider *dialect.Dialect, x *llm.Reply) *llm.Reply {
	t.Helper()
	return reread(t, clientAPI, reread(t, provider, x))
}
