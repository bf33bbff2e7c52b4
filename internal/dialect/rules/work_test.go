package rules_test

import (
	"fmt"
	"runtime"
	"testing"

	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// TestFitIsLinear checks that four times as many calls, with the messages between them and their results, need about
// four times as much memory, unlike data that is created or copied anew for each of them.
func TestFitIsLinear(t *testing.T) { // not parallel: it counts the allocations of the process
	for _, format := range []string{"openai", "responses", "bedrock", "gemini", "anthropic"} {
		set := rules.For("mistral", format)
		few, many := allocated(t, set, 1000), allocated(t, set, 4000)
		if many > 6*few {
			t.Errorf("%s: 1,000 calls take %d bytes, 4,000 take %d: want at most six times as many", format, few, many)
		}
	}
}

// allocated returns the number of bytes allocated to fit a conversation with that number of calls in one message.
func allocated(t *testing.T, set rules.Set, calls int) uint64 {
	t.Helper()
	r := &llm.Request{Messages: make([]llm.Message, 1, 2*calls+1)}
	r.Messages[0].Role = llm.RoleAssistant
	for i := range calls {
		id := fmt.Sprint("call:", i)
		r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: "f.x"}})
		r.Messages = append(r.Messages,
			llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: id}}}},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: "x"}}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := set.Fit(r, false); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
