package dialect_test

import (
	"testing"

	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/sse"
)

var (
	messagesBody = []byte(`{"model":"claude","max_tokens":64,"messages":[{"role":"user","content":"Hello"}],"stream":true}`)
	messagesText = []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" scattered"}      }`)
	messagesCall = []byte(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\""}  }`)
	messageReply = []byte(`{"model":"claude-haiku-4-5-20251001","id":"msg_1","type":"message","role":"assistant",` +
		`"content":[{"type":"text","text":"Light of short waves is scattered more."}],"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":7351,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":4,"service_tier":"standard"}}`)
)

// claudeRelay decodes pieces of a stream of Anthropic's and encodes them for its clients.
type claudeRelay struct {
	dec    *anthropic.Decoder
	enc    *anthropic.Encoder
	events []llm.Event
	buf    []byte
	name   []byte
}

func newClaudeRelay(tb testing.TB) *claudeRelay {
	r := &claudeRelay{
		dec: anthropic.NewDecoder(nil), enc: anthropic.NewEncoder(llm.Meta{ID: "r", Model: "m"}), buf: make([]byte, 0, 1024), name: []byte("content_block_delta"),
	}
	r.pass(tb, []byte(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`))
	r.pass(tb, []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
	return r
}

func (r *claudeRelay) pass(tb testing.TB, data []byte) {
	var err error
	if r.events, err = r.dec.Decode(r.events[:0], sse.Event{Name: r.name, Data: data}); err != nil {
		tb.Fatal(err)
	}
	r.buf = r.buf[:0]
	for i := range r.events {
		r.buf = r.enc.Append(r.buf, &r.events[i])
	}
}

// TestAnthropicAllocations checks the allocation budgets of the hot path.
func TestAnthropicAllocations(t *testing.T) {
	scratch := make([]byte, 0, 2048)
	stream := newClaudeRelay(t)
	head, err := anthropic.Scan(messagesBody, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		most float64
		run  func()
	}{
		{"scan", 1, func() { _, _ = anthropic.Scan(messagesBody, nil) }},
		{"splice", 4, func() {
			anthropic.Splice(scratch, messagesBody, &head, llm.Splice{Model: "claude-haiku-4-5", Stream: true}, &llm.Quirks{})
		}},
		{"piece of text", 1, func() { stream.pass(t, messagesText) }},
		{"piece of a call", 1, func() { stream.pass(t, messagesCall) }},
		{"reply to openai", 20, func() {
			r, err := anthropic.DecodeReply(messageReply, nil)
			if err != nil || !r.Reported {
				t.Fatal(err)
			}
			openai.EncodeReply(scratch, r)
		}},
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(100, tt.run); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

func BenchmarkAnthropicPiece(b *testing.B) {
	r := newClaudeRelay(b)
	b.SetBytes(int64(len(messagesText)))
	b.ReportAllocs()
	for b.Loop() {
		r.pass(b, messagesText)
	}
}
