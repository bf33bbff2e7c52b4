package meter_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/simulator"
)

// foldsOfTotals lists those, beyond folds, of a usage without its nested objects. The counts of Cohere, Gemini, Bedrock
// and Ollama are not such details.
var foldsOfTotals = []harness.Fold{
	{Dialect: "openai", From: llm.CacheRead, To: llm.Input, Reason: "in prompt_tokens_details"},
	{Dialect: "openai", From: llm.Reasoning, To: llm.Output, Reason: "in completion_tokens_details"},
	{Dialect: "responses", From: llm.CacheRead, To: llm.Input, Reason: "in input_tokens_details"},
	{Dialect: "responses", From: llm.Reasoning, To: llm.Output, Reason: "in output_tokens_details"},
	{Dialect: "anthropic", From: llm.Reasoning, To: llm.Output, Reason: "in output_tokens_details"},
}

// oddEnd describes a stream whose end differs from the other wire formats, because its answer's option removes
// something else there.
type oddEnd struct {
	dialect, option string
	outcome         ledger.Outcome
	provenance      ledger.Provenance
	reason          string
}

var oddEnds = []oddEnd{
	{"bedrock", "fault=no-end", ledger.OutcomeOK, ledger.Estimated, "the event that ends a stream is the one with the usage"},
	{"responses", "fault=no-end", ledger.OutcomeCut, ledger.Estimated, "response.completed has the usage and the finish reason"},
	{"bedrock", "usage=decreasing", ledger.OutcomeOK, ledger.Estimated, "there is one metadata event in a stream: it is over with the first, which here tells a total of more than its parts"},
}

// oddEnd returns that of the exchange, nil for one with the usual end.
func (x *exchange) oddEnd() *oddEnd {
	i := slices.IndexFunc(oddEnds, func(o oddEnd) bool {
		return x.stream && o.dialect == x.dialect && strings.Contains(x.model, o.option)
	})
	if i < 0 {
		return nil
	}
	return &oddEnds[i]
}

// metered describes an answer and its usage.
type metered struct {
	model     string // of the simulator
	members   string // of the request; with some, only OpenAI's client API is used
	only      string // the dialects that can carry it; empty for all
	estimated bool
	broken    bool // it breaks off
	totals    bool // the usage has no details
}

const weather = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`

func meteredAnswers() []metered {
	return []metered{
		{model: "chat:tokens=40"},
		{model: "chat:prompt=1000,cached=800"},
		{model: "chat:prompt=1000,cached=1000,reasoning=30"},
		{model: "reason:tokens=20,reasoning=13,prompt=500,cached=100"},
		{model: "reason:reasoning=30", members: `,"max_tokens":12`},
		{model: "tools:calls=2", members: weather},
		{model: "chat:tokens=90,uncapped", members: `,"max_tokens":10`},
		{model: "chat:tokens=90", members: `,"max_tokens":10`},
		{model: "chat:tokens=9,cached=3", members: `,"n":3`, only: "openai gemini"},
		{model: "chat:usage=twice,prompt=90,cached=40,reasoning=7"},
		{model: "chat:usage=decreasing,prompt=90,cached=40,reasoning=7"},
		{model: "chat:usage=nodetails,prompt=90,cached=40,reasoning=7", totals: true},
		{model: "chat:usage=over"},
		{model: "chat:usage=zero"}, // an explicit report of the provider is accepted
		{model: "chat:fault=no-end,prompt=90,cached=40"},
		{model: "chat:fault=not-stream,prompt=90,cached=40,reasoning=7"},
		{model: "chat:fault=content-filter"},
		{model: "chat:usage=missing,prompt=500", estimated: true},
		{model: "reason:usage=missing,reasoning=60,tokens=60", estimated: true},
		{model: "tools:calls=2,usage=missing", members: weather, estimated: true},
		{model: "chat:usage=none", estimated: true},
		{model: "chat:usage=negative", estimated: true},
		{model: "chat:usage=huge", estimated: true},
		{model: "chat:usage=float", estimated: true},
		{model: "chat:fault=cut,at=20,prompt=500,cached=200", estimated: true, broken: true},
		{model: "reason:fault=cut,at=40,reasoning=60", estimated: true, broken: true},
		{model: "chat:fault=eof,at=7", estimated: true, broken: true},
		{model: "chat:fault=error-event,at=7", estimated: true, broken: true},
		{model: "chat:fault=malformed,at=20", estimated: true, broken: true},
	}
}

// exchange is one such answer at one client API.
type exchange struct {
	metered
	dialect, path string
	stream        bool
	reply         harness.Reply
	rows          []ledger.Entry
	record        simulator.Record // of the last row
}

func (x *exchange) String() string {
	return fmt.Sprintf("%s: %s%s at %s, stream %t", x.dialect, x.model, x.members, x.path, x.stream)
}

// meterAsk builds a request for a model at a client API.
func meterAsk(path, model, members string, stream bool) harness.Ask {
	if all := harness.ChatAPIs(); usageAPIs[path] != "" {
		f := &all[slices.IndexFunc(all, func(f harness.ChatAPI) bool { return f.Path == path })]
		a, _ := f.Ask("", model, stream)
		return a
	}
	a := harness.Ask{Path: path}
	switch {
	case path == "/v1/chat":
		a.Body = harness.Hello(model)
		if stream {
			a.Header = []string{"Accept", "text/event-stream"}
		}
	case stream:
		a.Body = harness.Completion(model, members+harness.AsksUsage)
	default:
		a.Body = harness.Completion(model, members)
	}
	return a
}

var meterAPIs = []string{"/v1/chat", "/v1/chat/completions"}

// TestMeterOfDialects compares the books with the true and the reported usage of providers of each wire format, class
// by class, and the usage that clients receive with the books.
func TestMeterOfDialects(t *testing.T) {
	t.Parallel()
	for name, path := range harness.Spoken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", name, up.URL, path) + "prices:\n  house/*: " + harness.RatesYAML + "\n"})
			h.SetOnDisconnect(account.DisconnectCancel)
			all := meterAll(h, t, name)
			gone := leaveAll(h, t, up, name)
			enter(h, t, up, all)
			enter(h, t, up, gone)
			for _, x := range all {
				x.check(t)
			}
			for _, x := range gone {
				x.checkGone(t)
			}
			checkUses(h, t, slices.Concat(all, gone))
		})
	}
}

func meterAll(h *harness.Gateway, t *testing.T, dialect string) (all []*exchange) {
	t.Helper()
	for _, m := range meteredAnswers() {
		if m.only != "" && !slices.Contains(strings.Fields(m.only), dialect) {
			continue
		}
		for _, path := range meterAPIs {
			for _, stream := range []bool{false, true} {
				if path == "/v1/chat" && m.members != "" || m.broken && !stream && strings.Contains(m.model, "error-event") {
					continue // an event is of streams only
				}
				x := &exchange{metered: m, dialect: dialect, path: path, stream: stream}
				x.model += ",seed=" + strconv.Itoa(len(all)) // no failure opens another's circuit
				x.reply = h.Do(meterAsk(path, "house/"+x.model, m.members, stream))
				all = append(all, x)
			}
		}
	}
	return all
}

// leaveAll has clients leave in the middle of an answer.
func leaveAll(h *harness.Gateway, t *testing.T, up *harness.Upstream, dialect string) (all []*exchange) {
	t.Helper()
	for i, path := range meterAPIs {
		for _, stream := range []bool{false, true} {
			x := &exchange{dialect: dialect, path: path, stream: stream}
			x.model = fmt.Sprintf("chat:tokens=1000,pace=5ms,prompt=500,cached=200,seed=%d", 1000+i)
			lines := 0
			if stream {
				lines = 21
			}
			h.Leave(meterAsk(path, "house/"+x.model, "", stream), up, lines)
			record := up.Newest(t)
			x.reply.Header = map[string][]string{"X-Request-Id": {harness.RequestOf(&record)}}
			all = append(all, x)
		}
	}
	return all
}

// enter reads the ledger's and the provider's records of each exchange.
func enter(h *harness.Gateway, t *testing.T, up *harness.Upstream, all []*exchange) {
	t.Helper()
	rows := map[string][]ledger.Entry{}
	harness.Await(t, "the rows", func() bool {
		clear(rows)
		h.EachEntry(func(e *report.Exported) {
			id, _, _ := strings.Cut(e.ID.String(), ".")
			rows[id] = append(rows[id], e.Entry)
		})
		return !slices.ContainsFunc(all, func(x *exchange) bool {
			return !slices.ContainsFunc(rows[x.reply.Header.Get("X-Request-Id")], func(e ledger.Entry) bool { return e.Counts || harness.Mistaken(string(e.Outcome), e.Status) })
		})
	})
	records := map[string]simulator.Record{}
	for _, r := range up.Records(t) {
		records[r.Attempt] = r
	}
	for _, x := range all {
		x.rows = rows[x.reply.Header.Get("X-Request-Id")]
		x.record = records[x.last().ID.String()]
	}
}

func (x *exchange) last() *ledger.Entry { return &x.rows[len(x.rows)-1] }

// total returns the cost of all attempts.
func (x *exchange) total() (cost llm.Money) {
	for i := range x.rows {
		cost += x.rows[i].Cost
	}
	return cost
}
