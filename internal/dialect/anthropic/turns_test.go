package anthropic_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/internal/dialect/anthropic"
	"weir/internal/llm"
	"weir/internal/must"
)

// turns generates the events of an answer with interleaved calls, text and thinking.
func turns(r *rand.Rand, calls int) (events []llm.Event, arguments []string, text string) {
	arguments = make([]string, calls)
	left, begun := make([]string, calls), make([]bool, calls)
	for i := range calls {
		arguments[i] = fmt.Sprintf(`{"n":%d,"s":"a } \" {","l":[{"x":[]}]}`, i)
		if r.IntN(4) == 0 {
			arguments[i] = [...]string{"{}", ""}[r.IntN(2)]
		}
		left[i] = arguments[i]
	}
	for open := calls; open > 0; {
		switch r.IntN(6) {
		case 0:
			text += "t"
			events = append(events, llm.Event{Kind: llm.EventText, Text: "t"})
			continue
		case 1:
			events = append(events, llm.Event{Kind: llm.EventReasoning, Text: "h", Maker: anthropic.Name})
			continue
		}
		i := r.IntN(calls)
		switch n := min(len(left[i]), r.IntN(9)); {
		case !begun[i]:
			begun[i] = true
			events = append(events, llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: i, ID: fmt.Sprint("c", i), Name: fmt.Sprint("f", i)}})
			if left[i] == "" {
				open--
			}
		case n > 0:
			events = append(events, llm.Event{Kind: llm.EventToolCall, Text: left[i][:n], Tool: llm.ToolDelta{Index: i}})
			if left[i] = left[i][n:]; left[i] == "" {
				open--
			}
		}
	}
	return events, arguments, text
}

// TestCallsInTurns checks that one block follows another, each with its own pieces, for any interleaving of calls, text
// and thinking in an answer.
func TestCallsInTurns(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		events, arguments, text := turns(r, 1+r.IntN(4))
		e := anthropic.NewEncoder(llm.Meta{ID: "msg_1", Model: "m"})
		var out []byte
		for i := range events {
			out = e.Append(out, &events[i])
		}
		out = e.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}})
		if size := e.Size(); size > 100 {
			t.Errorf("seed %d: %d bytes are retained of an answer that has ended", seed, size)
		}
		got, words := map[string]string{}, ""
		open, next := -1, 0
		var id string
		for frame := range strings.SplitSeq(string(out), "\n\n") {
			_, data, _ := strings.Cut(frame, "data: ")
			var event struct {
				Type  string
				Index int
				Block struct{ ID string } `json:"content_block"`
				Delta struct {
					Text string
					JSON string `json:"partial_json"`
				}
			}
			if data == "" {
				continue
			}
			must.Do(t, json.Unmarshal([]byte(data), &event))
			switch event.Type {
			case "content_block_start":
				if open >= 0 || event.Index != next {
					t.Fatalf("seed %d: block %d begins while %d is open, want %d alone:\n%s", seed, event.Index, open, next, out)
				}
				open, next = event.Index, next+1
				if id = event.Block.ID; id != "" {
					got[id] = ""
				}
			case "content_block_delta":
				if event.Index != open {
					t.Fatalf("seed %d: a delta of block %d while %d is open:\n%s", seed, event.Index, open, out)
				}
				words += event.Delta.Text
				if id != "" {
					got[id] += event.Delta.JSON
				}
			case "content_block_stop":
				open = -1
			}
		}
		for i, want := range arguments {
			if have, ok := got[fmt.Sprint("c", i)]; !ok || have != want {
				t.Errorf("seed %d: call %d got %q, want %q:\n%s", seed, i, have, want, out)
			}
		}
		if words != text {
			t.Errorf("seed %d: the words are %q, want %q", seed, words, text)
		}
	}
}

// TestHeldBlocksHaveABound checks that an answer with more data after an open call than is retained ends there, as cut.
func TestHeldBlocksHaveABound(t *testing.T) {
	t.Parallel()
	e := anthropic.NewEncoder(llm.Meta{})
	open := llm.Event{Kind: llm.EventToolCall, Text: `{"a":`, Tool: llm.ToolDelta{ID: "c", Name: "f"}}
	out := e.Append(nil, &open)
	words := llm.Event{Kind: llm.EventText, Text: strings.Repeat("x", 1<<20)}
	for range 20 {
		out = e.Append(out, &words)
	}
	if size := e.Size(); size > 10<<20 {
		t.Errorf("%d bytes are retained", size)
	}
	out = e.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}})
	if !strings.Contains(string(out), `"stop_reason":"max_tokens"`) || len(out) > 10<<20 {
		t.Errorf("got %d bytes, want less and max_tokens: %s", len(out), out[len(out)-500:])
	}
}
