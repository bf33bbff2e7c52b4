package dialect_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// shows and refuses list the wire formats that have images, or refusals, in answers; streams lists those that have
// images in streams, too.
var (
	shows   = []string{"openai", "responses", "gemini", "bedrock", "ollama"}
	streams = []string{"openai", "responses", "gemini", "ollama"}
	refuses = []string{"openai", "responses"}
)

// replies generates answers with the features of their wire format.
func replies(d *dialect.Dialect) *rapid.Generator[llm.Reply] {
	return rapid.Custom(func(t *rapid.T) llm.Reply {
		r := llm.Reply{ID: "id-1", Model: "m", ExtraOf: d.Name, Reported: true}
		r.Usage = llm.Usage{llm.Input: rapid.Int64Range(1, 1<<30).Draw(t, "input"), llm.Output: rapid.Int64Range(1, 1<<30).Draw(t, "output")}
		c := llm.Choice{Message: llm.Message{Role: llm.RoleAssistant, Parts: answers(d).Draw(t, "answer")}}
		if slices.Contains(refuses, d.Name) && seldom(t, "refuses") {
			c.Message.Parts = append(c.Message.Parts, llm.Part{Kind: llm.PartRefusal, Text: words.Draw(t, "refusal")})
			c.Message.Parts = slices.DeleteFunc(c.Message.Parts, func(p llm.Part) bool { return p.Call != nil })
		}
		c.Finish = rapid.SampledFrom([]llm.FinishReason{llm.FinishStop, llm.FinishLength, llm.FinishContentFilter}).Draw(t, "finish")
		calls := slices.ContainsFunc(c.Message.Parts, func(p llm.Part) bool { return p.Call != nil })
		switch {
		case calls:
			c.Finish = llm.FinishToolCalls
		case slices.Contains(shows, d.Name) && seldom(t, "shows"):
			c.Message.Parts = append(c.Message.Parts, llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="}})
			if d.Name == "responses" { // only a tool makes images
				r.Usage[llm.ToolImages] = 1
			}
		}
		r.Choices = []llm.Choice{c}
		return r
	})
}

// TestAnswersRoundTrip checks, for every wire format, that an answer in its own format, whole or streamed, is decoded
// as it was encoded.
func TestAnswersRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range providers() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				want := replies(d).Draw(t, "reply")
				body := d.EncodeReply(nil, &want)
				got, err := d.DecodeReply(body, &llm.Quirks{})
				if err != nil {
					t.Fatalf("decode of %s: %v", body, err)
				}
				again, err := d.DecodeReply(d.EncodeReply(nil, got), &llm.Quirks{})
				if diff := cmp.Diff(again, got); err != nil || diff != "" {
					t.Fatalf("%s a second time: %v (-got +want)\n%s", body, err, diff)
				}
				same(t, body, &got.Choices[0], &want.Choices[0], &got.Usage, &want.Usage)
				if slices.ContainsFunc(want.Choices[0].Message.Parts, func(p llm.Part) bool { return p.Media != nil }) && !slices.Contains(streams, d.Name) {
					return
				}
				stream := asStream(d, &want)
				choice, usage := joined(t, d, stream)
				same(t, stream, &choice, &want.Choices[0], &usage, &want.Usage)
			})
		})
	}
}

// same compares an answer with the expected one, except for the fields that some formats always add.
func same(t *rapid.T, by []byte, got, want *llm.Choice, used, wantUsed *llm.Usage) {
	t.Helper()
	for i := range got.Message.Parts {
		p := &got.Message.Parts[i]
		p.Raw, p.Extra, p.Annotations = nil, nil, nil
		if p.Call != nil {
			p.Call.Extra = nil
		}
	}
	if diff := cmp.Diff(got.Message.Parts, want.Message.Parts, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("through %s (-got +want)\n%s", by, diff)
	}
	if got.Finish != want.Finish {
		t.Fatalf("through %s: ended with %q, want %q", by, got.Finish, want.Finish)
	}
	if diff := cmp.Diff(used, wantUsed); diff != "" {
		t.Fatalf("through %s: usage (-got +want)\n%s", by, diff)
	}
}

// asStream encodes a reply as a stream.
func asStream(d *dialect.Dialect, r *llm.Reply) (out []byte) {
	enc := d.NewEncoder(llm.Meta{ID: r.ID, Model: r.Model, IncludeUsage: true})
	for _, ev := range eventsOf(r.Choices[0].Message.Parts) {
		out = enc.Append(out, &ev)
	}
	return enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{r.Choices[0].Finish}, Usage: r.Usage, Reported: true})
}

// joined joins the events of a stream to an answer.
func joined(t *rapid.T, d *dialect.Dialect, stream []byte) (c llm.Choice, usage llm.Usage) {
	t.Helper()
	dec, frames := d.NewDecoder(&llm.Quirks{}), d.Framing.NewReader(bytes.NewReader(stream), 1<<20)
	j := joiner{}
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			c.Message.Parts, c.Finish = j.parts, j.finish
			return c, j.usage
		}
		if err != nil {
			t.Fatalf("%v in %s", err, stream)
		}
		events, err := dec.Decode(nil, f)
		if err != nil {
			t.Fatalf("%v in %s", err, stream)
		}
		for i := range events {
			j.add(&events[i])
		}
	}
}

// joiner builds parts from events.
type joiner struct {
	parts  []llm.Part
	calls  []int // the indexes of the calls
	closed bool  // the last part is a thought with a signature
	finish llm.FinishReason
	usage  llm.Usage
}

func (j *joiner) add(ev *llm.Event) {
	switch ev.Kind {
	case llm.EventText:
		j.grow(llm.PartText, ev)
	case llm.EventRefusal:
		j.grow(llm.PartRefusal, ev)
	case llm.EventReasoning:
		j.grow(llm.PartReasoning, ev)
		j.closed = ev.Signature != "" || ev.Redacted != ""
	case llm.EventToolCall:
		j.call(ev)
	case llm.EventOther:
		if ev.Media != nil {
			j.parts = append(j.parts, llm.Part{Kind: llm.PartImage, Media: ev.Media})
		}
	case llm.EventFinish:
		j.finish = ev.Finish
	case llm.EventUsage:
		j.usage = ev.Usage
	}
}

func (j *joiner) grow(kind llm.PartKind, ev *llm.Event) {
	n := len(j.parts)
	if n == 0 || j.parts[n-1].Kind != kind || kind == llm.PartReasoning && (j.closed || ev.Redacted != "" && j.parts[n-1].Maker == "anthropic") {
		j.parts = append(j.parts, llm.Part{Kind: kind})
		n++
	}
	p := &j.parts[n-1]
	p.Text += ev.Text
	p.Signature += ev.Signature
	p.Redacted += ev.Redacted
	if ev.Maker != "" {
		p.Maker = ev.Maker
	}
}

func (j *joiner) call(ev *llm.Event) {
	for len(j.calls) <= ev.Tool.Index {
		j.calls = append(j.calls, len(j.parts))
		j.parts = append(j.parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{}})
	}
	p := &j.parts[j.calls[ev.Tool.Index]]
	p.Call.ID += ev.Tool.ID
	p.Call.Name += ev.Tool.Name
	p.Call.Arguments += ev.Text
	if ev.Signature != "" {
		p.Signature, p.Maker = ev.Signature, ev.Maker
	}
}
