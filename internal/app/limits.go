package app

import (
	"weir/internal/admin"
	"weir/internal/ratelimit"
)

// openLimits creates the rate limiter.
func (g *instance) openLimits() (err error) {
	o := g.options
	limits := ratelimit.Options{
		Nodes: g.ledger.Budgets().Alive, Policy: admin.PolicyOf(&o.Config), Valkey: o.Config.Valkey, Now: o.Now,
		Log: o.Log,
	}
	if o.Limits != nil {
		o.Limits(&limits)
	}
	g.limits, err = ratelimit.New(limits)
	if err == nil {
		g.onClose(g.limits.Close)
	}
	return err
}
