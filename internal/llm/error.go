package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code says what went wrong, in the words of the service's own API. Each wire
// format maps it to its vendor's status and words in one table.
type Code string

// The whole vocabulary of errors.
const (
	CodeInvalidRequest      Code = "INVALID_REQUEST"
	CodeAuthentication      Code = "AUTHENTICATION_ERROR"
	CodeBudgetExceeded      Code = "BUDGET_EXCEEDED"
	CodeForbidden           Code = "FORBIDDEN"
	CodeNotFound            Code = "NOT_FOUND"
	CodeModelNotFound       Code = "MODEL_NOT_FOUND"
	CodeMethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	CodeIdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	CodeConflict            Code = "CONFLICT"
	CodeRequestTooLarge     Code = "REQUEST_TOO_LARGE"
	CodeUnsupportedMedia    Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeMisdirected         Code = "MISDIRECTED_REQUEST"
	CodeRateLimited         Code = "RATE_LIMITED"
	CodeProviderError       Code = "PROVIDER_ERROR"
	CodeProviderUnavailable Code = "PROVIDER_UNAVAILABLE"
	CodeProviderTimeout     Code = "PROVIDER_TIMEOUT"
	CodeOverloaded          Code = "OVERLOADED"
	CodeInternal            Code = "INTERNAL_ERROR"
)

// Error is the one error type that reaches a client. Message is safe to show:
// it holds no secret and no provider's raw body. Err is for the log alone.
type Error struct {
	Code       Code
	Message    string
	Param      string        // the field or parameter at fault, such as "messages[0].role"; empty for none
	RetryAfter time.Duration // when to try again; 0 for unknown
	RetryTold  bool          // RetryAfter is a provider's own word
	Err        error

	// Misfit is what of the request the model does not take; its zero value is nothing, or nothing that programs know.
	Misfit Misfit

	// Filtered is what a content filter found of the request, by category, as an object in Azure's words that was written
	// here; nil for nothing.
	Filtered json.RawMessage

	// Word is the vendor's own word for the cause, such as
	// "previous_response_not_found" or "thread_not_found", by which its SDKs and
	// programs know what to do; empty for none.
	Word string
}

// Error is the code and the message, and the cause where there is one.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Placed is the message with the parameter at fault before it, unless it names
// that itself: for wire formats that have no other place for it.
func (e *Error) Placed() string {
	if e.Param == "" || strings.Contains(e.Message, e.Param) {
		return e.Message
	}
	return e.Param + ": " + e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError is the Error in err's chain, or an internal error that wraps err.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		Code: CodeInternal, Message: "Something went wrong on our side. The request id finds it in the log.", Err: err,
	}
}

// Once refuses a header that stands more than once: a proxy in front may have read another
// one of them.
func Once(h http.Header, name string) error {
	if len(h.Values(name)) > 1 {
		return Invalid(name, "The header "+name+" stands more than once. Send it once.")
	}
	return nil
}

// Errorf is an error with that code. Its message is by a format of fmt.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At puts the parameter at fault into the error, and returns it.
func (e *Error) At(param string) *Error {
	e.Param = param
	return e
}

// Invalidf is an invalid-request error about one parameter.
func Invalidf(param, format string, args ...any) *Error {
	return Errorf(CodeInvalidRequest, format, args...).At(param)
}

// Invalid is an invalid-request error about one parameter.
func Invalid(param, message string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: message, Param: param}
}
