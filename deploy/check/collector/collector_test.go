// Package collector_test exports traces and metrics to OpenTelemetry's collector
// (https://github.com/open-telemetry/opentelemetry-collector).
package collector_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// sink is the collector's exporter. It keeps what the collector has accepted.
type sink struct {
	mu    sync.Mutex
	raw   bytes.Buffer
	spans []*trace.Span
	about map[string]string
	last  []*metric.Metric
}

// Start implements component.Component.
func (s *sink) Start(context.Context, component.Host) error { return nil }

// Shutdown implements component.Component.
func (s *sink) Shutdown(context.Context) error { return nil }

// Capabilities implements consumer.Traces and consumer.Metrics.
func (s *sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeTraces implements consumer.Traces.
func (s *sink) ConsumeTraces(_ context.Context, all ptrace.Traces) error {
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(all)
	if err != nil {
		return err
	}
	var data trace.TracesData
	if err := proto.Unmarshal(b, &data); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(b)
	for _, of := range data.ResourceSpans {
		s.about = harness.AttributesOf(of.Resource.Attributes)
		for _, in := range of.ScopeSpans {
			s.spans = append(s.spans, in.Spans...)
		}
	}
	return nil
}

// ConsumeMetrics implements consumer.Metrics.
func (s *sink) ConsumeMetrics(_ context.Context, all pmetric.Metrics) error {
	b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(all)
	if err != nil {
		return err
	}
	var data metric.MetricsData
	if err := proto.Unmarshal(b, &data); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
	for _, of := range data.ResourceMetrics {
		for _, in := range of.ScopeMetrics {
			s.last = append(s.last, in.Metrics...)
		}
	}
	return nil
}

// Received implements harness.Telemetry.
func (s *sink) Received() (spans []*trace.Span, about map[string]string, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spans, s.about, bytes.Clone(s.raw.Bytes())
}

// Metric implements harness.Telemetry.
func (s *sink) Metric(name string) *metric.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.last {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// factories returns the collector's own receiver, and the sink as its only exporter.
func (s *sink) factories() (f otelcol.Factories, err error) {
	f.Telemetry = telemetry.NewFactory(func() component.Config { return &struct{}{} })
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](exporter.NewFactory(component.MustNewType("sink"),
		func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			return s, nil
		}, component.StabilityLevelStable),
		exporter.WithMetrics(func(context.Context, exporter.Settings, component.Config) (exporter.Metrics, error) {
			return s, nil
		}, component.StabilityLevelStable)))
	return f, err
}

// start starts a collector, which stops when the test ends, and returns its address.
func (s *sink) start(t *testing.T) string {
	t.Helper()
	l := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	must.Do(t, l.Close())
	c := must.Get(otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: s.factories, BuildInfo: component.NewDefaultBuildInfo(), DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {sink: {}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [sink]}, metrics: {receivers: [otlp], exporters: [sink]}}}
`, address)},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	}))(t)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	t.Cleanup(func() {
		c.Shutdown()
		must.Do(t, <-ended)
	})
	harness.Await(t, "the collector", func() bool { return c.GetState() == otelcol.StateRunning || len(ended) > 0 })
	return "http://" + address
}

// TestCollectorShowsRequestsAsTheLedgerDoes exports the traces and metrics of all kinds of requests to a collector.
func TestCollectorShowsRequestsAsTheLedgerDoes(t *testing.T) {
	t.Parallel()
	s := &sink{}
	harness.CheckTelemetry(t, s.start(t), s)
}
