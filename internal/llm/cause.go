package llm

// Cause is a kind of failure of a provider, in the word by which an alias says after which of them the next target is
// asked.
type Cause string

// The causes.
const (
	CauseUnreachable    Cause = "unreachable"     // no connection
	CauseTimeout        Cause = "timeout"         // no byte in time, or a gateway before the provider gave up
	CauseBrokenOff      Cause = "broken_off"      // the answer ended before it was complete, or by a failure
	CauseBadAnswer      Cause = "bad_answer"      // the answer is not the protocol
	CauseServerError    Cause = "server_error"    // 500, 502, 408, or an error in place of the answer
	CauseOverloaded     Cause = "overloaded"      // 503, 529
	CauseRateLimited    Cause = "rate_limited"    // 429
	CauseQuota          Cause = "quota"           // the gateway's account at the provider has no money left
	CauseCredentials    Cause = "credentials"     // 401, or there are none to show
	CauseForbidden      Cause = "forbidden"       // 403
	CauseModelNotFound  Cause = "model_not_found" // 404
	CauseMaxPrice       Cause = "max_price"       // nobody serves the model within the highest price of the request
	CauseContextLength  Cause = "context_length"  // the request is longer than the context window
	CauseContentPolicy  Cause = "content_policy"  // the provider's policy refuses what the request or the answer says
	CauseInvalidRequest Cause = "invalid_request" // 400, 413, 422
)

// Causes are all causes. A budget of the caller's is none: what it refuses is sent nowhere.
func Causes() []Cause {
	return []Cause{
		CauseUnreachable, CauseTimeout, CauseBrokenOff, CauseBadAnswer, CauseServerError, CauseOverloaded,
		CauseRateLimited, CauseQuota, CauseCredentials, CauseForbidden, CauseModelNotFound, CauseMaxPrice,
		CauseContextLength, CauseContentPolicy, CauseInvalidRequest,
	}
}
