package bedrock

import (
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeError reads the provider's explanation from an error body: the message, which older services capitalize, and
// the exception's name if the body has it. A body that is not JSON has no explanation.
func DecodeError(body []byte) (e llm.ProviderError) {
	if rawjson.Validate(body, maxDepth) != nil {
		return e
	}
	if inner := rawjson.Get(body, "Output"); rawjson.KindOf(inner) == rawjson.Object { // of an unknown operation
		body = inner
	}
	for m := range rawjson.Members(body) {
		switch string(m.Key()) {
		case "message", "Message", "errorMessage":
			if s := rawjson.Text(m.Value); s != "" {
				e.Message = explain.Clean(s)
			}
		case "__type", "code", "Code":
			if e.Code == "" {
				e.Code = exceptionName(rawjson.Text(m.Value))
			}
		}
	}
	e.Code = explain.Code(explain.Clean(e.Code), e.Message)
	return e
}

// exceptionName returns an exception without its name space, such as com.amazon.coral.service#, and without the URL
// after it.
func exceptionName(s string) string {
	s, _, _ = strings.Cut(s, ":")
	if _, name, ok := strings.Cut(s, "#"); ok {
		return name
	}
	return s
}

// reportedError returns the error that the provider put into a reply or a stream.
func reportedError(body []byte) *llm.Error {
	return exception(DecodeError(body), body)
}

// exception returns the error for an exception of that name, or for one in a body.
func exception(e llm.ProviderError, body []byte) *llm.Error {
	out := &llm.Error{Code: codeOf(e.Code), Message: e.Message}
	if status, ok := rawjson.AsInt(rawjson.Get(body, "originalStatusCode")); ok && out.Code == llm.CodeProviderError {
		out.Code = codeOfStatus(status)
	}
	switch {
	case isOurs(e.Code):
		out.Message = "The provider refused the gateway's own credentials."
	case out.Message == "":
		out.Message = "The provider reported an error without an explanation. Try again."
	}
	if out.Code == llm.CodeInvalidRequest {
		out.Misfit = explain.Misfit(e.Code, e.Message)
	}
	return out
}

// isOurs reports whether an exception is about the operator's account, not the client.
func isOurs(name string) bool {
	switch strings.ToLower(name) {
	case "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception",
		"incompletesignatureexception", "missingauthenticationtokenexception", "servicequotaexceededexception":
		return true
	}
	return false
}

// codeOf maps an exception, with an upper or lower case first letter.
func codeOf(name string) llm.Code {
	switch strings.ToLower(name) {
	case explain.Context, explain.Policy, "validationexception":
		return llm.CodeInvalidRequest
	case "resourcenotfoundexception":
		return llm.CodeModelNotFound
	case "throttlingexception":
		return llm.CodeRateLimited
	case "serviceunavailableexception", "modelnotreadyexception":
		return llm.CodeProviderUnavailable
	case "modeltimeoutexception":
		return llm.CodeProviderTimeout
	}
	return llm.CodeProviderError
}

// codeOfStatus maps the status that a model returned to the service.
func codeOfStatus(status int64) llm.Code {
	switch status {
	case 408, 504:
		return llm.CodeProviderTimeout
	case 429:
		return llm.CodeRateLimited
	case 503, 529:
		return llm.CodeProviderUnavailable
	}
	return llm.CodeProviderError
}
