package llm

// Cause is a kind of failure of a provider. An alias lists the causes after which it falls back to the next target.
type Cause string

// The causes.
const (
	CauseUnreachable    Cause = "unreachable"     // no connection
	CauseTimeout        Cause = "timeout"         // no byte in time, or a gateway before the provider gave up
	CauseBrokenOff      Cause = "broken_off"      // the answer ended before it was complete, or by a failure
	CauseBadAnswer      Cause = "bad_answer"      // the answer violates the protocol
	CauseServerError    Cause = "server_error"    // 500, 502, 408, or an error in place of the answer
	CauseOverloaded     Cause = "overloaded"      // 503, 529
	CauseRateLimited    Cause = "rate_limited"    // 429
	CauseQuota          Cause = "quota"           // the gateway's account at the provider has no money left
	CauseCredentials    Cause = "credentials"     // 401, or the gateway has no credentials for the provider
	CauseForbidden      Cause = "forbidden"       // 403
	CauseModelNotFound  Cause = "model_not_found" // 404
	CauseMaxPrice       Cause = "max_price"       // no seller of the model is within the highest price of the request
	CauseContextLength  Cause = "context_length"  // the request is longer than the context window
	CauseContentPolicy  Cause = "content_policy"  // refused by the provider's content policy
	CauseInvalidRequest Cause = "invalid_request" // 400, 413, 422
)

// Causes returns all causes. An exceeded budget of the client is not among them, because such a request is sent to no
// provider.
func Causes() []Cause {
	return []Cause{
		CauseUnreachable, CauseTimeout, CauseBrokenOff, CauseBadAnswer, CauseServerError, CauseOverloaded,
		CauseRateLimited, CauseQuota, CauseCredentials, CauseForbidden, CauseModelNotFound, CauseMaxPrice,
		CauseContextLength, CauseContentPolicy, CauseInvalidRequest,
	}
}
