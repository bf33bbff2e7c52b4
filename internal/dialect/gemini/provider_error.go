package gemini

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// explanation holds the members of Google's error.
type explanation struct {
	message, status string
	code            int64 // the HTTP status
	reason, field   string
	retry           time.Duration
}

// DecodeError reads Google's explanation from an error body: the object under "error", possibly in an array of one, or
// the error of its token endpoint. A body that is not JSON has no explanation.
//
// https://google.aip.dev/193
func DecodeError(body []byte) llm.ProviderError {
	if rawjson.Validate(body, maxDepth) != nil {
		return llm.ProviderError{}
	}
	x := explanationOf(body)
	e := llm.ProviderError{Message: explain.Clean(x.message), Param: explain.Clean(x.field), RetryAfter: x.retry}
	e.Code = explain.Code(explain.Clean(x.status), e.Message)
	switch {
	case x.isKey():
		e.Code, e.Status = cmp.Or(explain.Clean(x.reason), "API_KEY_INVALID"), http.StatusUnauthorized
	case x.status == "FAILED_PRECONDITION": // the gateway's country, or its billing
		e.Status = http.StatusForbidden
	case isTooLong(e.Message) && x.status != resourceExhausted:
		e.Code = explain.Context
	}
	return e
}

// isKey reports whether the error is about the key, for which Google uses the status of a bad request.
func (x *explanation) isKey() bool {
	return strings.HasPrefix(x.reason, "API_KEY_") ||
		strings.Contains(x.message, "API key not valid") || strings.Contains(x.message, "API key expired")
}

// isTooLong recognizes Google's messages about a prompt that exceeds the model's context.
func isTooLong(message string) bool {
	return strings.Contains(strings.ToLower(message), "input token count")
}

func explanationOf(body []byte) (x explanation) {
	for _, first := range rawjson.Elements(body) {
		body = first
		break
	}
	inner := get(body, "error")
	switch rawjson.KindOf(inner) {
	case rawjson.Object:
		x.read(inner)
	case rawjson.String: // https://www.rfc-editor.org/rfc/rfc6749#section-5.2
		x.status = rawjson.Text(inner)
		x.message = cmp.Or(rawjson.Text(get(body, "errorDescription")), rawjson.Text(get(body, "message")), x.status)
	default:
		x.read(body)
	}
	return x
}

func (x *explanation) read(v []byte) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "message":
			x.message = rawjson.Text(m.Value)
		case "status":
			x.status = rawjson.Text(m.Value)
		case "code":
			x.code, _ = rawjson.AsInt(m.Value)
		case "details":
			for _, d := range rawjson.Elements(m.Value) {
				x.detail(d)
			}
		}
	}
}

func (x *explanation) detail(v []byte) {
	switch kind, _ := strings.CutPrefix(rawjson.Text(get(v, "@type")), typePrefix); kind {
	case "ErrorInfo":
		x.reason = rawjson.Text(get(v, "reason"))
	case "RetryInfo":
		x.retry = duration(get(v, "retryDelay"))
	case "BadRequest":
		for _, f := range rawjson.Elements(get(v, "fieldViolations")) {
			x.field = cmp.Or(x.field, rawjson.Text(get(f, "field")))
			x.message = cmp.Or(x.message, rawjson.Text(get(f, "description")))
		}
	}
}

// duration reads a duration in JSON form, such as "48.5s"; 0 for other values.
func duration(v []byte) time.Duration {
	d, err := time.ParseDuration(rawjson.Text(v))
	if err != nil {
		return 0
	}
	return max(0, d)
}

// reportedError returns the error that Google put into a reply or a stream.
func reportedError(body []byte) *llm.Error {
	x := explanationOf(body)
	e := DecodeError(body)
	out := &llm.Error{
		Code: codeOf(&x, &e), Message: e.Message, Param: e.Param, RetryAfter: e.RetryAfter,
		RetryTold: true,
	}
	switch {
	case isOurs(&x, &e):
		out.Message, out.Param = "The provider refused the gateway's own credentials.", ""
	case out.Message == "":
		out.Message = "The provider reported an error without an explanation. Try again."
	}
	if out.Code == llm.CodeInvalidRequest {
		out.Misfit = explain.Misfit(e.Code, e.Message)
	}
	return out
}

func isOurs(x *explanation, e *llm.ProviderError) bool {
	switch x.status {
	case unauthenticated, permissionDenied:
		return true
	}
	return e.Status != 0 || x.code == http.StatusUnauthorized || x.code == http.StatusForbidden
}

// codeOf maps the canonical status, or else the number, like the status of a reply.
func codeOf(x *explanation, e *llm.ProviderError) llm.Code {
	if isOurs(x, e) {
		return llm.CodeProviderError
	}
	switch {
	case e.Code == explain.Context, e.Code == explain.Policy, x.status == invalidArgument, x.status == "OUT_OF_RANGE":
		return llm.CodeInvalidRequest
	case x.status == notFound:
		return llm.CodeModelNotFound
	case x.status == resourceExhausted:
		return llm.CodeRateLimited
	case x.status == unavailable:
		return llm.CodeProviderUnavailable
	case x.status == deadlineExceeded:
		return llm.CodeProviderTimeout
	case x.status != "":
		return llm.CodeProviderError
	}
	return explain.CodeOfStatus(int(x.code))
}
