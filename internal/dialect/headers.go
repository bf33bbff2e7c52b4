package dialect

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// LimitHeaders are the names under which a reply tells what is allowed a minute, what is left
// of that, and when all of it is there again.
type LimitHeaders struct {
	Limit, Remaining, Reset string
	Tokens                  bool // of tokens; else of requests
}

// UsualLimits are the names that every wire format has.
func UsualLimits() []LimitHeaders { return usualLimits }

// usualLimits stand on every reply to a caller that has such a limit
// (https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers).
var usualLimits = []LimitHeaders{
	{"X-RateLimit-Limit-Requests", "X-RateLimit-Remaining-Requests", "X-RateLimit-Reset-Requests", false},
	{"X-RateLimit-Limit-Tokens", "X-RateLimit-Remaining-Tokens", "X-RateLimit-Reset-Tokens", true},
}

// CommonHeaders sets what every reply has, in whatever wire format, and what its
// vendor has beside that. The map is written directly: the names are as they are
// to appear. What the caller has left is all zeros for nobody and for no limit, which has
// no headers: real clients take 0 that remain for a refusal.
func (d *Dialect) CommonHeaders(h http.Header, requestID string, now time.Time, left *llm.RateLimitStatus) {
	h["X-Request-Id"] = []string{requestID}
	d.LimitHeaders(h, now, left)
	if d.ReplyHeaders != nil {
		d.ReplyHeaders(h, requestID)
	}
}

// LimitHeaders sets those of CommonHeaders that tell what the caller has left.
func (d *Dialect) LimitHeaders(h http.Header, now time.Time, left *llm.RateLimitStatus) {
	setLimits(h, usualLimits, left, d.reset)
	if len(d.Limits) > 0 {
		setLimits(h, d.Limits, left, func(after time.Duration) string {
			return now.Add(after + time.Second - 1).UTC().Format(d.ResetLayout) // not before it is true
		})
	}
}

// Returns reports whether a header of a provider's answer goes to the client.
func (d *Dialect) Returns(name string) bool {
	for _, begin := range d.Returned {
		if len(name) > len(begin) && strings.EqualFold(name[:len(begin)], begin) {
			return true
		}
	}
	return false
}

// setLimits sets the headers of what has a limit.
func setLimits(h http.Header, all []LimitHeaders, left *llm.RateLimitStatus, reset func(after time.Duration) string) {
	for i := range all {
		names, a := &all[i], &left.Requests
		if names.Tokens {
			a = &left.Tokens
		}
		if a.Limit == 0 {
			continue
		}
		h[names.Limit] = []string{strconv.FormatInt(a.Limit, 10)}
		h[names.Remaining] = []string{strconv.FormatInt(a.Remaining, 10)}
		h[names.Reset] = []string{reset(a.Reset)}
	}
}

// reset is a duration, rounded up: in seconds at Weir's own client API, and at
// the vendors' as OpenAI writes it, such as 1s or 6m0s.
func (d *Dialect) reset(after time.Duration) string {
	seconds := (after + time.Second - 1) / time.Second
	if d.Vendor == "" {
		return strconv.FormatInt(int64(seconds), 10)
	}
	return (seconds * time.Second).String()
}

// ErrorHeaders sets what belongs to an error, in whatever wire format.
func ErrorHeaders(h http.Header, e *llm.Error) {
	switch e.Code {
	case llm.CodeAuthentication:
		h["Www-Authenticate"] = []string{"Bearer"}
	case llm.CodeRequestTooLarge:
		h["Connection"] = []string{"close"} // the rest of the body is not read
	case llm.CodeBudgetExceeded, llm.CodeProviderError, llm.CodeProviderUnavailable, llm.CodeProviderTimeout:
		// The official SDKs obey it: what was to be tried again was tried.
		h["X-Should-Retry"] = []string{"false"}
	}
	if e.WaitsLong() {
		h["X-Should-Retry"] = []string{"false"}
	}
	if e.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(e.RetrySeconds(), 10)}
	}
}

// writeStep is how much of a body a client has to take within one deadline.
const writeStep = 64 << 10

// WriteBody writes a whole reply. A client that takes none of it for so long
// loses its connection: nobody else waits for it. The deadline stays, for what
// net/http still holds; the next request on the connection has its own.
func WriteBody(w http.ResponseWriter, body []byte, within time.Duration) {
	control := http.NewResponseController(w)
	for len(body) > 0 {
		n := min(len(body), writeStep)
		_ = control.SetWriteDeadline(time.Now().Add(within)) // not every writer has one
		if _, err := w.Write(body[:n]); err != nil {
			return // a client that is gone learns nothing more
		}
		body = body[n:]
	}
}
