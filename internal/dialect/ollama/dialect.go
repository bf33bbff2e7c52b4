// Package ollama is Ollama's own chat API, both halves: the format at
// https://docs.ollama.com/api/chat. Its base URL is the host alone, such as
// http://127.0.0.1:11434; the same server speaks OpenAI's format below /v1.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package ollama

import (
	"io"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// Name is the word for the format in the configuration.
const Name = "ollama"

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth

	// optionsMember is the member that holds a model's parameters. The Extra
	// field of one of them that nobody modelled is named with this prefix.
	optionsMember = "options"
	optionPrefix  = optionsMember + "."
	outputCap     = "num_predict"
)

// Dialect is the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:        Name,
		Habits:      dialect.Habits{NoCallIDs: true},
		UsageAt:     [][]string{{"prompt_eval_count"}, {"eval_count"}},
		Vendor:      Name,
		Status:      llm.Code.Status, // https://docs.ollama.com/api/errors
		EncodeError: EncodeError,
		DecodeError: DecodeError,
		ListPath:    "/api/tags", // https://docs.ollama.com/api/tags, 2026-11-26
		Operations: []*dialect.Operation{{
			Op: llm.OpEmbed, Silent: true, Routes: []string{"POST /api/embed"}, Scan: ScanEmbed,
			DecodeRequest: DecodeEmbed, EncodeReply: EncodeVectors, Path: dialect.At("/api/embed"),
			EncodeRequest: EncodeEmbed, DecodeReply: DecodeVectors,
		}},
		Operation: dialect.Operation{
			Op:     llm.OpChat,
			Routes: []string{"POST /api/chat"},
			Framing: dialect.Framing{
				ContentType: "application/x-ndjson",
				NewReader:   func(src io.Reader, max int) dialect.Frames { return NewReader(src, max) },
				Append:      AppendLine,
			},
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
			Path:          dialect.At("/api/chat"),
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
