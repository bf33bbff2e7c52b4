// Package cohere is Cohere's Chat API, version 2, both halves: the format at
// https://docs.cohere.com/v2/reference/chat and
// https://docs.cohere.com/v2/reference/chat-stream.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package cohere

import (
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// Name is the word for the format in the configuration.
const Name = "cohere"

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth

	outputCap = "max_tokens"
)

// Dialect is the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:        Name,
		UsageAt:     [][]string{{"usage"}, {"delta", "usage"}, {"meta", "billed_units"}}, // whole, in message-end, and of embeddings
		Vendor:      Name,
		Status:      llm.Code.Status, // https://docs.cohere.com/reference/errors
		EncodeError: EncodeError,
		DecodeError: DecodeError,
		Operations: []*dialect.Operation{{
			Op: llm.OpEmbed, Silent: true, Routes: []string{"POST /v2/embed"}, Scan: ScanEmbed,
			DecodeRequest: DecodeEmbed, EncodeReply: EncodeVectors, Path: dialect.At("/embed"),
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
