package tracing

import (
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"

	"weir/internal/ledger"
	"weir/internal/llm"
)

const (
	errorStatus = codes.Error
	maxReplyID  = 256 // bytes
)

// Call describes an attempt as it begins.
type Call struct {
	Op llm.Op
	// System is the provider's name in the conventions.
	System string
	// Address is the base URL of the provider.
	Address   string
	MaxOutput int64 // tokens; 0 for no cap
	Choices   int64 // requested answers
}

// Attempt is the span of an attempt.
type Attempt struct {
	request *Request
	names   *names
	span    api.Span
	streams bool
	tool    bool // the call of a tool, which uses no tokens
}

// Attempt begins the span of an attempt, which the ledger has opened.
func (q *Request) Attempt(a *ledger.Attempt, c *Call) *Attempt {
	if q == nil {
		return nil
	}
	operation := operationOf(c.Op)
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.provider.name", c.System),
		attribute.String("gen_ai.request.model", a.Model), attribute.Bool("gen_ai.request.stream", a.Stream),
		attribute.String("weir.provider", a.Provider), attribute.Int("weir.attempt", int(a.ID.N)),
	}
	if u, err := url.Parse(c.Address); err == nil {
		attributes = append(attributes, attribute.String("server.address", u.Hostname()), portOf(u))
	}
	if c.MaxOutput > 0 {
		attributes = append(attributes, attribute.Int64("gen_ai.request.max_tokens", c.MaxOutput))
	}
	if c.Choices > 1 {
		attributes = append(attributes, attribute.Int64("gen_ai.request.choice.count", c.Choices))
	}
	if a.ID.N > 1 {
		attributes = append(attributes, attribute.Int("http.request.resend_count", int(a.ID.N)-1))
	}
	_, span := q.tracer.spans.Start(q.context, operation+" "+a.Model, api.WithSpanKind(api.SpanKindClient),
		api.WithTimestamp(a.Opened), api.WithAttributes(attributes...))
	return &Attempt{request: q, names: q.tracer.names, span: span, streams: a.Stream}
}

func portOf(u *url.URL) attribute.KeyValue {
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
	case u.Scheme == "http":
		port = 80
	default:
		port = 443
	}
	return attribute.Int("server.port", port)
}

// operationOf returns the name of an operation in the conventions; where they have none, a name of the same form.
func operationOf(op llm.Op) string {
	switch op {
	case llm.OpChat, llm.OpEmbed:
		return string(op)
	case llm.OpCountTokens:
		return "count_tokens"
	case llm.OpCompact:
		return "compact"
	case llm.OpImage, llm.OpImageEdit:
		return "generate_content"
	case llm.OpSpeech:
		return "speech"
	}
	return "transcription"
}

// ID returns the id of the trace in hexadecimal; empty if it is not exported.
func (a *Attempt) ID() string {
	if a == nil {
		return ""
	}
	return idOf(a.span)
}

// Header returns the headers that make the provider's spans children of this one; none without a span.
func (a *Attempt) Header() http.Header {
	if a == nil {
		return nil
	}
	h := http.Header{}
	ctx := api.ContextWithSpan(a.request.context, a.span)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	return h
}

// End ends the span as the ledger settles the attempt, with its cost and the account's charge; nil for an unknown
// amount.
func (a *Attempt) End(s *ledger.Settlement, cost, charge *llm.Money) {
	if a == nil {
		return
	}
	set := []attribute.KeyValue{
		attribute.String("weir.outcome", string(s.Outcome)), attribute.String("weir.provenance", string(s.Provenance)),
	}
	switch {
	case !a.tool:
		set = append(set, a.usage(&s.Usage)...)
	case s.Outcome == ledger.OutcomeOK && s.Code != "": // the tool failed, as its result says
		set = append(set, attribute.String("error.type", "tool_error"))
		a.span.SetStatus(errorStatus, "")
	}
	if cost != nil {
		set = append(set, attribute.Float64("weir.cost_usd", usd(*cost)))
	}
	if charge != nil && (cost == nil || *charge != *cost) {
		set = append(set, attribute.Float64("weir.charge_usd", usd(*charge)))
	}
	if s.Cached.Hit {
		set = append(set, attribute.Bool("weir.cached", true),
			attribute.Float64("weir.saved_usd", usd(s.Cached.Saved)))
	}
	if s.Finish != "" {
		set = append(set, attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(s.Finish)}))
	}
	if id := s.ReplyID; id != "" && len(id) <= maxReplyID && utf8.ValidString(id) { // else no span would be exported
		set = append(set, attribute.String("gen_ai.response.id", id))
	}
	if s.Status != 0 {
		set = append(set, attribute.Int("http.response.status_code", s.Status))
	}
	if a.streams && s.FirstToken > 0 {
		set = append(set, attribute.Float64("gen_ai.response.time_to_first_chunk", s.FirstToken.Seconds()))
	}
	if s.Outcome != ledger.OutcomeOK {
		set = append(set, attribute.String("error.type", errorType(s)))
		a.span.SetStatus(errorStatus, "")
	}
	a.span.SetAttributes(set...)
	a.span.End(api.WithTimestamp(a.request.tracer.now()))
}

func usd(m llm.Money) float64 { return float64(m) / float64(llm.USD) }

// errorType returns why an attempt failed: the provider's HTTP status, else the error code, else the outcome.
func errorType(s *ledger.Settlement) string {
	switch {
	case s.Status >= http.StatusBadRequest:
		return strconv.Itoa(s.Status)
	case s.Code != "":
		return string(s.Code)
	}
	return string(s.Outcome)
}

// usage returns the usage by the conventions: cached tokens are a part of the input, and reasoning is one of the
// output.
func (a *Attempt) usage(u *llm.Usage) []attribute.KeyValue {
	set := []attribute.KeyValue{
		attribute.Int64("gen_ai.usage.input_tokens", u.InputTokens()),
		attribute.Int64("gen_ai.usage.output_tokens", u.OutputTokens()),
	}
	for _, x := range []struct {
		name   string
		tokens int64
	}{
		{"gen_ai.usage.cache_read.input_tokens", u[llm.CacheRead] + u[llm.CacheReadAudio]},
		{a.names.cacheWrite, u[llm.CacheWrite] + u[llm.CacheWrite1h]},
		{"gen_ai.usage.reasoning.output_tokens", u[llm.Reasoning]},
		{a.names.audioIn, u[llm.AudioIn] + u[llm.CacheReadAudio]},
		{a.names.imageIn, u[llm.ImageIn]},
		{a.names.audioOut, u[llm.AudioOut]},
		{a.names.imageOut, u[llm.ImageOut]},
	} {
		if x.tokens > 0 && x.name != "" {
			set = append(set, attribute.Int64(x.name, x.tokens))
		}
	}
	return set
}
