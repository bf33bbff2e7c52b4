package llm

import "time"

// Allowance is how much may be asked for in any 60 seconds. Its zero value is
// no limit.
type Allowance struct {
	Limit     int64         // 0 for none
	Remaining int64         // 0 to Limit
	Reset     time.Duration // from now until all of Limit is there again
}

// RateLimitStatus is what a caller has left, at the level of its limits that has least.
type RateLimitStatus struct{ Requests, Tokens Allowance }
