package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// MetricExport exports metrics by OTLP over HTTP.
type MetricExport struct{ provider *metric.MeterProvider }

// NewMetricExport exports the metrics of a producer in the background, every minute unless the environment says
// otherwise (OTEL_METRIC_EXPORT_INTERVAL, OTEL_METRIC_EXPORT_TIMEOUT, in milliseconds; the SDK reads them), until Stop.
func NewMetricExport(ctx context.Context, o Options, from metric.Producer) (*MetricExport, error) {
	var to []otlpmetrichttp.Option
	if o.Endpoint != "" {
		to = append(to, otlpmetrichttp.WithEndpointURL(o.url("metrics")))
	}
	exporter, err := otlpmetrichttp.New(ctx, to...)
	if err != nil {
		return nil, fmt.Errorf("export metrics: %w", err)
	}
	reader := metric.NewPeriodicReader(&metricExporter{exporter, failures{log: o.Log, what: "metrics"}},
		metric.WithProducer(from))
	return &MetricExport{metric.NewMeterProvider(metric.WithReader(reader),
		metric.WithResource(o.resource(ctx)))}, nil
}

// Stop exports the metrics once more, and stops.
func (e *MetricExport) Stop(ctx context.Context) error {
	if err := e.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export metrics: %w", err)
	}
	return nil
}

// metricExporter logs the failures of an exporter.
type metricExporter struct {
	metric.Exporter
	failures failures
}

// Export implements metric.Exporter. It returns no error, because the SDK would pass that to a global handler.
func (e *metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	e.failures.report(e.Exporter.Export(ctx, all))
	return nil
}
