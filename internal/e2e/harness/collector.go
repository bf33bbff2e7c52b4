package harness

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector receives traces and metrics by OTLP over HTTP.
type Collector struct {
	URL string

	mu    sync.Mutex
	bytes bytes.Buffer
	spans []*trace.Span
	about map[string]string // attributes of the resource
	last  []*metric.Metric  // the last export of metrics
}

// NewCollector starts a collector, which stops when the test ends.
func NewCollector(t testing.TB) *Collector {
	c := &Collector{}
	s := httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

func (c *Collector) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.URL.Path == "/v1/metrics" {
		c.receiveMetrics(w, body)
		return
	}
	var request collector.ExportTraceServiceRequest
	if err == nil && r.URL.Path == "/v1/traces" {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes.Write(body)
	for _, of := range request.ResourceSpans {
		c.about = AttributesOf(of.Resource.Attributes)
		for _, in := range of.ScopeSpans {
			c.spans = append(c.spans, in.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) receiveMetrics(w http.ResponseWriter, body []byte) {
	var request metrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		http.Error(w, "no metrics", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
	for _, of := range request.ResourceMetrics {
		for _, in := range of.ScopeMetrics {
			c.last = append(c.last, in.Metrics...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Metric returns a metric of the last export; nil if it has none of that name.
func (c *Collector) Metric(name string) *metric.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.last {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Received returns the spans so far, the attributes of their resource, and all bytes.
func (c *Collector) Received() (spans []*trace.Span, about map[string]string, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans, c.about, bytes.Clone(c.bytes.Bytes())
}

// AttributesOf returns attributes as text.
func AttributesOf(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		default:
			all[a.Key] = a.Value.String()
		}
	}
	return all
}
