// Package toytest is a made-up wire format, both halves: the smallest that a client can speak
// to the gateway and the gateway to a provider. It shows what one is made of, and tests show
// with it that one is added by its package and one line of the list.
//
// A request is {"model":"…","stream":true,"cap":9,"turns":[{"by":"user","say":"…"}]}, a reply
// {"model":"…","say":"…","why":"stop","used":{"in":1,"out":2}}. A stream is server-sent events:
// {"say":"…"} for each piece, then one with "why" and "used".
package toytest

import (
	"encoding/json"
	"errors"
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

// Name is the word for the format in the configuration.
const Name = "toy"

// Dialect is the wire format.
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
	Stream bool   `json:"stream,omitempty"`
	Cap    *int64 `json:"cap,omitempty"`
	Turns  []turn `json:"turns"`
}

type turn struct {
	By  llm.Role `json:"by"`
	Say string   `json:"say"`
}

type answer struct {
	Model string           `json:"model,omitempty"`
	Say   string           `json:"say"`
	Why   llm.FinishReason `json:"why,omitempty"`
	Used  *used            `json:"used,omitempty"`
}

type used struct {
	In  int64 `json:"in"`
	Out int64 `json:"out"`
}

func (u *used) usage() (all llm.Usage) {
	all[llm.Input], all[llm.Output] = u.In, u.Out
	return all
}

func usedOf(u *llm.Usage) *used { return &used{u.InputTokens(), u.OutputTokens()} }

// The server half.

func scan(body []byte, _ *http.Request) (llm.Head, error) {
	return parse.Scan(body, parse.Complaint, "with a model and turns", rawjson.Names{"model", "stream", "cap", "turns"},
		func(h *llm.Head, m rawjson.Member) (err error) {
			switch string(m.Key()) {
			case "stream":
				h.Stream, err = parse.Bool(m.Value, "stream")
			case "cap":
				h.MaxOutput, err = parse.Int(m.Value, "cap", 1, parse.MaxCount)
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
	r.Messages = make([]llm.Message, 0, len(q.Turns)) // at once: what decoding takes is measured
	for _, t := range q.Turns {
		r.Messages = append(r.Messages, llm.Message{Role: t.By, Parts: []llm.Part{{Kind: llm.PartText, Text: t.Say}}})
	}
	return r, nil
}

func encodeReply(dst []byte, r *llm.Reply) []byte {
	c := &r.Choices[0]
	return appendJSON(dst, answer{Model: r.Model, Say: textOf(&c.Message), Why: c.Finish, Used: usedOf(&r.Usage)})
}

func encodeError(dst []byte, e *llm.Error, _ string) []byte {
	return append(rawjson.AppendString(append(dst, `{"error":`...), e.Placed()), '}')
}

type encoder struct{}

func (encoder) Append(dst []byte, e *llm.Event) []byte {
	if e.Kind != llm.EventText {
		return dst
	}
	return sse.Append(dst, "", appendJSON(nil, answer{Say: e.Text}))
}

func (encoder) Finish(dst []byte, f *llm.Final) []byte {
	dst = sse.Append(dst, "", appendJSON(nil, answer{Why: f.Finish[0], Used: usedOf(&f.Usage)}))
	return append(dst, dialect.Done...)
}

func (encoder) Fail(dst []byte, e *llm.Error) []byte {
	return sse.Append(dst, "", encodeError(nil, e, ""))
}

// The client half.

func encodeRequest(r *llm.Request, _ *llm.Quirks) (body []byte, dropped []string, err error) {
	q := request{Model: r.Model, Stream: r.Stream, Cap: r.MaxOutput}
	for i := range r.Messages {
		q.Turns = append(q.Turns, turn{r.Messages[i].Role, textOf(&r.Messages[i])})
	}
	if len(r.Tools) > 0 {
		dropped = []string{"tools"}
	}
	return appendJSON(nil, q), dropped, nil
}

// splice puts in the cap, too: without it no budget holds.
func splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	body = compose.SpliceModel(nil, body, h, s, q)
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return append(dst, body...)
	}
	return rawjson.Splice(dst, body, rawjson.Set(body, "cap", strconv.AppendInt(nil, s.MaxOutput, 10)))
}

func decodeReply(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Used == nil {
		return nil, errors.Join(errors.New("toy: no reply"), err)
	}
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: a.Say}}}
	return &llm.Reply{
		ExtraOf: Name, Model: a.Model, Usage: a.Used.usage(), Reported: true,
		Choices: []llm.Choice{{Message: message, Finish: a.Why}},
	}, nil
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
	if a.Used == nil {
		return append(dst, llm.Event{Kind: llm.EventText, Text: a.Say}), nil
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Finish: a.Why},
		llm.Event{Kind: llm.EventUsage, Usage: a.Used.usage()}), nil
}

func textOf(m *llm.Message) string {
	var text llm.Joined // += would copy the text for each part
	for i := range m.Parts {
		text.Add(m.Parts[i].Words())
	}
	return text.String()
}

func appendJSON(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // none of these types can fail
	}
	return append(dst, text...)
}
