package llm

import (
	"fmt"
	"time"
)

const (
	// longestRetry is the longest Retry-After that OpenAI's and Vercel's SDKs and LangChain all wait for. After a
	// longer one they retry at once or give up; Anthropic's SDKs sleep for any duration (docs/limits.md).
	longestRetry = 59 * time.Second
	// limitWindow is the longest wait for a limit per minute: its windows are rounded up to a second.
	limitWindow = 61 * time.Second
)

// RetrySeconds returns a wait for Retry-After: in seconds, rounded up, at most 59.
func RetrySeconds(wait time.Duration) int64 { return seconds(min(wait, longestRetry)) }

// RetrySeconds returns RetryAfter for the header of that name. It does not shorten a provider's value of more than a
// minute: WaitsLong keeps SDKs from sleeping through it.
func (e *Error) RetrySeconds() int64 {
	if e.RetryTold && e.WaitsLong() {
		return seconds(e.RetryAfter)
	}
	return RetrySeconds(e.RetryAfter)
}

// WaitsLong reports whether the wait is too long to delay a request: SDKs are then told not to retry.
func (e *Error) WaitsLong() bool { return e.RetryAfter > limitWindow }

// TryAgain returns a sentence with the wait. Programs parse the seconds after "Try again in" (LangChain up to 60). A
// wait of a minute has a sentence of its own, because the client is told to try again in 59 seconds, which is too
// early.
func TryAgain(wait time.Duration) string {
	if wait <= longestRetry || wait > limitWindow {
		return fmt.Sprintf("Try again in %s.", inSeconds(seconds(wait)))
	}
	first := RetrySeconds(wait)
	return fmt.Sprintf("Try again in %s, and if that is refused, %s later: the whole wait is %s.", inSeconds(first),
		inSeconds(seconds(wait)-first), inSeconds(seconds(wait)))
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func inSeconds(n int64) string {
	if n == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", n)
}
