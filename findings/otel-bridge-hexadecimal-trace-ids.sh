#!/usr/bin/env bash
# OpenTelemetry's bridge from Prometheus (Go, go.opentelemetry.io/contrib/bridges/prometheus v0.72.0) takes trace_id and
# span_id of an exemplar for bytes: a trace id of 32 hexadecimal digits, as Prometheus's own exporter of OpenTelemetry
# writes them, becomes one of 32 bytes, where OTLP has 16 bytes for a trace and 8 for a span
# (https://github.com/open-telemetry/opentelemetry-proto, metrics.proto, Exemplar). One would expect decoded bytes: the
# exporter (go.opentelemetry.io/otel/exporters/prometheus) encodes them, and the collector's Prometheus receiver decodes
# them. An exemplar that comes through the bridge leads to no trace.
#
# Output seen on 2026-11-29:
#   trace id: 32 bytes, "0af7651916cd43dd8448eb211c80319c"
#   span id: 16 bytes, "b7ad6b7169203331"
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS

cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func main() {
	registry := prometheus.NewRegistry()
	seconds := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Help: "Seconds.", Buckets: []float64{1}})
	registry.MustRegister(seconds)
	seconds.(prometheus.ExemplarObserver).ObserveWithExemplar(0.5, prometheus.Labels{
		"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331",
	})
	all, err := bridge.NewMetricProducer(bridge.WithGatherer(registry)).Produce(context.Background())
	if err != nil {
		panic(err)
	}
	e := all[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0].Exemplars[0]
	fmt.Printf("trace id: %d bytes, %q\nspan id: %d bytes, %q\n", len(e.TraceID), e.TraceID, len(e.SpanID), e.SpanID)
}
GO
go mod init look >/dev/null 2>&1
go get go.opentelemetry.io/contrib/bridges/prometheus@v0.72.0 github.com/prometheus/client_golang@v1.25.0 \
  go.opentelemetry.io/otel/sdk/metric@v1.47.0 >/dev/null 2>&1

go run . | tee seen
diff seen - <<'WANT'
trace id: 32 bytes, "0af7651916cd43dd8448eb211c80319c"
span id: 16 bytes, "b7ad6b7169203331"
WANT
