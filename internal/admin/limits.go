package admin

import (
	"weir/internal/config"
	"weir/internal/ratelimit"
)

// PolicyOf returns the limits of the configuration.
func PolicyOf(cfg *config.Config) ratelimit.Policy {
	l := &cfg.Limits
	return ratelimit.Policy{
		Installation: ratelimit.Limits{RPM: l.RPM, TPM: l.TPM, Concurrency: l.Concurrency},
		PerKey:       ratelimit.Limits(l.PerKey),
		PerAccount:   ratelimit.Limits(l.PerAccount),
		Rejected:     ratelimit.Rejections{PerKey: l.RejectedPerKey, PerAccount: l.RejectedPerAccount},
	}
}
