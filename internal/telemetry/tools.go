package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ToolOutcome says how a call of an MCP server ended.
type ToolOutcome string

// The outcomes.
const (
	ToolOK          ToolOutcome = "ok"
	ToolError       ToolOutcome = "tool_error"     // the result says that the tool failed
	ToolProtocol    ToolOutcome = "protocol_error" // the server refused the call
	ToolTimeout     ToolOutcome = "timeout"
	ToolUnreachable ToolOutcome = "unreachable"
	ToolGone        ToolOutcome = "client_gone"
	ToolFailed      ToolOutcome = "failed" // a reset, an invalid or too long answer
)

// toolCalls counts the calls of MCP servers. The servers are those of the configuration.
type toolCalls struct {
	ended   *prometheus.CounterVec
	bytes   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newToolCalls(r *prometheus.Registry) toolCalls {
	t := toolCalls{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_mcp_calls_total", Help: "Calls of MCP servers that have ended, by outcome.",
		}, []string{"server", "outcome"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_mcp_call_bytes_total", Help: "Bytes of the arguments and results of calls of MCP servers.",
		}, []string{"server", "part"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_mcp_call_duration_seconds",
			Help: "Time from a call's opening to its end, by MCP server.", Buckets: longBuckets(),
		}, []string{"server"}),
	}
	r.MustRegister(t.ended, t.bytes, t.seconds)
	return t
}

// ToolCall counts a call of an MCP server. arguments and result are bytes; trace is the id of its trace, or empty.
func (m *Metrics) ToolCall(server string, o ToolOutcome, took time.Duration, arguments, result int64, trace string) {
	m.tools.ended.WithLabelValues(server, string(o)).Inc()
	m.tools.bytes.WithLabelValues(server, "arguments").Add(float64(max(arguments, 0)))
	m.tools.bytes.WithLabelValues(server, "result").Add(float64(max(result, 0)))
	observe(m.tools.seconds.WithLabelValues(server), took, trace)
}
