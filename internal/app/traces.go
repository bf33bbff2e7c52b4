package app

import (
	"context"
	"log/slog"

	"weir/internal/tracing"
)

// openTraces exports traces and metrics if a collector is configured.
func (g *instance) openTraces(ctx context.Context) (err error) {
	o, t := g.options, &g.options.Config.Telemetry
	to := tracing.Options{
		Endpoint: t.OTLP, Convention: tracing.Convention(t.GenAI), Version: o.Version, Now: o.Now, Log: o.Log,
	}
	if tracing.IsOn(tracing.Metrics, t.OTLP, o.Getenv) {
		metrics, err := tracing.NewMetricExport(ctx, to, g.metrics.Producer())
		if err != nil {
			return err
		}
		g.onClose(stopping(o.Log, "metrics", metrics.Stop))
	}
	if tracing.IsOn(tracing.Traces, t.OTLP, o.Getenv) {
		if g.tracer, err = tracing.New(ctx, to); err != nil {
			return err
		}
		g.onClose(stopping(o.Log, "traces", g.tracer.Stop))
	}
	return nil
}

// stopping returns a function that stops an export within a bound. The collector may be gone, which is no failure of
// the gateway.
func stopping(log *slog.Logger, what string, stop func(context.Context) error) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := stop(ctx); err != nil {
			log.Warn("the last telemetry is lost", "what", what, "err", err)
		}
		return nil
	}
}
