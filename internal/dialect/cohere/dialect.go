// Package cohere implements the client half of Cohere's Chat API, version 2:
// https://docs.cohere.com/v2/reference/chat and https://docs.cohere.com/v2/reference/chat-stream.
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
		Name:        Name,
		DecodeError: DecodeError,
		Operations: []*dialect.Operation{{
			Op: llm.OpEmbed, Silent: true, Path: dialect.At("/embed"),
			EncodeRequest: EncodeEmbed, DecodeReply: DecodeVectors,
		}},
		Operation: dialect.Operation{
			Op:            llm.OpChat,
			Framing:       dialect.ServerSent(),
			Path:          dialect.At("/chat"),
			EncodeRequest: EncodeRequest,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Idle:          Idle,
		},
	}
}
