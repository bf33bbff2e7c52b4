package gateway

import (
	"fmt"
	"time"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/llm"
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
func (in *intake) reserveLimits() error {
	if err := in.recall(); err != nil {
		return err
	}
	return in.server.limits.Reserve(in.r.Context(), &in.limited, in.caller(), in.estimateTokens())
}

// caller returns the caller with the limits of its end user and tags.
func (in *intake) caller() ratelimit.Caller {
	caller := ratelimit.CallerOf(in.principal)
	caller.Parts = in.principal.PartLimits(&in.own.attribution)
	return caller
}

// estimateTokens returns how many tokens are reserved for the request.
func (in *intake) estimateTokens() int64 {
	if in.Op.Free {
		return 0
	}
	output := int64(0)
	if !in.Op.Silent {
		output = in.Head.MaxOutput
		if most, _ := in.table.MaxOutput(&in.targets[0]); output == 0 {
			output = min(defaultOutput, most)
		}
	}
	return ratelimit.Estimate(int64(len(in.Body)), output, in.Head.Choices)
}

// settleLimits replaces the reserved tokens by those used, once, before the client can know that its request has ended.
func (x *exchange) settleLimits() {
	if x.late.shared == nil { // otherwise the last late attempt settles
		x.in.limited.Settle(x.spent.tokens)
	}
}

// admitUnavailable refuses a request if its target is down, no other target is left, and its caller has sent such
// requests too often, because each leaves a row in the ledger.
func (s *Server) admitUnavailable(p *account.Principal, plan *route.Plan, now time.Time) error {
	if !plan.Rests(now) {
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
func (in *intake) commonHeaders(f dialect.Fields, id string) {
	left := in.rateLimitStatus()
	var now time.Time
	if len(in.Dialect.Limits) > 0 {
		now = in.server.now()
	}
	in.Dialect.CommonHeaders(f, id, now, &left)
}

// rateLimitStatus returns the caller's remaining limits: as of the request's admission, or the node's current values if
// it was refused before.
func (in *intake) rateLimitStatus() llm.RateLimitStatus {
	switch {
	case in.limited.Asked():
		return in.limited.Status()
	case in.principal != nil:
		return in.server.limits.Status(ratelimit.CallerOf(in.principal))
	}
	return llm.RateLimitStatus{}
}
