package openai

import (
	"strconv"

	"weir/internal/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeError reads the provider's explanation from an error body: OpenAI's
// object, Mistral's and FastAPI's "detail", a bare "message", or text under
// "error". What is not JSON explains nothing.
func DecodeError(body []byte) llm.ProviderError {
	if rawjson.Validate(body, maxDepth) != nil {
		return llm.ProviderError{}
	}
	for _, first := range rawjson.Elements(body) { // Gemini's door puts it in an array
		body = first
		break
	}
	e := explainBody(body)
	e.Message = explain.Clean(e.Message)
	e.Code = explain.Code(explain.Clean(e.Code), e.Message)
	e.Param = explain.Clean(e.Param)
	return e
}

// explainBody finds the object that explains and reads it.
func explainBody(v []byte) (e llm.ProviderError) {
	inner := rawjson.Get(v, "error")
	switch rawjson.KindOf(inner) {
	case rawjson.Object:
		return explainObject(inner)
	case rawjson.String:
		e = explainObject(v)
		e.Message = rawjson.Text(inner)
		return e
	}
	return explainObject(v)
}

func explainObject(v []byte) (e llm.ProviderError) {
	var kind string
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "message", "msg":
			e = withMessage(e, m.Value)
		case "detail":
			if e.Message == "" {
				e = withMessage(e, m.Value)
			}
		case "type":
			kind = rawjson.Text(m.Value)
		case "code":
			e.Code = word(m.Value)
		case "param":
			e.Param = rawjson.Text(m.Value)
		case "innererror": // Azure says there what its code means
			if s := rawjson.Text(rawjson.Get(m.Value, "code")); s != "" && e.Code == "" {
				e.Code = s
			}
		}
	}
	if kind != "" && (e.Code == "" || isNumber(e.Code)) {
		e.Code = kind
	}
	return e
}

// withMessage reads a message: a string, or a list of what FastAPI found wrong
// with the request, or an object that holds one of these.
func withMessage(e llm.ProviderError, v []byte) llm.ProviderError {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		e.Message = rawjson.Text(v)
	case rawjson.Object:
		for _, name := range []string{"detail", "message", "msg"} {
			if inner := rawjson.Get(v, name); rawjson.KindOf(inner) == rawjson.String || rawjson.KindOf(inner) == rawjson.Array {
				return withMessage(e, inner)
			}
		}
	case rawjson.Array:
		for i, problem := range rawjson.Elements(v) {
			where := location(rawjson.Get(problem, "loc"))
			text := rawjson.Text(rawjson.Get(problem, "msg"))
			if where != "" {
				text = where + ": " + text
			}
			if i > 0 {
				text = "; " + text
			} else {
				e.Param = where
			}
			e.Message += text
			if len(e.Message) > explain.MaxMessage {
				break
			}
		}
	}
	return e
}

// location writes FastAPI's ["body", "messages", 0, "role"] as messages[0].role.
func location(v []byte) string {
	var path string
	for i, step := range rawjson.Elements(v) {
		name, ok := rawjson.AsString(step)
		switch {
		case !ok:
			path += "[" + word(step) + "]"
		case i == 0 && name == "body":
		case path == "":
			path = name
		default:
			path += "." + name
		}
		if len(path) > explain.MaxMessage {
			break
		}
	}
	return path
}

// word is a code, which some providers write as a number.
func word(v []byte) string {
	if n, ok := rawjson.AsInt(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return rawjson.Text(v)
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// reportedError is the error that a provider put into a reply or a stream.
func reportedError(body []byte) *llm.Error {
	e := DecodeError(body)
	status, err := strconv.Atoi(word(rawjson.Get(body, "error", "code")))
	if err != nil {
		status, _ = strconv.Atoi(word(rawjson.Get(body, "code")))
	}
	out := &llm.Error{Code: codeOf(status, e.Code), Message: e.Message, Param: e.Param}
	switch {
	case out.Code == llm.CodeProviderError && isOurs(status, e.Code):
		out.Message, out.Param = "The provider refused the gateway's own credentials.", ""
	case out.Message == "":
		out.Message = "The provider reported an error and did not explain it."
	}
	return out
}

func isOurs(status int, code string) bool {
	switch code {
	case "authentication_error", "invalid_api_key", "insufficient_quota", "permission_error":
		return true
	}
	return status == 401 || status == 402 || status == 403
}

// codeOf maps a status in the body, else the provider's word, as the status of
// a reply is mapped.
func codeOf(status int, code string) llm.Code {
	switch code {
	case explain.Context, explain.Policy, "invalid_request_error", "invalid_request", "invalid_prompt":
		return llm.CodeInvalidRequest
	case "model_not_found", "not_found_error":
		return llm.CodeModelNotFound
	case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests":
		return llm.CodeRateLimited
	case "overloaded", "overloaded_error", "service_unavailable", "server_overloaded", "engine_overloaded_error":
		return llm.CodeProviderUnavailable
	case "timeout", "timeout_error":
		return llm.CodeProviderTimeout
	}
	switch status {
	case 400, 422:
		return llm.CodeInvalidRequest
	case 404:
		return llm.CodeModelNotFound
	case 408, 504:
		return llm.CodeProviderTimeout
	case 413:
		return llm.CodeRequestTooLarge
	case 429:
		return llm.CodeRateLimited
	case 503, 529:
		return llm.CodeProviderUnavailable
	}
	return llm.CodeProviderError
}
