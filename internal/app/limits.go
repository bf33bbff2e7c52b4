package app

import (
	"weir/internal/config"
	"weir/internal/ratelimit"
)

// openLimits creates the rate limiter.
func (g *instance) openLimits() (err error) {
	o := g.options
	limits := ratelimit.Options{
		Nodes: g.ledger.Budgets().Alive, Policy: policyOf(&o.Config), Valkey: o.Config.Valkey, Now: o.Now, Log: o.Log,
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

// policyOf returns the limits of the configuration.
func policyOf(cfg *config.Config) ratelimit.Policy {
	l := &cfg.Limits
	return ratelimit.Policy{
		Installation: ratelimit.Limits{RPM: l.RPM, TPM: l.TPM, Concurrency: l.Concurrency},
		PerKey:       ratelimit.Limits(l.PerKey),
		PerAccount:   ratelimit.Limits(l.PerAccount),
		Rejected:     ratelimit.Rejections{PerKey: l.RejectedPerKey, PerAccount: l.RejectedPerAccount},
	}
}
