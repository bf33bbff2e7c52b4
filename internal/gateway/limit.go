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

// defaultOutput is how many tokens of answer are reserved where the client gives
// no cap: most answers are shorter, and what a longer one has beyond it counts
// when it is there.
const defaultOutput = 1024

// reserveLimits puts what the request goes on from into its body, and takes what it needs of
// the limits of its key, its account, the installation, its end user and its tags: all of it or nothing.
//
// Stage 6: limits.
func (c *call) reserveLimits() error {
	if err := c.recall(); err != nil {
		return err
	}
	return c.server.limits.Reserve(c.r.Context(), &c.limited, limitedCaller(c), c.estimateTokens())
}

// limitedCaller is who asks, for whom and for what, as limits see it.
func limitedCaller(c *call) ratelimit.Caller {
	caller := ratelimit.CallerOf(c.principal)
	caller.Parts = c.principal.PartLimits(&c.own.attribution)
	return caller
}

// lookAtLimits refuses a request whose caller has nothing left of its limits, before what is
// kept is read for it. It takes nothing of them: how large the request is, is not known yet.
func (c *call) lookAtLimits() error {
	return c.server.limits.Look(limitedCaller(c), c.estimateTokens())
}

// estimateTokens is how many tokens are reserved for the request.
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

// settleLimits counts what was really used in place of what was reserved, once,
// before the client can know that its request has ended.
func (c *call) settleLimits() {
	if c.late.shared == nil { // else the last of its attempts does
		c.limited.Settle(c.spent.tokens)
	}
}

// countRejected counts the attempts of a request of which this one, the last, has failed by what was asked for, or
// because its client left at once, and which cost nothing.
func (a *attempt) countRejected(f *provider.Failure) {
	c := a.call
	if !c.spent.costs && (c.plan.Rejected(f) || c.client.gone()) {
		c.server.limits.Rejected(ratelimit.CallerOf(c.principal), int64(len(c.spent.models)))
	}
}

// admitUnavailable refuses a request whose last target is unavailable, where its caller has met that often enough: each
// leaves a row in the ledger.
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

// commonHeaders sets what every reply has.
func (c *call) commonHeaders(h http.Header, id string) {
	left := c.rateLimitStatus()
	c.Dialect.CommonHeaders(h, id, c.server.now(), &left)
}

// rateLimitStatus is what the caller has left: as it was told when the request was let
// in, or as it is known here where it did not come so far.
func (c *call) rateLimitStatus() llm.RateLimitStatus {
	switch {
	case c.limited.Asked():
		return c.limited.Status()
	case c.principal != nil:
		return c.server.limits.Status(ratelimit.CallerOf(c.principal))
	}
	return llm.RateLimitStatus{}
}
