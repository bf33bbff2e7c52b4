package dialect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/sse"
)

// shapes lists pieces of streams: %s stands for a text, %t for all texts so far, %n for a growing number, and %p for
// padding. Some pieces have no text. A frame may have a name before a bar.
var shapes = map[string][]string{
	"openai": {
		`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%s},"logprobs":null,"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%s},"logprobs":null,"finish_reason":null}],"obfuscation":"%p"}`,
		`{"id":"c","model":"m","choices":[{"index":1,"delta":{"content":%s}}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":%s,"reasoning_content":"r"}}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":%s},"logprobs":{"content":[{"token":"t","logprob":-1,"bytes":[116],"top_logprobs":[]}]}}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":%s}}],"usage":{"prompt_tokens":1,"completion_tokens":%n,"total_tokens":3}}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%n","function":{"name":"f","arguments":%s}}]}}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":" a"}},{"index":1,"delta":{"content":%s}}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":%s,"tool_calls":[{"index":1,"function":{"arguments":"1"}}]}}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":%s}}]}}]}`,
	},
	"responses": {
		`response.output_text.delta|{"type":"response.output_text.delta","sequence_number":%n,"item_id":"msg_1","output_index":0,"content_index":0,"delta":%s,"logprobs":[],"obfuscation":"%p"}`,
		`response.output_text.delta|{"type":"response.output_text.delta","item_id":"msg_2","output_index":1,"content_index":0,"delta":%s}`,
		`response.output_text.done|{"type":"response.output_text.done","sequence_number":%n,"item_id":"msg_1","output_index":0,"content_index":0,"text":%t,"logprobs":[]}`,
		`response.refusal.delta|{"type":"response.refusal.delta","sequence_number":%n,"item_id":"msg_1","output_index":0,"content_index":1,"delta":%s}`,
		`response.output_text.annotation.added|{"type":"response.output_text.annotation.added","sequence_number":%n,"item_id":"msg_1","output_index":0,"content_index":0,"annotation":{"type":"url_citation","url":"https://a.example","title":%s,"start_index":0,"end_index":1}}`,
	},
	"anthropic": {
		`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`,
		`content_block_delta|{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":%s}}`,
		`content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":%s}}`,
		`content_block_start|{"type":"content_block_start","index":1,"content_block":{"type":"text","text":%s}}`,
		`error|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`,
		`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":` +
			`{"type":"web_search_result_location","url":"https://a.example","title":%s,"cited_text":"c","encrypted_index":"e"}}}`,
		`content_block_stop|{"type":"content_block_stop","index":0,"note":%s}`,
		`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":%s}}`,
	},
}

// streamFrames generates frames of a wire format in runs of the same shape. Some are not JSON.
func streamFrames(name string) *rapid.Generator[[]sse.Event] {
	text := rapid.SampledFrom([]string{
		`"a"`, `" rain"`, `""`, `"é"`, `"漢字 😀"`, `"\n"`, `"q\"uote"`, `"\ud83d"`, `"\ude00"`, `"[1]"`, `"x","y":"z"`, `"broken`, "\"\xff\"", `null`, `7`, "\"\x01\"",
	})
	return rapid.Custom(func(t *rapid.T) (frames []sse.Event) {
		n, all := 8, ""
		for range rapid.IntRange(1, 6).Draw(t, "runs") {
			shape := rapid.SampledFrom(shapes[name]).Draw(t, "shape")
			for range rapid.IntRange(1, 6).Draw(t, "pieces") {
				n++
				piece := text.Draw(t, "text")
				var said string
				if json.Unmarshal([]byte(piece), &said) == nil && shape == shapes[name][0] {
					all += said
				}
				whole, _ := json.Marshal(all + "more")
				frame := strings.Replace(strings.Replace(shape, "%s", piece, 1), "%t", string(whole), 1)
				frame = strings.Replace(strings.Replace(frame, "%n", rapid.SampledFrom([]string{"", "", "0"}).Draw(t, "zero")+fmt.Sprint(n), 1), "%p", rapid.SampledFrom([]string{"", "xyz", "é", `\"`}).Draw(t, "padding"), 1)
				kind, data, named := strings.Cut(frame, "|")
				if !named {
					kind, data = "", frame
				}
				frames = append(frames, sse.Event{Name: []byte(kind), Data: []byte(data)})
			}
		}
		return frames
	})
}

// TestPiecesAlikeSayTheSame checks that a decoder returns the same events for a piece that resembles the one before it
// and for the same piece with extra white space, which resembles none.
func TestPiecesAlikeSayTheSame(t *testing.T) {
	t.Parallel()
	for name := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := registrytest.All().Named(name)
			rapid.Check(t, func(t *rapid.T) {
				frames := streamFrames(name).Draw(t, "frames")
				one, other := d.NewDecoder(&llm.Quirks{}), d.NewDecoder(&llm.Quirks{})
				for i, frame := range frames {
					spaced := frame // with more white space than any frame before
					spaced.Data = slices.Concat([]byte("{"+strings.Repeat(" ", i+1)), frame.Data[1:])
					got, gotErr := one.Decode(nil, frame)
					want, wantErr := other.Decode(nil, spaced)
					if (gotErr == nil) != (wantErr == nil) || told(t, got) != told(t, want) {
						t.Fatalf("frame %d %q of %q:\n%s, %v\nwant\n%s, %v", i, frame.Data, frames, told(t, got), gotErr, told(t, want), wantErr)
					}
				}
			})
		})
	}
}

// told prints events without their raw JSON, which has the white space.
func told(t *rapid.T, events []llm.Event) string {
	events = slices.Clone(events)
	for i := range events {
		events[i].Raw = nil
	}
	body, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
