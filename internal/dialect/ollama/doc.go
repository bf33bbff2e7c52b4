// Package ollama is Ollama's own chat API, both halves: the format at
// https://docs.ollama.com/api/chat. Its base URL is the host alone, such as
// http://127.0.0.1:11434; the same server speaks OpenAI's format below /v1.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package ollama

import (
	"weir/internal/dialect/parse"
)

// Name is the word for the format in the configuration.
const Name = "ollama"

// ContentType is the media type of a stream: a JSON object a line.
const ContentType = "application/x-ndjson"

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth
	// maxCount keeps token counts where sums and products of them are exact.
	maxCount = parse.MaxCount

	// optionsMember is the member that holds a model's parameters. The Extra
	// field of one of them that nobody modelled is named with this prefix.
	optionsMember = "options"
	optionPrefix  = optionsMember + "."
	outputCap     = "num_predict"
)

// Path is what follows a provider's base URL.
func Path(string, bool) string { return "/api/chat" }
