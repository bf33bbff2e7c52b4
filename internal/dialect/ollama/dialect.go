// Package ollama implements the client half of Ollama's own chat API: https://docs.ollama.com/api/chat. Its base URL has
// only the host, such as http://127.0.0.1:11434; the same server offers OpenAI's format below /v1.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package ollama

import (
	"io"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// Name names the format in the configuration.
const Name = "ollama"

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth

	// optionsMember is the member with a model's parameters. The prefix begins the names of Extra fields for unmodelled
	// parameters.
	optionsMember = "options"
	optionPrefix  = optionsMember + "."
	outputCap     = "num_predict"
)

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:        Name,
		Habits:      dialect.Habits{NoCallIDs: true},
		DecodeError: DecodeError,
		ListPath:    "/api/tags", // https://docs.ollama.com/api/tags, 2026-11-26
		Operations: []*dialect.Operation{{
			Op: llm.OpEmbed, Silent: true, Path: dialect.At("/api/embed"),
			EncodeRequest: EncodeEmbed, DecodeReply: DecodeVectors,
		}},
		Operation: dialect.Operation{
			Op: llm.OpChat,
			Framing: dialect.Framing{
				ContentType: "application/x-ndjson",
				NewReader:   func(src io.Reader, max int) dialect.Frames { return NewReader(src, max) },
			},
			Path:          dialect.At("/api/chat"),
			EncodeRequest: EncodeRequest,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Idle:          Idle,
		},
	}
}
