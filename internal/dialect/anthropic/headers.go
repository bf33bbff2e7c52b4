package anthropic

import (
	"net/http"
	"strconv"
	"time"

	"weir/internal/llm"
)

// limitHeaders are the vendor's names of what the gateway counts: what it allows
// a minute, what is left of that, and when all of it is there again. Tokens of
// input and output are counted together, so those of each are the same.
var limitHeaders = [...]struct {
	limit, remaining, reset string
	of                      func(*llm.RateLimitStatus) *llm.Allowance
}{
	{
		"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining",
		"Anthropic-Ratelimit-Requests-Reset", requests,
	},
	{
		"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset",
		tokens,
	},
	{
		"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining",
		"Anthropic-Ratelimit-Input-Tokens-Reset", tokens,
	},
	{
		"Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining",
		"Anthropic-Ratelimit-Output-Tokens-Reset", tokens,
	},
}

func requests(s *llm.RateLimitStatus) *llm.Allowance { return &s.Requests }
func tokens(s *llm.RateLimitStatus) *llm.Allowance   { return &s.Tokens }

// zero is the value of a limit where there is none.
var zero = []string{"0"}

// ReplyHeaders sets the request's id where the SDKs read it
// (https://platform.claude.com/docs/en/api/errors#request-id).
func ReplyHeaders(h http.Header, requestID string) {
	h["Request-Id"] = []string{requestID}
}

// ReplyLimits sets the vendor's rate-limit headers
// (https://platform.claude.com/docs/en/api/rate-limits#response-headers), with
// resets in RFC 3339: 0 where there is no limit, and a reset that is over.
func ReplyLimits(h http.Header, now time.Time, left *llm.RateLimitStatus) {
	over := []string{now.UTC().Format(time.RFC3339)}
	for i := range limitHeaders {
		names, a := &limitHeaders[i], limitHeaders[i].of(left)
		if a.Limit == 0 {
			h[names.limit], h[names.remaining], h[names.reset] = zero, zero, over
			continue
		}
		reset := now.Add(a.Reset + time.Second - 1).UTC().Truncate(time.Second) // not before it is true
		h[names.limit] = []string{strconv.FormatInt(a.Limit, 10)}
		h[names.remaining] = []string{strconv.FormatInt(a.Remaining, 10)}
		h[names.reset] = []string{reset.Format(time.RFC3339)}
	}
}
