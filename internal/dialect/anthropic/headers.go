package anthropic

import (
	"net/http"
	"time"
)

// limitHeaders are the vendor's names of what the gateway counts: what it allows
// a minute, what is left of that, and when all of it is there again.
var limitHeaders = [...]struct{ limit, remaining, reset string }{
	{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
}

// zero is the value of a limit where there is none.
var zero = []string{"0"}

// ReplyHeaders sets the request's id where the SDKs read it
// (https://platform.claude.com/docs/en/api/errors#request-id), and the vendor's
// rate-limit headers (https://platform.claude.com/docs/en/api/rate-limits#response-headers):
// 0 where there is no limit, and a reset that is over, in RFC 3339.
func ReplyHeaders(h http.Header, requestID string, now time.Time) {
	h["Request-Id"] = []string{requestID}
	reset := []string{now.UTC().Format(time.RFC3339)}
	for _, l := range limitHeaders {
		h[l.limit], h[l.remaining], h[l.reset] = zero, zero, reset
	}
}
