package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/dialect/toytest"
	"weir/internal/llm"
	"weir/internal/simulator"
)

// client sends requests to the simulator in a wire format, and decodes the answers with the format's own client half.
type client struct {
	t   *testing.T
	d   *dialect.Dialect
	sim *simulator.Server

	tools []llm.Tool
}

// said holds an answer as the client half decodes it.
type said struct {
	status   int
	body     string
	pieces   []string // of a streamed text
	text     string
	message  llm.Message
	finish   llm.FinishReason
	usage    llm.Usage
	reported bool
	err      error // of the reading
}

// String prints the text of the error, because a struct would print its address.
func (s said) String() string {
	type fields said
	return fmt.Sprintf("%+v, error %v", fields(s), s.err)
}

func (c client) ask(model string, stream bool, more ...llm.Message) said {
	c.t.Helper()
	r := &llm.Request{
		ExtraOf: c.d.Name, Model: model, Stream: stream, IncludeUsage: stream, MaxOutput: new(int64(1000)), Tools: c.tools,
		Messages: append([]llm.Message{userSays("What came down the river?")}, more...),
	}
	body, _, err := c.d.EncodeRequest(r, &llm.Quirks{})
	if err != nil {
		return said{err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := way{"memory", "http://demo", c.sim.RoundTripper()}.askAt(ctx, c.path(model, stream), string(body))
	if h.status != 200 {
		return said{status: h.status, body: h.body, err: h.err}
	}
	if stream && strings.HasPrefix(h.header.Get("Content-Type"), c.d.Framing.ContentType) {
		return c.stream(h)
	}
	return c.whole(h)
}

// path returns the route of a path that the client half calls: a base URL may precede it.
func (c client) path(model string, stream bool) string {
	path := c.d.Path(model, stream)
	first, _, _ := strings.Cut(path[1:], "/")
	for _, route := range c.d.Routes {
		pattern := strings.TrimPrefix(route, "POST ")
		if before, _, ok := strings.Cut(pattern, "/"+first); ok {
			return before + path
		}
	}
	c.t.Fatalf("no route %v is that of %s", c.d.Routes, path)
	return ""
}

func (c client) whole(h heard) said {
	s := said{status: h.status, body: h.body}
	r, err := c.d.DecodeReply([]byte(h.body), &llm.Quirks{})
	if s.err = errors.Join(h.err, err); s.err == nil {
		s.message, s.text, s.finish = r.Choices[0].Message, r.Choices[0].Message.Text(), r.Choices[0].Finish
		s.usage, s.reported = r.Usage, r.Reported
	}
	return s
}

func (c client) stream(h heard) said {
	s := said{status: h.status, body: h.body}
	dec, r := c.d.NewDecoder(&llm.Quirks{}), c.d.Framing.NewReader(strings.NewReader(h.body), 1<<20)
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			s.err = h.err
			return s
		}
		if err != nil {
			s.err = err
			return s
		}
		events, err := dec.Decode(nil, f)
		for _, e := range events {
			switch e.Kind {
			case llm.EventReasoning:
				s.thought(&e)
			case llm.EventText:
				s.text, s.pieces = s.text+e.Text, append(s.pieces, e.Text)
			case llm.EventFinish:
				s.finish = e.Finish
			case llm.EventUsage:
				s.usage, s.reported = e.Usage, true
			}
		}
		if err != nil {
			s.err = err
			return s
		}
	}
}

// thought puts a piece of thinking into the message.
func (s *said) thought(e *llm.Event) {
	if len(s.message.Parts) == 0 {
		s.message = llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartReasoning}, {Kind: llm.PartText, Text: "So."}}}
	}
	s.message.Parts[0].Text += e.Text
	s.message.Parts[0].Signature += e.Signature
}

// TestEveryDialect checks, for each wire format, that its own client half decodes the simulator's answers, and finds
// the faulty ones.
func TestEveryDialect(t *testing.T) {
	t.Parallel()
	for _, c := range clients(t, nil) {
		t.Run(c.d.Name, func(t *testing.T) {
			t.Parallel()
			c := client{t: t, d: c.d, sim: newSimulator(t, simulator.Options{})}
			for _, stream := range []bool{false, true} {
				c.answers(stream)
				c.usages(stream)
				c.fails(stream)
				c.signs(stream)
			}
			c.calls()
		})
	}
}

// TestExemplarConformance checks the same for the exemplar, which has neither tools nor thinking.
func TestExemplarConformance(t *testing.T) {
	t.Parallel()
	dialects := append(registrytest.All(), toytest.Dialect())
	c := client{t: t, d: dialects.Named(toytest.Name), sim: newSimulator(t, simulator.Options{Dialects: dialects})}
	for _, stream := range []bool{false, true} {
		c.answers(stream)
		c.usages(stream)
		if got := c.ask("chat:reasoning=9,think", stream); got.err != nil || !strings.HasPrefix(got.text, greeted) {
			t.Errorf("stream %t: got %+v, want an answer without its thinking", stream, got)
		}
	}
}

func (c client) answers(stream bool) {
	c.t.Helper()
	got := c.ask("chat:tokens=19,prompt=100,cached=30", stream)
	var want llm.Usage
	want[llm.Input], want[llm.CacheRead], want[llm.Output] = 70, 30, 19
	if got.err != nil || got.text != greeted || got.finish != llm.FinishStop || !got.reported ||
		got.usage.TotalTokens() != want.TotalTokens() || got.usage.OutputTokens() != 19 {
		c.t.Errorf("stream %t: got %+v, want %q and %v", stream, got, greeted, want)
	}
	if rec := settled(c.t, c.sim); rec.Dialect != c.d.Name || rec.Reported == nil || *rec.Reported != want || rec.Stream != stream {
		c.t.Errorf("stream %t: record %+v", stream, rec)
	}
	for _, option := range []string{"chunk=1", "unicode", "fault=early-hints", "usage=nodetails", "fault=no-end", "eol=crlf", "eol=mixed", "comments", "bom"} {
		got := c.ask("chat:"+option, stream)
		if got.status == 400 && stream && c.d.Framing.ContentType != "text/event-stream" {
			continue // not for such a stream
		}
		if option == "bom" && !stream {
			continue // a reader may refuse it
		}
		if got.err != nil || !strings.HasPrefix(got.text, greeted) {
			c.t.Errorf("%s, stream %t: got %+v", option, stream, got)
		}
	}
}

// usages checks that every falsification arrives: the decoded usage is false, or rejected.
func (c client) usages(stream bool) {
	c.t.Helper()
	var truth llm.Usage
	truth[llm.Input], truth[llm.Output] = 100, 32
	for _, variant := range []string{"missing", "none", "zero", "over", "negative", "huge", "float"} {
		got := c.ask("chat:prompt=100,usage="+variant, stream)
		if got.usage == truth {
			c.t.Errorf("usage=%s, stream %t: reported the truth: %+v", variant, stream, got)
		}
		if got.err != nil || !strings.HasPrefix(got.text, greeted) || !got.usage.Plausible() {
			c.t.Errorf("usage=%s, stream %t: got %+v, want the answer without usage", variant, stream, got)
		}
		if rec := settled(c.t, c.sim); rec.Usage != truth || rec.Reported != nil && *rec.Reported == truth {
			c.t.Errorf("usage=%s, stream %t: record %+v", variant, stream, rec)
		}
	}
	for _, variant := range []string{"twice", "decreasing"} {
		if got := c.ask("chat:prompt=100,usage="+variant, stream); got.err != nil || got.usage != truth {
			c.t.Errorf("usage=%s, stream %t: the last counts are not the truth: %+v", variant, stream, got)
		}
	}
}

// fails checks that a broken answer is not decoded as a whole one.
func (c client) fails(stream bool) {
	c.t.Helper()
	models := []string{"chat:fault=html", "chat:fault=json-error", "chat:fault=empty", "chat:fault=malformed", "chat:fault=bad-crc", "chat:fault=no-choices", "chat:fault=length-long", "chat:fault=cut"}
	if stream {
		models = append(models, "chat:fault=eof", "chat:fault=error-event", "chat:fault=not-stream")
	}
	for _, model := range models {
		got := c.ask(model, stream)
		if strings.HasSuffix(model, "not-stream") {
			if got.err != nil || !strings.HasPrefix(got.text, greeted) {
				c.t.Errorf("%s, stream %t: got %+v, want a whole reply", model, stream, got)
			}
			continue
		}
		if got.err == nil && got.finish != "" && strings.HasPrefix(got.text, greeted) {
			c.t.Errorf("%s, stream %t: read as a whole answer: %+v", model, stream, got)
		}
	}
	for status, model := range map[int]string{429: "chat:status=429", 500: "chat:status=500", 400: "chat:fault=context-length"} {
		if got := c.ask(model, stream); got.status != status {
			c.t.Errorf("%s, stream %t: got %+v", model, stream, got)
		}
	}
}

// signs checks that thinking returns unchanged, if the wire format has a place for its signature, and that the
// signature is checked.
func (c client) signs(stream bool) {
	c.t.Helper()
	m := c.ask("reason", stream).message
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Signature == "" {
			continue
		}
		right := *p
		for name, sent := range map[string]llm.Part{
			"right":     right,
			"wrong":     {Kind: right.Kind, Text: right.Text, Signature: "c2ltc2ltc2ltc2ltc2lt"},
			"of others": {Kind: right.Kind, Text: right.Text + ".", Signature: right.Signature},
			"cut":       {Kind: right.Kind, Text: right.Text, Signature: right.Signature[:8]},
		} {
			*p = sent
			got := c.ask("reason:signed", stream, m, userSays("And then?"))
			if name == "right" && got.status != 200 || name != "right" && (got.status != 400 || !strings.Contains(got.body, "is not the one it went out with")) {
				c.t.Errorf("stream %t: thinking that returns with a signature that is %s: %d %s", stream, name, got.status, got.body)
			}
		}
		return
	}
	c.t.Logf("stream %t: no signatures", stream)
}

// calls checks that tools are called by their schema, and that their results are read.
func (c client) calls() {
	c.t.Helper()
	c.tools = []llm.Tool{{Name: "weather", Parameters: []byte(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`)}}
	called := c.ask("tools:calls=2", false).message
	results := llm.Message{Role: llm.RoleTool}
	for _, p := range called.Parts {
		if p.Call == nil {
			continue
		}
		var arguments struct{ City string }
		if err := json.Unmarshal([]byte(p.Call.Arguments), &arguments); err != nil || arguments.City == "" || p.Call.Name != "weather" {
			c.t.Errorf("call %+v does not fit its schema: %v", p.Call, err)
		}
		rain := &llm.ToolResult{CallID: p.Call.ID, Name: p.Call.Name, Parts: []llm.Part{{Kind: llm.PartText, Text: "rain"}}}
		results.Parts = append(results.Parts, llm.Part{Kind: llm.PartToolResult, Result: rain})
	}
	if got := c.ask("tools:calls=2", false, called, results).text; len(results.Parts) != 2 || got != "The tool said: rain" {
		c.t.Errorf("%d calls, and after their results %q", len(results.Parts), got)
	}
}
