package provider

import "cmp"

// Traces says how a provider takes part in traces.
type Traces struct {
	Name  string // the provider's name in traces; empty means that of its options
	Taken bool   // the provider is sent the trace context of attempts
}

// TraceName returns the provider's name in OpenTelemetry's conventions for generative AI.
func (p *Provider) TraceName() string { return cmp.Or(p.opts.Traces.Name, p.opts.Name) }

// TakesTraces reports whether the provider is sent the trace context of attempts.
func (p *Provider) TakesTraces() bool { return p.opts.Traces.Taken }
