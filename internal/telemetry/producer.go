package telemetry

import (
	"context"
	"encoding/hex"
	"fmt"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Producer returns all registered metrics for an exporter of OpenTelemetry, with the same names and labels.
func (m *Metrics) Producer() metric.Producer {
	return producer{bridge.NewMetricProducer(bridge.WithGatherer(m.registry))}
}

// producer corrects the exemplars of the bridge, whose trace ids are hexadecimal text where receivers want 16 bytes
// (https://github.com/open-telemetry/opentelemetry-go-contrib, bridges/prometheus v0.72.0, 2026-11-29).
type producer struct{ metric.Producer }

// Produce implements metric.Producer.
func (p producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	all, err := p.Producer.Produce(ctx)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	for i := range all {
		for j := range all[i].Metrics {
			if h, ok := all[i].Metrics[j].Data.(metricdata.Histogram[float64]); ok { // only histograms have exemplars
				correct(h.DataPoints)
			}
		}
	}
	return all, nil
}

func correct(points []metricdata.HistogramDataPoint[float64]) {
	for i := range points {
		for j := range points[i].Exemplars {
			e := &points[i].Exemplars[j]
			e.TraceID, _ = hex.DecodeString(string(e.TraceID)) // Observe wrote it
		}
	}
}
