// Package cohere implements both halves of Cohere's Chat API, version 2: https://docs.cohere.com/v2/reference/chat and
// https://docs.cohere.com/v2/reference/chat-stream.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package cohere

import (
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// Name names the format in the configuration.
const Name = "cohere"

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth

	outputCap = "max_tokens"
)

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: Name,
		// Of whole replies, message-end and embeddings
		UsageAt:     [][]string{{"usage"}, {"delta", "usage"}, {"meta", "billed_units"}},
		Vendor:      Name,
		Status:      llm.Code.Status, // https://docs.cohere.com/reference/errors
		EncodeError: EncodeError,
		DecodeError: DecodeError,
		Operations: []*dialect.Operation{{
			Op: llm.OpEmbed, Silent: true, Routes: []string{"POST /v2/embed"}, Scan: embedding.Scan,
			DecodeRequest: embedding.Decode, EncodeReply: EncodeVectors, Path: dialect.At("/embed"),
			EncodeRequest: EncodeEmbed, DecodeReply: DecodeVectors,
		}},
		Operation: dialect.Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v2/chat"},
			Framing:       dialect.ServerSent(),
			EndMarker:     dialect.Done,
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
			Path:          dialect.At("/chat"),
			EncodeRequest: EncodeRequest,
			Splice:        Splice,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Idle:          Idle,
			Stamp:         Stamp,
			HasUsage:      HasUsage,
		},
	}
}
