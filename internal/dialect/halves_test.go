package dialect_test

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/sse"
)

// TestSurrogatePairInTwoPieces checks that a character split over two pieces of a stream, as by a server that cuts its
// text between UTF-16 code units, is joined. A single half is not a character.
func TestSurrogatePairInTwoPieces(t *testing.T) {
	t.Parallel()
	const high, low = `\ud83d`, `\ude00`
	for name, piece := range map[string]string{
		"openai":    `{"id":"c","choices":[{"index":0,"delta":{"content":"TEXT"}}]}`,
		"responses": `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"TEXT"}`,
		"anthropic": `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}`,
	} {
		for _, tt := range []struct {
			pieces []string
			want   string
		}{
			{[]string{"a" + high, low + "b"}, "a😀b"},
			{[]string{high, "", low}, "😀"},
			{[]string{high, low + high, low}, "😀😀"},
			{[]string{"a" + high, "b"}, "a\ufffdb"},
			{[]string{"a", low + "b"}, "a\ufffdb"},
			{[]string{`a\\ud83d`, low}, `a\ud83d` + "\ufffd"},
			{[]string{high + low, "b"}, "😀b"},
		} {
			decoder := byName(t, name).NewDecoder(&llm.Quirks{})
			if name == "anthropic" {
				if _, err := decoder.Decode(nil, sse.Event{Data: []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)}); err != nil {
					t.Fatal(err)
				}
			}
			var got strings.Builder
			for _, text := range tt.pieces {
				events, err := decoder.Decode(nil, sse.Event{Data: []byte(strings.ReplaceAll(piece, "TEXT", text))})
				if err != nil {
					t.Fatalf("%s: %q: %v", name, text, err)
				}
				for _, e := range events {
					got.WriteString(e.Text)
				}
			}
			if got.String() != tt.want {
				t.Errorf("%s: %q: got %q, want %q", name, tt.pieces, got.String(), tt.want)
			}
		}
	}
}

// TestHalvesOfTwoChoices checks that only a half of the same choice completes a character.
func TestHalvesOfTwoChoices(t *testing.T) {
	t.Parallel()
	decoder := byName(t, "openai").NewDecoder(&llm.Quirks{})
	got := map[int]string{}
	for _, piece := range []string{
		`[{"index":0,"delta":{"content":"\ud83d"}},{"index":1,"delta":{"content":"x\ud83d"}}]`,
		`[{"index":1,"delta":{"content":"\ude01"}},{"index":0,"delta":{"content":"\ude00"}}]`,
	} {
		events, err := decoder.Decode(nil, sse.Event{Data: []byte(`{"id":"c","choices":` + piece + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got[e.Choice] += e.Text
		}
	}
	if got[0] != "😀" || got[1] != "x😁" {
		t.Errorf("got %v", got)
	}
}
