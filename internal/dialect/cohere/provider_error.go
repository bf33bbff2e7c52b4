package cohere

import (
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeError reads the provider's explanation from an error body: Cohere's
// message and error_type, or what a proxy before it puts under "error" or
// "detail". What is not JSON explains nothing.
func DecodeError(body []byte) llm.ProviderError {
	if rawjson.Validate(body, maxDepth) != nil {
		return llm.ProviderError{}
	}
	var e llm.ProviderError
	for _, path := range [][]string{{"message"}, {"error"}, {"error", "message"}, {"message", "message"}, {"detail"}} {
		if e.Message = rawjson.Text(rawjson.Get(body, path...)); e.Message != "" {
			break
		}
	}
	e.Code = rawjson.Text(rawjson.Get(body, "error_type"))
	return explained(e)
}

// explained is an explanation fit to be shown, with Cohere's words for a prompt
// beyond the model's window recognised. An output cap beyond it is worded alike
// and is no such thing.
func explained(e llm.ProviderError) llm.ProviderError {
	message := strings.ToLower(e.Message)
	if strings.HasPrefix(message, "too many tokens") && !strings.Contains(message, "max tokens must") {
		e.Code = llm.ContextLengthExceeded
	}
	return e.Shown()
}
