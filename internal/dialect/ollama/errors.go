package ollama

import (
	"weir/internal/dialect/explain"
	"weir/internal/llm"
)

// DecodeError reads the provider's explanation from an error body: text under "error", or a proxy's own form.
func DecodeError(body []byte) llm.ProviderError { return explain.Body(body) }
