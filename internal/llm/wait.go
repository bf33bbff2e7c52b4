package llm

import (
	"fmt"
	"time"
)

const (
	// longestRetry is the longest Retry-After that OpenAI's and Vercel's SDKs and LangChain all wait for. Beyond it they
	// ask again at once or give up, and Anthropic's SDKs sleep for whatever they are told (docs/limits.md).
	longestRetry = 59 * time.Second
	// limitWindow is the longest wait for a limit of so many a minute: its windows are rounded up to a second.
	limitWindow = 61 * time.Second
)

// RetrySeconds returns a wait as Retry-After tells it: in seconds, rounded up, and 59 at most.
func RetrySeconds(wait time.Duration) int64 { return seconds(min(wait, longestRetry)) }

// RetrySeconds returns RetryAfter as the header of that name tells it. What a provider told of more than a minute stays
// as it is: WaitsLong keeps SDKs from sleeping through it.
func (e *Error) RetrySeconds() int64 {
	if e.RetryTold && e.WaitsLong() {
		return seconds(e.RetryAfter)
	}
	return RetrySeconds(e.RetryAfter)
}

// WaitsLong reports whether the wait is longer than a request should be held back for: SDKs are told not to repeat it.
func (e *Error) WaitsLong() bool { return e.RetryAfter > limitWindow }

// TryAgain returns the sentence that tells a wait. Programs read the seconds behind "Try again in" (LangChain up to 60),
// so that a wait of a minute, which is told as 59 seconds, stands in a sentence of its own.
func TryAgain(wait time.Duration) string {
	if wait <= longestRetry || wait > limitWindow {
		return fmt.Sprintf("Try again in %s.", inSeconds(seconds(wait)))
	}
	return fmt.Sprintf("The wait is %s. Try again in %s.", inSeconds(seconds(wait)), inSeconds(RetrySeconds(wait)))
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func inSeconds(n int64) string {
	if n == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", n)
}
