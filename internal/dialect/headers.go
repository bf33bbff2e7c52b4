package dialect

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// LimitHeaders names the headers of a limit per minute: the limit, the remaining amount, and the time until it is
// full again.
type LimitHeaders struct {
	Limit, Remaining, Reset string
	Tokens                  bool // of tokens; else of requests
}

// UsualLimits returns the headers that every wire format has.
func UsualLimits() []LimitHeaders { return usualLimits }

// usualLimits are set on every reply to a client with such a limit
// (https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers).
var usualLimits = []LimitHeaders{
	{"X-RateLimit-Limit-Requests", "X-RateLimit-Remaining-Requests", "X-RateLimit-Reset-Requests", false},
	{"X-RateLimit-Limit-Tokens", "X-RateLimit-Remaining-Tokens", "X-RateLimit-Reset-Tokens", true},
}

// CommonHeaders sets the headers of every reply in any wire format and the vendor's own. A zero allowance means no
// limit and sets no headers, because real clients take 0 remaining for a refusal.
func (d *Dialect) CommonHeaders(f Fields, requestID string, now time.Time, left *llm.RateLimitStatus) {
	f.Set("X-Request-Id", requestID)
	d.LimitHeaders(f, now, left)
	if d.ReplyHeaders != nil {
		d.ReplyHeaders(f, requestID)
	}
}

// LimitHeaders sets the headers for the client's remaining limits.
func (d *Dialect) LimitHeaders(f Fields, now time.Time, left *llm.RateLimitStatus) {
	setLimits(f, usualLimits, left, d.reset)
	if len(d.Limits) > 0 {
		setLimits(f, d.Limits, left, func(after time.Duration) string {
			return now.Add(after + time.Second - 1).UTC().Format(d.ResetLayout) // rounded up
		})
	}
}

// Returns reports whether a header of a provider's answer is passed to the client.
func (d *Dialect) Returns(name string) bool {
	for _, begin := range d.Returned {
		if len(name) > len(begin) && strings.EqualFold(name[:len(begin)], begin) {
			return true
		}
	}
	return false
}

// setLimits sets the headers of existing limits.
func setLimits(f Fields, all []LimitHeaders, left *llm.RateLimitStatus, reset func(after time.Duration) string) {
	for i := range all {
		names, a := &all[i], &left.Requests
		if names.Tokens {
			a = &left.Tokens
		}
		if a.Limit == 0 {
			continue
		}
		f.SetNumber(names.Limit, a.Limit)
		f.SetNumber(names.Remaining, a.Remaining)
		f.Set(names.Reset, reset(a.Reset))
	}
}

// reset formats a duration, rounded up: in seconds in Weir's own client API, and in OpenAI's form in those of
// vendors, such as 1s or 6m0s.
func (d *Dialect) reset(after time.Duration) string {
	seconds := (after + time.Second - 1) / time.Second
	if d.Vendor == "" {
		return strconv.FormatInt(int64(seconds), 10)
	}
	return (seconds * time.Second).String()
}

// ErrorHeaders sets the headers of an error in any wire format.
func ErrorHeaders(h http.Header, e *llm.Error) {
	switch e.Code {
	case llm.CodeAuthentication:
		h["Www-Authenticate"] = []string{"Bearer"}
	case llm.CodeRequestTooLarge:
		h["Connection"] = []string{"close"} // the rest of the body is not read
	case llm.CodeBudgetExceeded, llm.CodeProviderError, llm.CodeProviderUnavailable, llm.CodeProviderTimeout:
		// The official SDKs obey it: the gateway has already retried.
		h["X-Should-Retry"] = []string{"false"}
	}
	if e.WaitsLong() {
		h["X-Should-Retry"] = []string{"false"}
	}
	if e.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(e.RetrySeconds(), 10)}
	}
}

// writeStep is the number of bytes that a client must accept within one deadline.
const writeStep = 64 << 10

// WriteBody writes a whole reply. It closes the connection of a client that reads nothing for the given time. The
// deadline remains set, for data that net/http still holds; the next request on the connection sets its own.
func WriteBody(w http.ResponseWriter, body []byte, within time.Duration) {
	control, ok := w.(interface{ SetWriteDeadline(at time.Time) error })
	if !ok {
		control = http.NewResponseController(w)
	}
	for len(body) > 0 {
		n := min(len(body), writeStep)
		_ = control.SetWriteDeadline(time.Now().Add(within)) // not every writer supports it
		if _, err := w.Write(body[:n]); err != nil {
			return // the client is gone
		}
		body = body[n:]
	}
}
