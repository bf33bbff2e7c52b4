// Package openai is OpenAI's Chat Completions, both halves: the format at
// https://platform.openai.com/docs/api-reference/chat and, with quirks as data,
// that of the many providers who took it over.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package openai

import (
	"weir/internal/dialect/parse"
)

// Name is the word for the format in the configuration.
const Name = "openai"

// IDPrefix is what the ids of answers begin with.
const IDPrefix = "chatcmpl-"

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth
	// maxCount keeps token counts where sums and products of them are exact.
	maxCount = parse.MaxCount
	// maxChoices is the documented limit of n.
	maxChoices = 128

	outputCap       = "max_completion_tokens"
	legacyOutputCap = "max_tokens"
)

// Path is what follows a provider's base URL.
func Path(string, bool) string { return "/chat/completions" }
