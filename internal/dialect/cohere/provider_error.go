package cohere

import (
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeError reads the provider's explanation from an error body: Cohere's
// message and error_type, or what a proxy before it says in its own way. What
// is not JSON explains nothing.
func DecodeError(body []byte) llm.ProviderError {
	e := explain.Body(body)
	if e.Code == "" && e.Message != "" { // it was JSON
		e.Code = explain.Clean(rawjson.Text(rawjson.Get(body, "error_type")))
	}
	return recognised(e)
}

// recognised is an explanation in which Cohere's words for a prompt beyond the
// model's window are known as such. An output cap beyond it is worded alike and
// is no such thing.
func recognised(e llm.ProviderError) llm.ProviderError {
	message := strings.ToLower(e.Message)
	if strings.HasPrefix(message, "too many tokens") && !strings.Contains(message, "max tokens must") {
		e.Code = explain.Context
	}
	return e
}

// reported is the error behind a message that stood in place of an answer.
// Status is the HTTP status that goes with it; 0 for none.
func reported(message string, status int) *llm.Error {
	e := llm.ProviderError{Message: explain.Clean(message)}
	e.Code = explain.Code("", e.Message)
	return explain.Error(recognised(e), status)
}
