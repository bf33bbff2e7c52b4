package llm

import "time"

// Allowance is the amount allowed in any 60 seconds. Its zero value is no limit.
type Allowance struct {
	Limit     int64         // 0 for none
	Remaining int64         // 0 to Limit
	Reset     time.Duration // from now until all of Limit is available again
}

// RateLimitStatus is a client's remaining allowance, at the most restrictive level of its limits.
type RateLimitStatus struct{ Requests, Tokens Allowance }
