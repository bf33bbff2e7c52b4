package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code is the code of an error in Weir's own API. Each wire format maps it to its vendor's status and type in one
// table.
type Code string

// The error codes.
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

// Error is the only error type that reaches a client. Message is safe to show: it holds no secret and no raw body of
// a provider. Err is only for the log.
type Error struct {
	Code       Code
	Message    string
	Param      string        // the invalid field or parameter, such as "messages[0].role"; empty for none
	RetryAfter time.Duration // the time until a retry makes sense; 0 for unknown
	RetryTold  bool          // RetryAfter is the provider's value
	Err        error

	// Misfit describes how the request exceeds the model, if it is of a kind that programs react to; otherwise it is
	// zero.
	Misfit Misfit

	// Filtered is the result of a content filter on the request, by category: an object in Azure's form, encoded by
	// the gateway; nil for none.
	Filtered json.RawMessage

	// Word is the vendor's own identifier of the cause, such as "previous_response_not_found" or "thread_not_found",
	// on which its SDKs and programs branch; empty for none.
	Word string
}

// Error returns the code, the message and the cause, if any.
func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Code) + ": " + e.Message
	}
	return string(e.Code) + ": " + strings.TrimSuffix(e.Message, ".") + ": " + e.Err.Error()
}

// Placed returns the message with the invalid parameter in front, unless the message names it: for wire formats that
// have no field for the parameter.
func (e *Error) Placed() string {
	if e.Param == "" || strings.Contains(e.Message, e.Param) {
		return e.Message
	}
	return e.Param + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns the Error in err's chain, or an internal error that wraps err.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		Code:    CodeInternal,
		Message: "An internal error occurred. Search the gateway's log for the request id.",
		Err:     err,
	}
}

// Once returns an error if a header appears more than once, because a proxy in front may have read another of its
// values.
func Once(h http.Header, name string) error {
	if len(h.Values(name)) > 1 {
		return Invalid(name, "The header "+name+" appears more than once. Send it once.")
	}
	return nil
}

// Errorf returns an error with a code and a message formatted by fmt.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At sets the invalid parameter of the error and returns the error.
func (e *Error) At(param string) *Error {
	e.Param = param
	return e
}

// Invalidf returns an invalid-request error about one parameter, with a formatted message.
func Invalidf(param, format string, args ...any) *Error {
	return Errorf(CodeInvalidRequest, format, args...).At(param)
}

// Invalid returns an invalid-request error about one parameter.
func Invalid(param, message string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: message, Param: param}
}
