// Package dialecttest fuzzes the chat of a wire format: requests, replies and streams, against the guarantees of all
// wire formats.
package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/sse"
)

// Decoder reads the frames of a stream.
type Decoder interface {
	Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error)
}

// Encoder writes a stream.
type Encoder interface {
	Append(dst []byte, ev *llm.Event) []byte
	Fail(dst []byte, err *llm.Error) []byte
	Finish(dst []byte, f *llm.Final) []byte
}

// Requests holds the functions of a wire format that read and write requests.
type Requests struct {
	Scan   func(body []byte, r *http.Request) (llm.Head, error)
	Splice func(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte
	Decode func(body []byte) (*llm.Request, error)
	Encode func(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error)

	At     *http.Request // the request around the body; nil for an empty one
	Quirks *llm.Quirks
	// NoModel allows Scan to refuse a spliced body without a model.
	NoModel bool
	// Spliced checks the head of a body after a splice of the model "m" and a cap of 9, with Quirks or without.
	Spliced func(before, after *llm.Head, quirks bool) bool
	// Refused reports whether EncodeRequest may refuse a decoded request because of that parameter; nil for never.
	Refused func(param string) bool
	Loses   bool     // the first translation may drop fields
	Models  []string // models to encode a request of another wire format for
}

// Capped reports whether the cap of a body is the client's, or else the new one.
func Capped(before, after *llm.Head) bool {
	return after.MaxOutput == before.MaxOutput || before.MaxOutput == 0 && after.MaxOutput == 9
}

// Fuzz fuzzes requests.
func (x *Requests) Fuzz(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		head, err := x.Scan(body, x.At)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = x.Decode(body) // must not panic
			return
		}
		for _, q := range []*llm.Quirks{nil, x.Quirks} {
			spliced := x.Splice(nil, body, &head, llm.Splice{Model: "m", Stream: true, MaxOutput: 9}, q)
			again, err := x.Scan(spliced, x.At)
			if x.NoModel && err != nil && head.Model == "" {
				continue
			}
			if err != nil || !x.Spliced(&head, &again, q != nil) {
				t.Fatalf("Splice(%q) = %q: head %+v, %v", body, spliced, again, err)
			}
		}
		r, err := x.Decode(body)
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
				t.Fatalf("DecodeRequest(%q): %v has no parameter", body, err)
			}
			return
		}
		x.checkStable(t, body, r)
		x.checkForeign(t, body, r)
	})
}

// checkStable checks that a decoded request is encoded without loss, and is decoded again as it was encoded.
func (x *Requests) checkStable(t *testing.T, body []byte, r *llm.Request) {
	t.Helper()
	first, dropped, err := x.Encode(r, nil)
	if e, ok := errors.AsType[*llm.Error](err); ok && x.Refused != nil && x.Refused(e.Param) {
		return
	}
	if err != nil || !x.Loses && len(dropped) > 0 || !json.Valid(first) {
		t.Fatalf("EncodeRequest of %q: %q, dropped %q, %v", body, first, dropped, err)
	}
	again, err := x.Decode(first)
	if err != nil {
		t.Fatalf("%q became %q: %v", body, first, err)
	}
	if second, dropped, err := x.Encode(again, nil); err != nil || len(dropped) > 0 || !bytes.Equal(second, first) {
		t.Fatalf("%q became %q, then %q, dropped %q, %v", body, first, second, dropped, err)
	}
}

// checkForeign checks that a request of another wire format is encoded as JSON, or refused with the name of a
// parameter.
func (x *Requests) checkForeign(t *testing.T, body []byte, r *llm.Request) {
	t.Helper()
	for _, model := range append(x.Models, r.Model) {
		foreign := *r
		foreign.ExtraOf, foreign.Model = "other", model
		out, _, err := x.Encode(&foreign, x.Quirks)
		if e, ok := errors.AsType[*llm.Error](err); err != nil && (!ok || e.Param == "") || err == nil &&
			!json.Valid(out) {
			t.Fatalf("EncodeRequest of %q for %s: %q, %v", body, model, out, err)
		}
	}
}

// Replies holds the functions of a wire format that read and write whole replies and errors.
type Replies struct {
	Decode      func(body []byte, q *llm.Quirks) (*llm.Reply, error)
	Encode      func(dst []byte, r *llm.Reply) []byte
	Stamp       func(dst, data []byte, f *llm.Final) []byte
	HasUsage    func(data []byte) bool
	DecodeError func(body []byte) llm.ProviderError // nil if another format's is used

	Skip  func(r *llm.Reply) bool // reports a reply that no encoder receives; nil for none
	Loses bool                    // an encoded reply may lack parts of the decoded one, but no tokens
}

// Fuzz fuzzes replies.
func (x *Replies) Fuzz(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if x.DecodeError != nil {
			checkShown(t, body, x.DecodeError(body))
		}
		r, err := x.Decode(body, nil)
		if err != nil {
			return
		}
		if r.Reported && !r.Usage.Plausible() {
			t.Fatalf("usage of %q: %v", body, r.Usage)
		}
		out := x.Stamp(nil, body, &llm.Final{Cost: new(llm.Money(987_654_321)), Attempts: 2})
		if !json.Valid(out) {
			t.Fatalf("Stamp of %q: %q is not JSON", body, out)
		}
		if has, stamped := x.HasUsage(body), !bytes.Equal(out, body); has != stamped {
			t.Fatalf("%q has a usage: %t; is stamped: %t", body, has, stamped)
		}
		if x.Skip == nil || !x.Skip(r) {
			x.checkStable(t, body, r)
		}
	})
}

// checkStable checks that an encoded reply is decoded again as it was encoded.
func (x *Replies) checkStable(t *testing.T, body []byte, r *llm.Reply) {
	t.Helper()
	first := x.Encode(nil, r)
	if !json.Valid(first) {
		t.Fatalf("EncodeReply of %q: %q is not JSON", body, first)
	}
	again, err := x.Decode(first, nil)
	if err != nil {
		if strings.Contains(err.Error(), "nested") {
			return // the encoded members nest deeper than the original
		}
		t.Fatalf("%q became %q: %v", body, first, err)
	}
	if second := x.Encode(nil, again); !x.Loses && !bytes.Equal(second, first) ||
		again.Usage.TotalTokens() != r.Usage.TotalTokens() {
		t.Fatalf("EncodeReply of %q: %q, then %q", body, first, second)
	}
}

// checkShown checks that an explanation is valid to show.
func checkShown(t *testing.T, body []byte, e llm.ProviderError) {
	t.Helper()
	for _, s := range []string{e.Message, e.Code, e.Param} {
		if len(s) > 500 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) ||
			strings.ToValidUTF8(s, "") != s {
			t.Fatalf("DecodeError(%q): %q is not fit to be shown", body, s)
		}
	}
}

// Streams holds the functions of a wire format that read and write streams.
type Streams struct {
	Decoder func() Decoder
	Encoder func() Encoder
	Final   llm.Final
	Check   func(t *testing.T, out []byte) // checks the output; nil for CheckFrames
}

// Fuzz fuzzes streams of one frame a line: its name, a tab and its data.
func (x *Streams) Fuzz(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	check := x.Check
	if check == nil {
		check = CheckFrames
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		d, enc := x.Decoder(), x.Encoder()
		var out []byte
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			name, data, _ := bytes.Cut(line, []byte("\t"))
			events, err := d.Decode(nil, sse.Event{Name: name, Data: data})
			for i := range events {
				out = enc.Append(out, &events[i])
				if events[i].Kind == llm.EventUsage && !events[i].Usage.Plausible() {
					t.Fatalf("usage of %q: %v", data, events[i].Usage)
				}
			}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				if e.Message == "" || e.Code == "" {
					t.Fatalf("%q: %v has no explanation", line, e)
				}
				out = enc.Fail(out, e)
			}
		}
		check(t, enc.Finish(out, &x.Final))
	})
}

// CheckFrames checks that the output consists of events of JSON, except OpenAI's end marker.
func CheckFrames(t *testing.T, out []byte) {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(out), 8<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		if !json.Valid(frame.Data) && string(frame.Data) != "[DONE]" {
			t.Fatalf("frame %q is not JSON", frame.Data)
		}
	}
	if len(r.Rest()) > 0 {
		t.Fatalf("%q is not a whole event", r.Rest())
	}
}
