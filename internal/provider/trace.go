package provider

import "cmp"

// TraceName returns the provider's name in OpenTelemetry's conventions for generative AI.
func (p *Provider) TraceName() string { return cmp.Or(p.opts.TraceName, p.opts.Name) }

// TakesTraces reports whether the provider is sent the trace context of attempts.
func (p *Provider) TakesTraces() bool { return p.opts.TakesTraces }
