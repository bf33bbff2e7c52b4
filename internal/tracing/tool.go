package tracing

import (
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/trace"

	"weir/internal/ledger"
)

// ToolCall describes a call of a tool as it begins.
type ToolCall struct {
	Address  string // of the server
	Revision string // of the protocol; empty if it is not known yet
}

// ToolCall begins the span of a call, which the ledger has opened
// (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md, 2026-11-28).
func (q *Request) ToolCall(a *ledger.Attempt, c *ToolCall) *Attempt {
	if q == nil {
		return nil
	}
	const method = "tools/call"
	attributes := []attribute.KeyValue{
		attribute.String("mcp.method.name", method), attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", a.Model), attribute.String("weir.provider", a.Provider),
		attribute.Int("weir.attempt", int(a.ID.N)),
	}
	if c.Revision != "" {
		attributes = append(attributes, attribute.String("mcp.protocol.version", c.Revision))
	}
	if u, err := url.Parse(c.Address); err == nil {
		attributes = append(attributes, attribute.String("server.address", u.Hostname()), portOf(u))
	}
	_, span := q.tracer.spans.Start(q.context, method+" "+a.Model, api.WithSpanKind(api.SpanKindClient),
		api.WithTimestamp(a.Opened), api.WithAttributes(attributes...))
	return &Attempt{request: q, names: q.tracer.names, span: span, tool: true}
}

// Message begins the span of a request with one message of the Model Context Protocol. Its parent is the span that the
// message names in _meta, else that of the headers.
func (t *Tracer) Message(r *http.Request, route, id, parent string, arrived time.Time) *Request {
	if t == nil {
		return nil
	}
	if parent != "" {
		named := *r
		named.Header = r.Header.Clone()
		named.Header.Set("Traceparent", parent)
		r = &named
	}
	return t.Request(r, route, id, arrived)
}
