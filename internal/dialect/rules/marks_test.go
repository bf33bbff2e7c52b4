package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// conversation returns a request of an agent with a tool, instructions and turns of the given numbers of bytes: the
// user asks, the assistant calls, the tool answers.
func conversation(tools, system, perTurn, turns int) *llm.Request {
	r := &llm.Request{Tools: []llm.Tool{{Name: "f"}, {Name: "g", Description: strings.Repeat("t", tools)}}}
	text := func(n int) []llm.Part { return []llm.Part{{Kind: llm.PartText, Text: strings.Repeat("x", n)}} }
	r.Messages = []llm.Message{{Role: llm.RoleSystem, Parts: text(system)}}
	for i := range turns {
		id := fmt.Sprint("call_", i)
		r.Messages = append(r.Messages,
			llm.Message{Role: llm.RoleUser, Parts: text(perTurn)},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: "f", Arguments: "{}"}}}},
			llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: id, Parts: text(perTurn)}}}},
			llm.Message{Role: llm.RoleAssistant, Parts: text(9)})
	}
	r.Messages = r.Messages[:len(r.Messages)-1]
	return r
}

// places returns the places of all marks.
func places(r *llm.Request) (at []string) {
	for i := range r.Tools {
		if r.Tools[i].CacheControl != nil {
			at = append(at, "tool "+r.Tools[i].Name)
		}
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if c := r.Messages[i].Parts[j].CacheControl; c != nil {
				at = append(at, fmt.Sprintf("%s %d.%d", r.Messages[i].Role, i, j))
			}
		}
	}
	return at
}

// TestMarksAreAddedWhereVendorsCache checks the places of added marks: none ends a shorter prompt than the vendor
// stores, there are at most four, and a request with a mark of its client gets none.
func TestMarksAreAddedWhereVendorsCache(t *testing.T) {
	t.Parallel()
	own := func(change func(r *llm.Request)) *llm.Request {
		r := conversation(9000, 9000, 9000, 3)
		change(r)
		return r
	}
	mark := []byte(`{"type":"ephemeral"}`)
	for _, c := range []struct {
		name string
		r    *llm.Request
		want []string
	}{
		{"all is long", conversation(9000, 9000, 9000, 3), []string{"tool g", "system 0.0", "user 9.0", "tool 11.0"}},
		{"the first turn", conversation(9000, 9000, 9000, 1), []string{"tool g", "system 0.0", "user 1.0", "tool 3.0"}},
		{"tools are short", conversation(9, 9000, 9000, 3), []string{"system 0.0", "user 9.0", "tool 11.0"}},
		{"instructions and tools are short", conversation(9, 9, 3000, 3), []string{"user 9.0", "tool 11.0"}},
		{"only all together is long", conversation(1000, 1000, 400, 3), []string{"tool 11.0"}},
		{"all is short", conversation(9, 9, 9, 20), nil},
		{"a mark on a tool", own(func(r *llm.Request) { r.Tools[0].CacheControl = mark }), []string{"tool f"}},
		{"a mark of the client's", own(func(r *llm.Request) { r.Messages[1].Parts[0].CacheControl = mark }), []string{"user 1.0"}},
		{"a mark in a result", own(func(r *llm.Request) { r.Messages[3].Parts[0].Result.Parts[0].CacheControl = mark }), nil},
		{"a mark for the whole", own(func(r *llm.Request) { r.Extra = []llm.Field{{Name: "cache_control", Value: mark}} }), nil},
		{"a mark on a tool of the vendor's", own(func(r *llm.Request) {
			r.Tools[0] = llm.Tool{Raw: []byte(`{"type":"web_search","cache_control":{"type":"ephemeral"}}`)}
		}), nil},
		{"a tool of the vendor's is last", own(func(r *llm.Request) {
			r.Tools = append(r.Tools, llm.Tool{Raw: []byte(`{"type":"web_search"}`)})
		}), []string{"tool g", "system 0.0", "user 9.0", "tool 11.0"}},
		{"pictures are last", own(func(r *llm.Request) {
			r.Messages = append(r.Messages[:12], llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.PartText, Text: "See"}, {Kind: llm.PartImage, Media: &llm.Media{URL: "https://a.example/b.png"}},
			}})
		}), []string{"tool g", "system 0.0", "user 9.0", "user 12.0"}},
		{"no messages", &llm.Request{}, nil},
	} {
		before := places(c.r)
		got := rules.Marked(c.r, 1024)
		if at := places(got); !slices.Equal(at, c.want) {
			t.Errorf("%s: marks at %q, want %q", c.name, at, c.want)
		}
		if after := places(c.r); !slices.Equal(before, after) {
			t.Errorf("%s: the client's request was changed: %q", c.name, after)
		}
		if isSame := got == c.r; isSame != slices.Equal(before, c.want) && c.want != nil {
			t.Errorf("%s: the request is unchanged: %t", c.name, isSame)
		}
	}
}
