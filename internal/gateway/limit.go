package gateway

import (
	"fmt"
	"net/http"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// defaultOutput is how many output tokens are reserved if the client sets no cap. Most answers are shorter; a longer
// one counts in full when it has been received.
const defaultOutput = 1024

// reserveLimits inserts the stored conversation into the body and reserves the request in the limits of its key,
// account, end user and tags and of the installation, in all of them or in none.
//
// Stage 6: limits.
func (c *call) reserveLimits() error {
	if err := c.recall(); err != nil {
		return err
	}
	return c.server.limits.Reserve(c.r.Context(), &c.limited, limitedCaller(c), c.estimateTokens())
}

// limitedCaller returns the caller with the limits of its end user and tags.
func limitedCaller(c *call) ratelimit.Caller {
	caller := ratelimit.CallerOf(c.principal)
	caller.Parts = c.principal.PartLimits(&c.own.attribution)
	return caller
}

// lookAtLimits refuses a request if its caller has exhausted a limit, before the stored conversation is read. It
// reserves nothing, because the size of the request is not known yet.
func (c *call) lookAtLimits() error {
	return c.server.limits.Look(limitedCaller(c), c.estimateTokens())
}

// estimateTokens returns how many tokens are reserved for the request.
func (c *call) estimateTokens() int64 {
	if c.Op.Free {
		return 0
	}
	output := int64(0)
	if !c.Op.Silent {
		output = c.Head.MaxOutput
		if most, _ := c.table.MaxOutput(&c.targets[0]); output == 0 {
			output = min(defaultOutput, most)
		}
	}
	return ratelimit.Estimate(int64(len(c.Body)), output, c.Head.Choices)
}

// settleLimits replaces the reserved tokens by those used, once, before the client can know that its request has ended.
func (c *call) settleLimits() {
	if c.late.shared == nil { // otherwise the last late attempt settles
		c.limited.Settle(c.spent.tokens)
	}
}

// countRejected counts the attempts of a request against the caller if they cost nothing and the last one was rejected
// for the request's own fault, or its client left.
func (a *attempt) countRejected(f *provider.Failure) {
	c := a.call
	if !c.spent.costs && (c.plan.Rejected(f) || c.client.Gone()) {
		c.server.limits.Rejected(ratelimit.CallerOf(c.principal), int64(len(c.spent.models)))
	}
}

// admitUnavailable refuses a request if its target is down, no other target is left, and its caller has sent such
// requests too often, because each leaves a row in the ledger.
func (s *Server) admitUnavailable(p *account.Principal, plan *route.Plan) error {
	if !plan.Rests(s.now()) {
		return nil
	}
	err := s.limits.AdmitUnavailable(ratelimit.CallerOf(p))
	if err == nil {
		return nil
	}
	return &llm.Error{
		Code: llm.CodeProviderUnavailable, Err: err,
		Message: fmt.Sprintf("The provider %s is unavailable. Try again in a moment.", plan.Target().Provider.Name()),
	}
}

// commonHeaders sets the headers of every reply.
func (c *call) commonHeaders(h http.Header, id string) {
	left := c.rateLimitStatus()
	c.Dialect.CommonHeaders(h, id, c.server.now(), &left)
}

// rateLimitStatus returns the caller's remaining limits: as of the request's admission, or the node's current values if
// it was refused before.
func (c *call) rateLimitStatus() llm.RateLimitStatus {
	switch {
	case c.limited.Asked():
		return c.limited.Status()
	case c.principal != nil:
		return c.server.limits.Status(ratelimit.CallerOf(c.principal))
	}
	return llm.RateLimitStatus{}
}
