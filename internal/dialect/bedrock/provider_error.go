package bedrock

import (
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeError reads the provider's explanation from an error body: the message,
// which older services write with a capital, and the exception's name where it
// stands there and not in a header alone. What is not JSON explains nothing.
func DecodeError(body []byte) (e llm.ProviderError) {
	if rawjson.Validate(body, maxDepth) != nil {
		return e
	}
	if inner := rawjson.Get(body, "Output"); rawjson.KindOf(inner) == rawjson.Object { // of no operation at all
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

// exceptionName is an exception without its name space, such as
// com.amazon.coral.service#, and without the address behind it.
func exceptionName(s string) string {
	s, _, _ = strings.Cut(s, ":")
	if _, name, ok := strings.Cut(s, "#"); ok {
		return name
	}
	return s
}

// reportedError is the error that the provider put into a reply or a stream.
func reportedError(body []byte) *llm.Error {
	return exception(DecodeError(body), body)
}

// exception is the error behind an exception of that name, or one in a body.
func exception(e llm.ProviderError, body []byte) *llm.Error {
	out := &llm.Error{Code: codeOf(e.Code), Message: e.Message}
	if status, ok := rawjson.AsInt(rawjson.Get(body, "originalStatusCode")); ok && out.Code == llm.CodeProviderError {
		out.Code = codeOfStatus(status)
	}
	switch {
	case isOurs(e.Code):
		out.Message = "The provider refused the gateway's own credentials."
	case out.Message == "":
		out.Message = "The provider reported an error and did not explain it."
	}
	if out.Code == llm.CodeInvalidRequest {
		out.Misfit = explain.Misfit(e.Code, e.Message)
	}
	return out
}

// isOurs reports whether an exception is about the operator's account, never
// the caller's.
func isOurs(name string) bool {
	switch strings.ToLower(name) {
	case "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception",
		"incompletesignatureexception", "missingauthenticationtokenexception", "servicequotaexceededexception":
		return true
	}
	return false
}

// codeOf maps an exception, in whichever case its name begins.
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

// codeOfStatus maps the status that a model gave the service.
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
