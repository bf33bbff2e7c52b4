package cohere

import (
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeError reads the provider's explanation from an error body: Cohere's message and error_type, or a proxy's own
// form. A body that is not JSON has no explanation.
func DecodeError(body []byte) llm.ProviderError {
	e := explain.Body(body)
	if e.Code == "" && e.Message != "" { // the body was JSON
		e.Code = explain.Clean(rawjson.Text(rawjson.Get(body, "error_type")))
	}
	return recognised(e)
}

// recognised returns an explanation with the code of a prompt that exceeds the context window if Cohere's message
// reports one. The message about an output cap beyond it is similar, but a different error.
func recognised(e llm.ProviderError) llm.ProviderError {
	message := strings.ToLower(e.Message)
	if strings.HasPrefix(message, "too many tokens") && !strings.Contains(message, "max tokens must") {
		e.Code = explain.Context
	}
	return e
}

// reported returns the error of a message in place of an answer, with its HTTP status; 0 for none.
func reported(message string, status int) *llm.Error {
	e := llm.ProviderError{Message: explain.Clean(message)}
	e.Code = explain.Code("", e.Message)
	return explain.Error(recognised(e), status)
}
