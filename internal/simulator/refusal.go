package simulator

import (
	"net/http"
	"strconv"
	"time"

	"weir/internal/llm"
)

func refuses(f func(*call) refusal) func(*player) bool {
	return func(p *player) bool {
		p.refuse(f(p.call))
		return true
	}
}

func contextLength(*call) refusal {
	return refusal{
		status: http.StatusBadRequest, code: "context_length_exceeded",
		err: llm.Invalid("messages",
			"This model's maximum context length is 8192 tokens. Please reduce the length of the messages."),
	}
}

func contentPolicy(*call) refusal {
	return refusal{
		status: http.StatusBadRequest, code: "content_filter",
		err: llm.Invalid("messages",
			"The request was refused by the content policy. Please change the prompt and try again."),
	}
}

func quota(*call) refusal {
	return refusal{err: llm.Errorf(llm.CodeBudgetExceeded, "You exceeded your current quota, please check your plan "+
		"and billing details.")}
}

func noPrefill(p *player) bool {
	n := len(p.req.Messages)
	if n == 0 || p.req.Messages[n-1].Role != llm.RoleAssistant {
		p.spare()
		return false
	}
	p.refuse(refusal{
		status: http.StatusBadRequest,
		err: llm.Invalid("messages",
			"This model does not support assistant message prefill. The conversation must end with a user message."),
	})
	return true
}

// statusCodes maps statuses of a provider to errors.
var statusCodes = map[int]llm.Code{
	401: llm.CodeAuthentication, 402: llm.CodeBudgetExceeded, 403: llm.CodeForbidden, 404: llm.CodeModelNotFound,
	405: llm.CodeMethodNotAllowed, 409: llm.CodeIdempotencyConflict, 413: llm.CodeRequestTooLarge,
	415: llm.CodeUnsupportedMedia, 429: llm.CodeRateLimited, 502: llm.CodeProviderError,
	503: llm.CodeProviderUnavailable, 504: llm.CodeProviderTimeout, 529: llm.CodeOverloaded,
}

func statusError(status int) *llm.Error {
	code, ok := statusCodes[status]
	switch {
	case ok:
	case status < http.StatusInternalServerError:
		code = llm.CodeInvalidRequest
	default:
		code = llm.CodeInternal
	}
	return &llm.Error{Code: code, Message: "The simulator was asked for an error of status " + strconv.Itoa(status) +
		"."}
}

const (
	retryDate = 30 * time.Second
	retryYear = 365 * 24 * time.Hour
)

// retryAfter returns the header in the form that the model name specifies.
func (c *call) retryAfter() string {
	switch v := c.spec.retryAfter; v {
	case "date":
		return c.s.clock().Add(retryDate).UTC().Format(http.TimeFormat)
	case "garbage":
		return "soon, maybe"
	case "year":
		return strconv.Itoa(int(retryYear / time.Second))
	default:
		return v
	}
}
