// Package tracing traces requests and attempts by OpenTelemetry, and exports the spans by OTLP over HTTP. A request is
// a SERVER span; each of its attempts is a CLIENT span below it, with the names of the semantic conventions for
// generative AI (https://github.com/open-telemetry/semantic-conventions-genai, 2026-11-28). Spans hold no content of
// requests and answers. Metrics of a producer are exported in the same way.
//
// A nil Tracer, Request or Attempt traces nothing and allocates nothing.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Options configures a Tracer or a MetricExport.
type Options struct {
	// Endpoint is the base URL of a collector, such as http://localhost:4318; empty for that of the environment.
	Endpoint string
	// Convention names the attributes.
	Convention Convention
	Version    string // of the program
	Now        func() time.Time
	Log        *slog.Logger
}

// Signal is a kind of exported data, as variables of the environment name it.
type Signal string

// The signals.
const (
	Traces  Signal = "TRACES"
	Metrics Signal = "METRICS"
)

// IsOn reports whether a signal is exported: an endpoint is set in the configuration or in the environment, and the
// environment does not switch it off
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/, 2026-11-29). The exporters read
// the endpoints of the environment themselves.
func IsOn(s Signal, endpoint string, getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_"+string(s)+"_EXPORTER") == "none" {
		return false
	}
	return endpoint != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		getenv("OTEL_EXPORTER_OTLP_"+string(s)+"_ENDPOINT") != ""
}

// url returns the address for a signal.
func (o *Options) url(signal string) string {
	return strings.TrimSuffix(o.Endpoint, "/") + "/v1/" + signal
}

// resource describes the gateway.
func (o *Options) resource(ctx context.Context) *resource.Resource {
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(
			attribute.String("service.name", "weir"), attribute.String("service.version", o.Version),
		),
		resource.WithFromEnv(), // the last one wins
	)
	if err != nil {
		o.Log.Warn("the attributes of the resource are incomplete", "err", err)
	}
	return about
}

// Tracer creates spans and exports them. Its methods may be called concurrently.
type Tracer struct {
	provider *trace.TracerProvider
	spans    api.Tracer
	names    *names
	now      func() time.Time
}

// New returns a tracer. It exports to the endpoint in the background; Stop exports the rest. Sampling, the size of
// batches and the bounds of spans are those of the environment, as the SDK reads it (OTEL_TRACES_SAMPLER, OTEL_BSP_…,
// OTEL_SPAN_…); a request of a sampled trace is sampled.
func New(ctx context.Context, o Options) (*Tracer, error) {
	var to []otlptracehttp.Option
	if o.Endpoint != "" {
		to = append(to, otlptracehttp.WithEndpointURL(o.url("traces")))
	}
	exporter, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(&export{exporter, failures{log: o.Log, what: "traces"}}),
		trace.WithResource(o.resource(ctx)))
	return &Tracer{
		provider: provider, names: o.Convention.names(), now: o.Now,
		spans: provider.Tracer("weir", api.WithInstrumentationVersion(o.Version),
			api.WithSchemaURL(o.Convention.names().schema)),
	}, nil
}

// Stop exports the spans that have ended, and stops.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// export logs the failures of an exporter.
type export struct {
	trace.SpanExporter
	failures failures
}

// ExportSpans implements trace.SpanExporter. It returns no error, because the SDK would pass that to a global handler.
func (e *export) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	e.failures.report(e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// failures logs a failure once, until the next success.
type failures struct {
	log    *slog.Logger
	what   string
	failed atomic.Bool
}

func (f *failures) report(err error) {
	switch failed := err != nil; {
	case failed == f.failed.Swap(failed):
	case failed:
		f.log.Warn("telemetry cannot be exported; it is lost until the collector answers", "what", f.what, "err", err)
	default:
		f.log.Info("telemetry is exported again", "what", f.what)
	}
}

// Request is the span of a request.
type Request struct {
	tracer  *Tracer
	context context.Context //nolint:containedctx // it holds the span, as the API wants it
	span    api.Span
}

// Request begins the span of a request, which has that id and arrived at a route such as /v1/chat. Its parent is the
// client's span if the request names one.
func (t *Tracer) Request(r *http.Request, route, id string, arrived time.Time) *Request {
	if t == nil {
		return nil
	}
	parent := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.spans.Start(parent, r.Method+" "+route, api.WithSpanKind(api.SpanKindServer),
		api.WithTimestamp(arrived), api.WithAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
			attribute.String("url.scheme", schemeOf(r)),
			attribute.String("weir.request_id", id),
			attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")),
		))
	return &Request{tracer: t, context: ctx, span: span}
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// Known adds the ids of the account and the key.
func (q *Request) Known(account, key string) {
	if q == nil {
		return
	}
	q.span.SetAttributes(attribute.String("weir.account", account), attribute.String("weir.key", key))
}

// Asked adds the requested model, whose name was checked.
func (q *Request) Asked(model string) {
	if q == nil {
		return
	}
	q.span.SetAttributes(attribute.String("weir.requested_model", model))
}

// Paused notes a pause before the next attempt.
func (q *Request) Paused(d time.Duration) {
	if q == nil || d <= 0 {
		return
	}
	q.span.AddEvent("pause", api.WithAttributes(attribute.Float64("weir.pause", d.Seconds())))
}

// Rescued notes that the next attempt continues an interrupted answer.
func (q *Request) Rescued() {
	if q == nil {
		return
	}
	q.span.AddEvent("rescue")
}

// Now returns the time for Waited; zero without a span.
func (q *Request) Now() time.Time {
	if q == nil {
		return time.Time{}
	}
	return q.tracer.now()
}

// leastWait is the least time of a step inside the gateway that has a span of its own.
const leastWait = time.Millisecond

// Waited adds a span of a step inside the gateway, such as journal, that began at a time and ends now, if it took long.
func (q *Request) Waited(step string, from time.Time) {
	if q == nil {
		return
	}
	to := q.tracer.now()
	if to.Sub(from) < leastWait {
		return
	}
	_, span := q.tracer.spans.Start(q.context, step, api.WithTimestamp(from))
	span.End(api.WithTimestamp(to))
}

// ID returns the id of the trace in hexadecimal; empty if it is not exported.
func (q *Request) ID() string {
	if q == nil {
		return ""
	}
	return idOf(q.span)
}

func idOf(s api.Span) string {
	c := s.SpanContext()
	if !c.IsSampled() {
		return ""
	}
	return c.TraceID().String()
}

// Failed notes the error code of the answer.
func (q *Request) Failed(code string) {
	if q == nil {
		return
	}
	q.span.SetAttributes(attribute.String("error.type", code))
}

// End ends the span with the HTTP status of the answer.
func (q *Request) End(status int) {
	if q == nil {
		return
	}
	q.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		q.span.SetStatus(errorStatus, "")
	}
	q.span.End(api.WithTimestamp(q.tracer.now()))
}
