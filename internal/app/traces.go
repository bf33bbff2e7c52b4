package app

import (
	"context"

	"weir/internal/tracing"
)

// openTraces creates the tracer if a collector is configured.
func (g *instance) openTraces(ctx context.Context) (err error) {
	o, t := g.options, &g.options.Config.Telemetry
	if !tracing.IsOn(t.OTLP, o.Getenv) {
		return nil
	}
	g.tracer, err = tracing.New(ctx, tracing.Options{
		Endpoint: t.OTLP, Convention: tracing.Convention(t.GenAI), Version: o.Version, Now: o.Now, Log: o.Log,
	})
	if err != nil {
		return err
	}
	g.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := g.tracer.Stop(ctx); err != nil { // the collector may be gone, which is no failure of the gateway
			o.Log.Warn("the last traces are lost", "err", err)
		}
		return nil
	})
	return nil
}
