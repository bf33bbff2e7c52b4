// Package toytest implements both halves of a made-up wire format: the smallest for clients of the gateway and for
// providers. It is an example of a dialect, and tests use it to show that a dialect needs only its package and one line
// of the list.
//
// A request is {"model":"…","stream":true,"cap":9,"turns":[{"by":"user","say":"…"}]}, a reply
// {"model":"…","say":"…","why":"stop","used":{"in":1,"out":2}}. A stream is server-sent events: {"say":"…"} for each
// piece, then one with "why" and "used".
package toytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Name names the format in the configuration.
const Name = "toy"

const outputCap = "cap"

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: Name, Vendor: Name, ClientAPI: true, KeyHeaders: []string{"X-Toy-Key"}, Auth: "x-api-key",
		UsageAt: [][]string{{"used"}},
		Status:  llm.Code.Status, EncodeError: encodeError, DecodeError: explain.Body,
		Operation: dialect.Operation{
			Op: llm.OpChat, Routes: []string{"POST /v1/toy"}, Path: dialect.At("/toy"),
			Framing: dialect.ServerSent(), KeepAlive: dialect.KeepAlive, EndMarker: dialect.Done,
			Scan: scan, DecodeRequest: decodeRequest, EncodeReply: encodeReply,
			NewEncoder:    func(llm.Meta) dialect.Encoder { return encoder{} },
			EncodeRequest: encodeRequest, Splice: splice, DecodeReply: decodeReply,
			NewDecoder: func(*llm.Quirks) dialect.Decoder { return decoder{} },
			Stamp:      dialect.Unstamped,
			HasUsage:   func([]byte) bool { return false },
		},
	}
}

type request struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Cap    *int64 `json:"cap"`
	Turns  []turn `json:"turns"`
}

type turn struct {
	By  llm.Role `json:"by"`
	Say string   `json:"say"`
}

type answer struct {
	Model string           `json:"model,omitempty"`
	Say   *string          `json:"say,omitempty"`
	Why   llm.FinishReason `json:"why,omitempty"`
	Used  json.RawMessage  `json:"used,omitempty"`
}

// decodeUsage reads a usage. It reports false if there is none, or one with a count that no request can have: the
// answer is served in any case, with an estimated usage.
func decodeUsage(v []byte) (llm.Usage, bool) {
	var u llm.Usage
	var c parse.Counter
	in := c.Count(&u[llm.Input], rawjson.Get(v, "in"))
	out := c.Count(&u[llm.Output], rawjson.Get(v, "out"))
	if c.Wild || !in && !out {
		return llm.Usage{}, false
	}
	return u, true
}

func encodeUsage(u *llm.Usage) []byte {
	dst := rawjson.AppendCount(nil, `{"in":`, u.InputTokens())
	return append(rawjson.AppendCount(dst, `,"out":`, u.OutputTokens()), '}')
}

// The server half.

func scan(body []byte, _ *http.Request) (llm.Head, error) {
	return parse.Scan(body, parse.Complaint, "with a model and turns",
		rawjson.Names{"model", "stream", outputCap, "turns"},
		func(h *llm.Head, m rawjson.Member) (err error) {
			switch string(m.Key()) {
			case "stream":
				h.Stream, err = parse.Bool(m.Value, "stream")
			case outputCap:
				h.MaxOutput, err = parse.Int(m.Value, outputCap, 1, parse.MaxCount)
			}
			return err
		})
}

func decodeRequest(body []byte) (*llm.Request, error) {
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, llm.Invalid("turns", "The turns must be objects with by and say.")
	}
	r := &llm.Request{ExtraOf: Name, Model: q.Model, Stream: q.Stream, MaxOutput: q.Cap}
	r.Messages = make([]llm.Message, 0, len(q.Turns)) // in one allocation, because tests measure decoding
	for i, t := range q.Turns {
		if t.By != llm.RoleSystem && t.By != llm.RoleUser && t.By != llm.RoleAssistant {
			return nil, llm.Invalid(placeOf(i)+".by", "A turn must be by system, user or assistant.")
		}
		r.Messages = append(r.Messages, llm.Message{Role: t.By, Parts: []llm.Part{{Kind: llm.PartText, Text: t.Say}}})
	}
	return r, nil
}

func encodeReply(dst []byte, r *llm.Reply) []byte {
	c := &r.Choices[0]
	return appendJSON(dst,
		answer{Model: r.Model, Say: new(textOf(&c.Message)), Why: c.Finish, Used: encodeUsage(&r.Usage)})
}

// textOf returns the text of an answer, with text for parts that this format cannot express, except thinking.
func textOf(m *llm.Message) string {
	var text llm.Joined // += would copy the text for each part
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind != llm.PartReasoning {
			text.Add(p.Words())
		}
	}
	return text.String()
}

func encodeError(dst []byte, e *llm.Error, _ string) []byte {
	return append(rawjson.AppendString(append(dst, `{"error":`...), e.Placed()), '}')
}

type encoder struct{}

func (encoder) Append(dst []byte, e *llm.Event) []byte {
	switch e.Kind {
	case llm.EventText, llm.EventRefusal, llm.EventOther:
		if words := e.Words(); words != "" {
			return sse.Append(dst, "", appendJSON(nil, answer{Say: &words}))
		}
	}
	return dst
}

func (encoder) Finish(dst []byte, f *llm.Final) []byte {
	dst = sse.Append(dst, "", appendJSON(nil, answer{Why: f.Finish[0], Used: encodeUsage(&f.Usage)}))
	return append(dst, dialect.Done...)
}

func (encoder) Fail(dst []byte, e *llm.Error) []byte {
	return sse.Append(dst, "", encodeError(nil, e, ""))
}

// The client half.

// encodeRequest names the dropped fields, and refuses those that would change the meaning of the answer.
func encodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	w := compose.New(Name, r, q)
	w.Text("model", r.Model)
	if r.Stream {
		w.Raw("stream", []byte("true"))
	}
	w.Integer(outputCap, r.MaxOutput)
	if w.Key("turns") {
		w.Dst = append(w.Dst, '[')
		for i := range r.Messages {
			writeTurn(&w, &r.Messages[i], placeOf(i))
		}
		w.Dst = append(w.Dst, ']')
	}
	w.Extras(r.Extra)
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"temperature", r.Temperature != nil},
		{"top_p", r.TopP != nil},
		{"top_k", r.TopK != nil},
		{"frequency_penalty", r.FrequencyPenalty != nil},
		{"presence_penalty", r.PresencePenalty != nil},
		{"seed", r.Seed != nil},
		{"stop", r.Stop != nil},
		{"user", r.User != ""},
		{"reasoning_effort", r.Reasoning != nil},
	} {
		if f.set {
			w.Drop(f.name)
		}
	}
	switch {
	case len(r.Tools) > 0:
		w.Refuse("tools", "The toy has no tools. Leave them out.")
	case !r.Format.IsText():
		w.Refuse("response_format", "The toy answers in text. Leave the response_format out.")
	case r.Choices != nil && *r.Choices > 1:
		w.Refuse("n", "The toy returns one answer per request. Set n to 1.")
	}
	return w.Close()
}

func writeTurn(w *compose.Writer, m *llm.Message, place string) {
	var text llm.Joined // += would copy the text for each part
	for i := range m.Parts {
		p := &m.Parts[i]
		w.DropProof(p)
		w.DropMarks(p)
		switch p.Kind {
		case llm.PartText, llm.PartRefusal:
			text.Add(p.Text)
		case llm.PartReasoning:
			w.Drop("reasoning")
		default:
			w.Refuse(place, "The toy accepts only text. Leave out files, tool calls and their results.")
		}
	}
	if m.Name != "" {
		w.Drop("name")
	}
	w.Element()
	w.Dst = rawjson.AppendString(append(w.Dst, `{"by":`...), string(m.Role))
	w.Inner("say", text.String())
	w.InnerExtras(m.Extra, "message fields of another API")
	w.Dst = append(w.Dst, '}')
}

// placeOf returns the name of a turn for errors.
func placeOf(i int) string { return "turns[" + strconv.Itoa(i) + "]" }

// splice also sets the cap, because no budget would hold without it.
func splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	body = compose.SpliceModel(nil, body, h, s, q)
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return append(dst, body...)
	}
	return rawjson.Splice(dst, body, rawjson.Set(body, outputCap, strconv.AppendInt(nil, s.MaxOutput, 10)))
}

func decodeReply(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("toy: not a reply: %w", err)
	}
	if rawjson.Present(rawjson.Get(body, "error")) {
		return nil, explain.Reported(body)
	}
	if a.Say == nil {
		return nil, errors.New("toy: the reply has no text")
	}
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: *a.Say}}}
	r := &llm.Reply{ExtraOf: Name, Model: a.Model, Choices: []llm.Choice{{Message: message, Finish: a.Why}}}
	r.Usage, r.Reported = decodeUsage(a.Used)
	return r, nil
}

type decoder struct{}

func (decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	if string(frame.Data) == "[DONE]" {
		return append(dst, llm.Event{Kind: llm.EventDone}), nil
	}
	var a answer
	if err := json.Unmarshal(frame.Data, &a); err != nil {
		return dst, err
	}
	if rawjson.Present(rawjson.Get(frame.Data, "error")) {
		return dst, explain.Reported(frame.Data)
	}
	if a.Say != nil {
		dst = append(dst, llm.Event{Kind: llm.EventText, Text: *a.Say})
	}
	if a.Why != "" {
		dst = append(dst, llm.Event{Kind: llm.EventFinish, Finish: a.Why})
	}
	if u, ok := decodeUsage(a.Used); ok {
		dst = append(dst, llm.Event{Kind: llm.EventUsage, Metered: &llm.Metered{Usage: u}})
	}
	return dst, nil
}

func appendJSON(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // none of these types can fail
	}
	return append(dst, text...)
}
