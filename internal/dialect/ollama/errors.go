package ollama

import (
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeError appends the body of an error reply to dst. A message is all that
// it has, and so names the parameter at fault; the X-Request-Id header carries the
// request id.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	return append(rawjson.AppendString(append(dst, `{"error":`...), e.Placed()), '}')
}

// DecodeError reads the provider's explanation from an error body: text under
// "error", or what a proxy before it says in its own way.
func DecodeError(body []byte) llm.ProviderError { return explain.Body(body) }
