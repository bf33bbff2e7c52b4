package dashboard

import "weir/internal/llm"

// errorText returns the code of an attempt's error and its meaning; empty for no error.
func errorText(code llm.Code) string {
	meaning := ""
	switch code {
	case "":
		return ""
	case llm.CodeProviderError:
		meaning = "the provider failed, broke its answer off, rejected the gateway's key or sent an invalid answer"
	case llm.CodeProviderTimeout:
		meaning = "the provider did not begin, or did not finish, in time"
	case llm.CodeProviderUnavailable:
		meaning = "no target could be asked"
	case llm.CodeRateLimited:
		meaning = "the provider's limit was reached"
	case llm.CodeInvalidRequest:
		meaning = "the provider rejected the request"
	case llm.CodeModelNotFound:
		meaning = "the provider does not know the model"
	case "CLIENT_GONE":
		meaning = "the client disconnected before the end of its answer"
	default:
		return string(code)
	}
	return string(code) + ": " + meaning
}
