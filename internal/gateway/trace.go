package gateway

import (
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/tracing"
)

// traceHeaders are the W3C trace context headers (https://www.w3.org/TR/trace-context/).
var traceHeaders = [...]string{"Traceparent", "Tracestate"}

// mostTrace bounds the value of a trace header. The standard requires vendors to accept 512 characters.
const mostTrace = 1 << 10

// traceAttempt begins the span of an attempt that was opened.
func (x *exchange) traceAttempt(a *attempt) {
	in := x.in
	if in.trace == nil {
		return
	}
	a.trace = in.trace.Attempt(a.hold.Attempt(), &tracing.Call{
		Op: a.Op.Op, System: a.Target.Provider.TraceName(), Address: a.Target.Provider.BaseURL(),
		MaxOutput: a.Head.MaxOutput, Choices: a.Head.Choices,
	})
}

// sentHeaders returns the headers that are sent with an attempt besides the gateway's own: those of the client that
// its vendor reads, and the trace context if the provider may have it: that of the attempt's span, or else the
// client's.
func (a *attempt) sentHeaders() []dialect.Header {
	sent := a.Passed()
	if !a.Target.Provider.TakesTraces() {
		return sent
	}
	from := a.in.r.Header
	if a.trace != nil {
		from = a.trace.Header()
	}
	return appendTrace(sent, from)
}

// appendTrace appends the trace context of a request's headers.
func appendTrace(sent []dialect.Header, from http.Header) []dialect.Header {
	for _, name := range traceHeaders {
		values := from[name]
		if len(values) == 0 {
			if name == traceHeaders[0] {
				break // a tracestate without a traceparent has no meaning
			}
			continue
		}
		if value := strings.Join(values, ","); len(value) <= mostTrace && isPrintable(value) {
			sent = append(sent, dialect.Header{Name: name, Value: value})
		}
	}
	return sent
}
