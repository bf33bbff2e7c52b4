package simulator_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// toy is a made-up wire format: as small as can be, and in one way or another
// unlike OpenAI's.
type toy struct {
	name    string
	inPath  bool   // the path names the model, and says whether to stream
	route   string // of its chat
	framing dialect.Framing
	marker  string

	// What tells usage: $in, $out and $why are put in.
	start string      // the event before the first piece; empty for none
	end   [][2]string // names and data of the last events
	usage string      // the members of a whole reply that tell usage
	// told is where the input and the output tokens stand, in a reply or event.
	told [][2][]string
}

var toys = []*toy{
	{
		name: "lines", route: "POST /lines", framing: linesFraming,
		end:   [][2]string{{"", `{"message":{"text":""},"done":true,"done_reason":"$why","prompt_eval_count":$in,"eval_count":$out}`}},
		usage: `"prompt_eval_count":$in,"eval_count":$out`,
		told:  [][2][]string{{{"prompt_eval_count"}, {"eval_count"}}},
	},
	{
		name: "binary", route: "POST /model/{target...}", inPath: true, framing: binaryFraming,
		end: [][2]string{
			{"messageStop", `{"stopReason":"$why"}`},
			{"metadata", `{"usage":{"inputTokens":$in,"outputTokens":$out,"details":[{"tokens":1}]},"metrics":{"latencyMs":1}}`},
		},
		usage: `"usage":{"inputTokens":$in,"outputTokens":$out,"details":[{"tokens":1}]}`,
		told:  [][2][]string{{{"usage", "inputTokens"}, {"usage", "outputTokens"}}},
	},
	{
		name: "chunks", route: "POST /v1beta/models/{target...}", inPath: true, framing: eventsFraming,
		end:   [][2]string{{"", `{"candidates":[{"finishReason":"$why"}],"usageMetadata":{"promptTokenCount":$in,"candidatesTokenCount":$out,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1}]}}`}},
		usage: `"usageMetadata":{"promptTokenCount":$in,"candidatesTokenCount":$out,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1}]}`,
		told:  [][2][]string{{{"usageMetadata", "promptTokenCount"}, {"usageMetadata", "candidatesTokenCount"}}},
	},
	{
		name: "states", route: "POST /states", framing: eventsFraming,
		start: `{"type":"response.created","response":{"status":"in_progress","usage":null}}`,
		end: [][2]string{
			{"response.completed", `{"type":"response.completed","response":{"status":"completed","finish":"$why","usage":{"input_tokens":$in,"input_tokens_details":{"cached_tokens":0},"output_tokens":$out}}}`},
		},
		usage: `"usage":{"input_tokens":$in,"input_tokens_details":{"cached_tokens":0},"output_tokens":$out}`,
		told: [][2][]string{
			{{"response", "usage", "input_tokens"}, {"response", "usage", "output_tokens"}},
			{{"usage", "input_tokens"}, {"usage", "output_tokens"}},
		},
	},
	{
		name: "named", route: "POST /named", framing: eventsFraming,
		marker: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		start:  `{"type":"message_start","message":{"content":[],"usage":{"input_tokens":$in,"output_tokens":1,"cache":{"tokens":0}}}}`,
		end: [][2]string{
			{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"$why"},"usage":{"input_tokens":$in,"output_tokens":$out,"cache":{"tokens":0}}}`},
			{"message_stop", `{"type":"message_stop"}`},
		},
		usage: `"usage":{"input_tokens":$in,"output_tokens":$out,"cache":{"tokens":0}}`,
		told: [][2][]string{
			{{"message", "usage", "input_tokens"}, {"message", "usage", "output_tokens"}},
			{{"usage", "input_tokens"}, {"usage", "output_tokens"}},
		},
	},
	{
		name: "nested", route: "POST /nested", framing: eventsFraming, marker: "data: [DONE]\n\n",
		end: [][2]string{
			{"message-end", `{"type":"message-end","delta":{"finish_reason":"$why","usage":{"billed_units":{"output_tokens":$out},"tokens":{"input_tokens":$in,"output_tokens":$out},"cached_tokens":0}}}`},
			{"", `[DONE]`},
		},
		usage: `"usage":{"billed_units":{"output_tokens":$out},"tokens":{"input_tokens":$in,"output_tokens":$out},"cached_tokens":0}`,
		told: [][2][]string{
			{{"delta", "usage", "tokens", "input_tokens"}, {"delta", "usage", "tokens", "output_tokens"}},
			{{"usage", "tokens", "input_tokens"}, {"usage", "tokens", "output_tokens"}},
		},
	},
}

func toyDialects() []*dialect.Dialect {
	var all []*dialect.Dialect
	for _, t := range toys {
		all = append(all, t.dialect())
	}
	return all
}

func (t *toy) dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: t.name,
		Operation: dialect.Operation{
			Op: llm.OpChat, Routes: []string{t.route},
			Framing: t.framing, EndMarker: t.marker,
			Scan: t.scan, DecodeRequest: decodeToy,
			EncodeReply: t.encodeReply,
			NewEncoder:  func(llm.Meta) dialect.Encoder { return &toyEncoder{t: t} },
			NewDecoder:  func(*llm.Quirks) dialect.Decoder { return toyDecoder{} },
		},
		Status: func(llm.Code) int { return http.StatusBadRequest },
		EncodeError: func(dst []byte, e *llm.Error, _ string) []byte {
			return append(rawjson.AppendString(append(dst, `{"error":{"code":400,"message":`...), e.Message), `}}`...)
		},
	}
}

// toyRequest is what all of them ask.
type toyRequest struct {
	Model     string       `json:"model,omitempty"`
	Stream    bool         `json:"stream,omitempty"`
	MaxTokens *int64       `json:"max_tokens,omitempty"`
	Messages  []toyMessage `json:"messages"`
}

type toyMessage struct {
	Role      string  `json:"role"`
	Text      string  `json:"text"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
}

// ask gives path and body of a request for a model.
func (t *toy) ask(model string, stream bool, messages ...toyMessage) (path, body string) {
	r := toyRequest{Messages: messages}
	path = strings.TrimPrefix(t.route, "POST ")
	if t.inPath {
		path = strings.Replace(path, "{target...}", model+map[bool]string{true: "/stream", false: "/whole"}[stream], 1)
	} else {
		r.Model, r.Stream = model, stream
	}
	if len(messages) == 0 {
		r.Messages = []toyMessage{{Role: "user", Text: "Say it again, please"}}
	}
	b, _ := json.Marshal(r)
	return path, string(b)
}

func (t *toy) scan(body []byte, r *http.Request) (llm.Head, error) {
	var q toyRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return llm.Head{}, llm.Invalid("", err.Error())
	}
	h := llm.Head{Model: q.Model, Stream: q.Stream, Choices: 1, ModelSpan: llm.Span{Start: 1, End: 2}}
	if t.inPath {
		target := r.PathValue("target")
		at := strings.LastIndexByte(target, '/')
		h.Model, h.Stream, h.ModelSpan = target[:max(at, 0)], target[at+1:] == "stream", llm.Span{}
	}
	return h, nil
}

func decodeToy(body []byte) (*llm.Request, error) {
	var q toyRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, llm.Invalid("", err.Error())
	}
	r := &llm.Request{MaxOutput: q.MaxTokens}
	for _, m := range q.Messages {
		out := llm.Message{Role: llm.Role(m.Role)}
		if m.Thinking != nil {
			out.Parts = append(out.Parts, llm.Part{Kind: llm.PartReasoning, Text: *m.Thinking, Signature: m.Signature})
		}
		out.Parts = append(out.Parts, llm.Part{Kind: llm.PartText, Text: m.Text})
		r.Messages = append(r.Messages, out)
	}
	return r, nil
}

func (t *toy) encodeReply(dst []byte, r *llm.Reply) []byte {
	var m toyMessage
	for _, p := range r.Choices[0].Message.Parts {
		if p.Kind == llm.PartReasoning {
			m.Thinking, m.Signature = &p.Text, p.Signature
		} else {
			m.Text += p.Text
		}
	}
	b, _ := json.Marshal(m)
	return fmt.Appendf(dst, `{"message":%s,"finish":%q,%s}`, b, r.Choices[0].Finish, tell(t.usage, &r.Usage, ""))
}

// tell puts usage and finish reason into a text.
func tell(text string, u *llm.Usage, why llm.FinishReason) string {
	return strings.NewReplacer("$in", fmt.Sprint(u.InputTokens()), "$out", fmt.Sprint(u.OutputTokens()), "$why", string(why)).Replace(text)
}

// toyEncoder writes one stream.
type toyEncoder struct{ t *toy }

func (e *toyEncoder) Append(dst []byte, ev *llm.Event) []byte {
	data := rawjson.AppendString([]byte(`{"type":"piece","delta":{"text":`), ev.Text)
	switch {
	case ev.Kind == llm.EventStart && e.t.start == "":
		return dst
	case ev.Kind == llm.EventStart:
		return e.t.framing.Append(dst, "start", []byte(tell(e.t.start, &ev.Usage, "")))
	case ev.Signature != "":
		data = rawjson.AppendString([]byte(`{"type":"piece","delta":{"signature":`), ev.Signature)
	case ev.Kind == llm.EventReasoning:
		data = rawjson.AppendString([]byte(`{"type":"piece","delta":{"thinking":`), ev.Text)
	}
	return e.t.framing.Append(dst, "piece", append(data, `}}`...))
}

func (e *toyEncoder) Finish(dst []byte, f *llm.Final) []byte {
	for _, ev := range e.t.end {
		dst = e.t.framing.Append(dst, ev[0], []byte(tell(ev[1], &f.Usage, f.Finish[0])))
	}
	return dst
}

func (e *toyEncoder) Fail(dst []byte, err *llm.Error) []byte {
	return e.t.framing.Append(dst, "error", e.t.dialect().EncodeError(nil, err, ""))
}

// toyDecoder knows the one end marker that is no fixed text.
type toyDecoder struct{}

func (toyDecoder) Decode(dst []llm.Event, f sse.Event) ([]llm.Event, error) {
	if string(f.Name) == "response.completed" {
		dst = append(dst, llm.Event{Kind: llm.EventDone})
	}
	return dst, nil
}

var eventsFraming = dialect.Framing{
	ContentType: "text/event-stream", Append: sse.Append,
	NewReader: func(src io.Reader, most int) dialect.Frames { return sse.NewReader(src, most) },
}

// linesFraming is a JSON text a line.
var linesFraming = dialect.Framing{
	ContentType: "application/x-ndjson",
	Append:      func(dst []byte, _ string, data []byte) []byte { return append(append(dst, data...), '\n') },
	NewReader:   func(src io.Reader, _ int) dialect.Frames { return &linesReader{bufio.NewReader(src)} },
}

type linesReader struct{ r *bufio.Reader }

func (r *linesReader) Next() (sse.Event, error) {
	line, err := r.r.ReadBytes('\n')
	if err != nil {
		return sse.Event{}, err
	}
	return sse.Event{Data: bytes.TrimRight(line, "\r\n"), Raw: line}, nil
}

func (r *linesReader) Buffered() bool { return false }

func (r *linesReader) Rest() []byte { return nil }

// binaryFraming is frames of a length of four bytes, a name with a length of
// one byte, the data, and a checksum of all that.
var binaryFraming = dialect.Framing{
	ContentType: "application/vnd.toy", Append: appendBinary,
	NewReader: func(src io.Reader, _ int) dialect.Frames { return &binaryReader{src} },
}

func appendBinary(dst []byte, name string, data []byte) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(1+len(name)+len(data)))
	dst = append(append(append(dst, byte(len(name))), name...), data...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}

type binaryReader struct{ r io.Reader }

var errChecksum = errors.New("the checksum is wrong")

func (r *binaryReader) Next() (sse.Event, error) {
	b := make([]byte, 4)
	if _, err := io.ReadFull(r.r, b); err != nil {
		return sse.Event{}, err
	}
	n := int(binary.BigEndian.Uint32(b))
	b = append(b, make([]byte, n+4)...)
	if _, err := io.ReadFull(r.r, b[4:]); err != nil {
		return sse.Event{}, io.ErrUnexpectedEOF
	}
	if crc32.ChecksumIEEE(b[:4+n]) != binary.BigEndian.Uint32(b[4+n:]) {
		return sse.Event{}, errChecksum
	}
	rest := b[5 : 4+n]
	return sse.Event{Name: rest[:b[4]], Data: rest[b[4]:], Raw: b}, nil
}

func (r *binaryReader) Buffered() bool { return false }

func (r *binaryReader) Rest() []byte { return nil }
