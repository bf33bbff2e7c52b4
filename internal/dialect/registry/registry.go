// Package registry lists the wire formats of this build.
package registry

import (
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/native"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/responses"
)

// All returns the wire formats, each in one line.
func All() dialect.Set {
	chat := openai.Dialect()
	return dialect.NewSet(
		native.Dialect(),
		chat,
		responses.Dialect(chat),
		anthropic.Dialect(),
		gemini.Dialect(),
		bedrock.Dialect(),
		cohere.Dialect(),
		ollama.Dialect(),
	)
}
