package dialect_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/native"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/responses"
	"weir/internal/llm"
	"weir/internal/sse"
)

// request is a body of 0.5 KB in the service's own format.
var request = []byte(`{"model":"openai/gpt-5-mini","messages":[` +
	`{"role":"system","prompt":"You are a patient teacher. Answer in two short paragraphs."},` +
	`{"role":"user","prompt":"` + strings.Repeat("Why is the sky blue, and why is it red at dusk? ", 7) + `"}],` +
	`"max_tokens":256,"temperature":0.7}`)

// reply is a provider's answer of 1.1 KB.
var reply = []byte(`{"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion","created":1741570283,"model":"gpt-4o-2024-08-06",` +
	`"choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("Light of short waves is scattered more. ", 14) +
	`","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":1117,"completion_tokens":46,"total_tokens":1163,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
	`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},` +
	`"service_tier":"default","system_fingerprint":"fp_fc9f1d7035"}`)

var piece = []byte(`{"id":"chatcmpl-DPTCSiILDqSfGEsai0LaZHmgPpD0W","object":"chat.completion.chunk","created":1774962816,"model":"gpt-4o",` +
	`"service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" scattered"},"logprobs":null,"finish_reason":null}],"obfuscation":"Sd2"}`)

var geminiPiece = []byte(`{"candidates": [{"content": {"parts": [{"text": " scattered"}],"role": "model"},"index": 0}],` +
	`"usageMetadata": {"promptTokenCount": 1117,"candidatesTokenCount": 46,"totalTokenCount": 1297,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 1117}],` +
	`"thoughtsTokenCount": 134,"serviceTier": "standard"},"modelVersion": "gemini-2.5-flash","responseId": "6r6FarDODNmynsEP8cLCoQk"}`)

// delta is the same piece in the wire format of Responses.
var delta = []byte(`{"type":"response.output_text.delta","sequence_number":17,"item_id":"msg_0c5c443c5f7b18da016a2b178030e4819f85f0e6c714d12bfc",` +
	`"output_index":1,"content_index":0,"delta":" scattered","logprobs":[],"obfuscation":"Sd2"}`)

func scan(tb testing.TB) {
	if _, err := native.Scan(request, &http.Request{}); err != nil {
		tb.Fatal(err)
	}
}

func forward(tb testing.TB) {
	r, err := native.DecodeRequest(request)
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := openai.EncodeRequest(r, &llm.Quirks{}); err != nil {
		tb.Fatal(err)
	}
}

func answerWhole(tb testing.TB, buf []byte) {
	r, err := openai.DecodeReply(reply, &llm.Quirks{})
	if err != nil || !r.Reported {
		tb.Fatal(err)
	}
	native.EncodeReply(buf, r)
}

// relay decodes and encodes one piece of a stream.
type relay struct {
	data   []byte
	dec    dialect.Decoder
	enc    *native.Encoder
	events []llm.Event
	buf    []byte
}

func newRelay(data []byte, dec dialect.Decoder) *relay {
	return &relay{
		data: data, dec: dec,
		enc: native.NewEncoder(llm.Meta{ID: "0190f5c8-0000-7000-8000-000000000000", Created: 1774962816, Model: "openai/gpt-4o"}),
		buf: make([]byte, 0, 1024),
	}
}

func (r *relay) piece(tb testing.TB) {
	var err error
	if r.events, err = r.dec.Decode(r.events[:0], sse.Event{Data: r.data}); err != nil {
		tb.Fatal(err)
	}
	r.buf = r.buf[:0]
	for i := range r.events {
		r.buf = r.enc.Append(r.buf, &r.events[i])
	}
}

// TestHotPathAllocations checks the allocation budgets of the hot path.
func TestHotPathAllocations(t *testing.T) {
	buf := make([]byte, 0, 2048)
	scratch := make([]byte, 0, 2048)
	stream, google := newRelay(piece, openai.NewDecoder(&llm.Quirks{})), newRelay(geminiPiece, gemini.NewDecoder(nil))
	stream.piece(t)
	google.piece(t)
	deltas := newRelay(delta, responses.NewDecoder(&llm.Quirks{}))
	deltas.piece(t)
	body := []byte(`{"model":"a","messages":[{"role":"user","content":"Hello"}],"stream":true}`)
	head, err := openai.Scan(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		most float64
		run  func()
	}{
		{"native scan", 1, func() { scan(t) }},
		{"native request to openai", 16, func() { forward(t) }},
		{"openai reply to native", 12, func() { answerWhole(t, buf) }},
		{"openai piece to native", 1, func() { stream.piece(t) }},
		{"gemini piece to native", 1, func() { google.piece(t) }},
		{"responses piece to native", 1, func() { deltas.piece(t) }},
		{"openai scan", 1, func() { _, _ = openai.Scan(body, nil) }},
		{"openai splice", 4, func() {
			openai.Splice(scratch, body, &head, llm.Splice{Model: "gpt-4o", Stream: true}, &llm.Quirks{})
		}},
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(100, tt.run); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

func BenchmarkNativeScan(b *testing.B) {
	b.SetBytes(int64(len(request)))
	b.ReportAllocs()
	for b.Loop() {
		scan(b)
	}
}

func BenchmarkRequest(b *testing.B) {
	b.SetBytes(int64(len(request)))
	b.ReportAllocs()
	for b.Loop() {
		forward(b)
	}
}

func BenchmarkReply(b *testing.B) {
	buf := make([]byte, 0, 2048)
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	for b.Loop() {
		answerWhole(b, buf)
	}
}

func BenchmarkPiece(b *testing.B) {
	for name, r := range map[string]*relay{
		"openai": newRelay(piece, openai.NewDecoder(&llm.Quirks{})), "gemini": newRelay(geminiPiece, gemini.NewDecoder(nil)),
		"responses": newRelay(delta, responses.NewDecoder(&llm.Quirks{})),
	} {
		b.Run(name, func(b *testing.B) {
			r.piece(b)
			b.SetBytes(int64(len(r.data)))
			b.ReportAllocs()
			for b.Loop() {
				r.piece(b)
			}
		})
	}
}
