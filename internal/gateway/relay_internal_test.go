package gateway

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/sse"
)

// TestForwardEnd checks that a frame that ends the stream reaches the client, stamped, if it has more content than
// that.
func TestForwardEnd(t *testing.T) {
	t.Parallel()
	d := registrytest.All().Named("bedrock")
	cost := llm.Money(5)
	final := &llm.Final{Cost: &cost}
	usage := []byte(`{"usage":{"inputTokens":1}}`)
	tests := []struct {
		name string
		kind frameKind
		data []byte
		want string
	}{
		{"marker alone", frameKind{}, []byte(`{}`), ""},
		{"finish", frameKind{finish: true}, []byte(`{}`), "raw"},
		{"usage", frameKind{usage: true}, usage, string(d.Framing.Append(nil, "metadata", d.Stamp(nil, usage, final)))},
	}
	for _, tt := range tests {
		in := &intake{Request: quote.Request{Dialect: d, Op: &d.Operation, Head: llm.Head{IncludeUsage: true}}}
		r := relay{
			in: in, attempt: &attempt{Quote: quote.Quote{Request: &in.Request}}, words: &words{}, same: true,
			tally: &quote.Tally{Choices: 1, Done: true, Finish: []llm.FinishReason{llm.FinishStop}},
		}
		r.forward(sse.Event{Name: []byte("metadata"), Data: tt.data, Raw: []byte("raw")}, tt.kind)
		r.appendHeld(final)
		if string(r.out) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, r.out, tt.want)
		}
	}
}

// TestLongNamesAreNotRetained checks that names that are longer than any provider's are not retained.
func TestLongNamesAreNotRetained(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mostNames+1)
	for _, e := range []llm.Event{
		{Kind: llm.EventStart, ID: long},
		{Kind: llm.EventStart, Model: long},
		{Kind: llm.EventUsage, Tier: long, Metered: &llm.Metered{}},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: long}},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Name: long}},
	} {
		r := relay{in: &intake{}}
		if _, err := r.event(&e); !errors.Is(err, errNames) {
			t.Errorf("an event of kind %d: %v, want %v", e.Kind, err, errNames)
		}
	}
}
