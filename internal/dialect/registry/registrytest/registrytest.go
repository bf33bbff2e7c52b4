// Package registrytest lists the wire formats of this build with the server halves of those that only providers speak.
package registrytest

import (
	"weir/internal/dialect"
	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/cohere/coheretest"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/ollama/ollamatest"
	"weir/internal/dialect/registry"
)

// All returns the wire formats, each with both halves.
func All() dialect.Set {
	all := registry.All()
	bedrocktest.Serve(all.Named(bedrock.Name))
	coheretest.Serve(all.Named(cohere.Name))
	ollamatest.Serve(all.Named(ollama.Name))
	return all
}
