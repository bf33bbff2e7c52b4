// Package cohere is Cohere's Chat API, version 2, both halves: the format at
// https://docs.cohere.com/v2/reference/chat and
// https://docs.cohere.com/v2/reference/chat-stream.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package cohere

import (
	"weir/internal/dialect/parse"
)

// Name is the word for the format in the configuration.
const Name = "cohere"

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth
	// maxCount keeps token counts where sums and products of them are exact.
	maxCount = parse.MaxCount
	// maxStops is the documented limit of stop_sequences.
	maxStops = 5

	outputCap = "max_tokens"
)

// Path is what follows a provider's base URL.
func Path(string, bool) string { return "/chat" }
