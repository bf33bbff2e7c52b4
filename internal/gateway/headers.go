package gateway

import (
	"errors"
	"strconv"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// noDeadline takes a connection's deadline away.
var noDeadline time.Time

// answerHeaders sets what the reply of an attempt has.
func (c *call) answerHeaders(contentType string) {
	h := c.w.Header()
	dialect.CommonHeaders(h, c.idText)
	target := c.target()
	full := c.tried[len(c.tried)-1]
	values := []string{contentType, target.Provider.Name(), full, strconv.Itoa(len(c.tried))}
	h["Content-Type"] = values[0:1:1]
	h["X-Weir-Provider"] = values[1:2:2]
	h["X-Weir-Model"] = values[2:3:3]
	h["X-Weir-Attempts"] = values[3:4:4]
	if c.head.Model != full {
		h["X-Weir-Requested-Model"] = []string{c.head.Model}
	}
}

// fail answers with an error, if nothing was answered. It does not ask whether
// the client is there: a body that did not come in time looks as if not.
func (c *call) fail(err error) {
	e := llm.AsError(err)
	c.logFailure(e)
	if c.out.fail(e) {
		return
	}
	h := c.w.Header()
	dialect.CommonHeaders(h, c.idText)
	h["Content-Type"] = []string{"application/json"}
	if n := len(c.tried); n > 0 {
		h["X-Weir-Attempts"] = []string{strconv.Itoa(n)}
	}
	e = withRetryAfter(e)
	dialect.ErrorHeaders(h, e)
	body := c.dialect.EncodeError(nil, e, c.idText)
	if c.hold == nil || c.hold.Settled() {
		c.releaseBody() // whatever time the client takes
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.w.WriteHeader(c.dialect.Status(e.Code))
	dialect.WriteBody(c.w, body, c.server.timing.Write)
}

// defaultRetry is when a client may try again where nobody knows better.
const defaultRetry = 5 * time.Second

// withRetryAfter is the error with a time to try again, where its status is
// one that promises it and the provider did not say.
func withRetryAfter(e *llm.Error) *llm.Error {
	switch e.Code {
	case llm.CodeRateLimited, llm.CodeProviderUnavailable, llm.CodeOverloaded:
		if e.RetryAfter == 0 {
			told := *e
			told.RetryAfter = defaultRetry
			return &told
		}
	}
	return e
}

// logFailure logs an error once: ours and the provider's loudly, a caller's
// mistakes for whoever looks for them.
func (c *call) logFailure(e *llm.Error) {
	log := c.server.log.Debug
	switch e.Code {
	case llm.CodeInternal:
		if !errors.Is(e, errGone) {
			log = c.server.log.Error
		}
	case llm.CodeProviderError, llm.CodeProviderTimeout, llm.CodeProviderUnavailable, llm.CodeOverloaded:
		log = c.server.log.Warn
	}
	var model string
	if n := len(c.tried); n > 0 {
		model = c.tried[n-1]
	}
	log("request failed", "request", c.idText, "path", c.r.URL.Path, "model", model, "code", string(e.Code), "err", e)
}
