package openai_test

import (
	"fmt"
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/sse"
)

// TestUsageOfEachChoice checks that separate usages after the end of each choice add up, with the input counted once,
// and that no other order of chunks has anything counted twice.
func TestUsageOfEachChoice(t *testing.T) {
	t.Parallel()
	words := func(choice int) string {
		return fmt.Sprintf(`{"id":"1","choices":[{"index":%d,"delta":{"content":"word "},"finish_reason":null}]}`, choice)
	}
	end := func(choice int) string {
		return fmt.Sprintf(`{"id":"1","choices":[{"index":%d,"delta":{},"finish_reason":"stop"}]}`, choice)
	}
	usage := func(cached, in, out int) string {
		return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`, in, out,
			in+out, cached)
	}
	alone := func(cached, in, out int) string {
		return `{"id":"1","choices":[],"usage":` + usage(cached, in, out) + `}`
	}
	beside := func(choice, out int) string {
		return fmt.Sprintf(`{"id":"1","choices":[{"index":%d,"delta":{"content":"word "},"finish_reason":null}],"usage":%s}`, choice, usage(0, 45, out))
	}
	for _, tt := range []struct {
		name        string
		chunks      []string
		cached, out int64
	}{
		{"one choice", []string{words(0), end(0), alone(0, 45, 20)}, 0, 20},
		{"llama.cpp, the shortest first", []string{words(0), words(1), words(2), end(1), alone(0, 45, 10), end(0), alone(44, 45, 20), end(2), alone(44, 45, 29)}, 0, 59},
		{"llama.cpp, one after the other", []string{words(0), end(0), alone(0, 45, 20), words(1), end(1), alone(44, 45, 20)}, 0, 40},
		{"OpenAI and vLLM, one for all", []string{words(0), words(1), words(2), end(1), end(0), end(2), alone(0, 45, 59)}, 0, 59},
		{"vLLM, going on, and one for all", []string{beside(0, 1), beside(1, 1), beside(0, 20), end(0), beside(1, 39), end(1), alone(0, 45, 59)}, 0, 59},
		{"one for each, and one for all", []string{end(0), alone(0, 45, 20), end(1), alone(0, 45, 39), alone(0, 45, 59)}, 0, 59},
		{"the same usage twice", []string{end(0), alone(0, 45, 20), alone(0, 45, 20)}, 0, 20},
		{"a choice that ends twice", []string{end(0), alone(0, 45, 20), end(0), alone(0, 45, 20)}, 0, 20},
		{"a usage before the end, and one behind", []string{words(0), alone(0, 45, 3), words(0), end(0), alone(0, 45, 20)}, 0, 20},
		{"two choices that end together", []string{end(0), end(1), alone(0, 45, 40), end(2), alone(0, 45, 19)}, 0, 59},
	} {
		d := openai.NewDecoder(&llm.Quirks{})
		var last llm.Usage
		for _, chunk := range tt.chunks {
			events, err := d.Decode(nil, sse.Event{Data: []byte(chunk)})
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			for _, e := range events {
				if e.Kind == llm.EventUsage {
					last = e.Usage
				}
			}
		}
		if last.InputTokens() != 45 || last[llm.CacheRead] != tt.cached || last.OutputTokens() != tt.out {
			t.Errorf("%s: got %d in, %d of them cached, %d out; want 45, %d, %d", tt.name, last.InputTokens(), last[llm.CacheRead],
				last.OutputTokens(), tt.cached, tt.out)
		}
	}
}
