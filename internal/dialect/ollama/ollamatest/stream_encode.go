package ollamatest

import (
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxCalls bounds the tool calls of a stream.
const maxCalls = 1024

// maxArguments bounds, in bytes, the arguments of all calls of an answer, which are stored until they are complete.
// Longer ones are cut, so that they are not an object, and are written as a string.
const maxArguments = 8 << 20

// Encoder writes one stream of answer pieces, one in each line.
type Encoder struct {
	opening []byte // beginning of every line
	calls   []keptCall
	kept    int // bytes of the calls
}

type keptCall struct {
	id, name  string
	arguments []byte
}

// NewEncoder returns an encoder of one stream.
func NewEncoder(m llm.Meta) *Encoder {
	return &Encoder{opening: appendOpening(make([]byte, 0, 128), m.Model, m.Created)}
}

// Size returns the stored bytes of calls.
func (e *Encoder) Size() int { return e.kept }

// Append writes a piece of the answer. It stores tool calls until the end, because their arguments are an object in
// this format. Refusals become content, and the format has one choice.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice != 0 {
		return dst
	}
	switch ev.Kind {
	case llm.EventText, llm.EventRefusal:
		return e.text(dst, `"content":`, ev.Text)
	case llm.EventReasoning:
		return e.text(dst, `"content":"","thinking":`, ev.Text)
	case llm.EventToolCall:
		e.keep(ev)
	case llm.EventOther: // images
		if m := ev.Media; m != nil && m.Data != "" {
			dst = append(append(dst, e.opening...), `,"message":{"role":"assistant","content":"","images":[`...)
			return append(rawjson.AppendString(dst, m.Data), "]},\"done\":false}\n"...)
		}
		return e.text(dst, `"content":`, ev.Words())
	}
	return dst
}

func (e *Encoder) text(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(append(append(dst, e.opening...), `,"message":{"role":"assistant",`...), name...)
	return append(rawjson.AppendString(dst, text), "},\"done\":false}\n"...)
}

func (e *Encoder) keep(ev *llm.Event) {
	i := ev.Tool.Index
	if i < 0 || i >= maxCalls {
		return
	}
	for len(e.calls) <= i {
		e.calls = append(e.calls, keptCall{})
	}
	c := &e.calls[i]
	if ev.Tool.ID != "" || ev.Tool.Name != "" {
		c.id, c.name = ev.Tool.ID, ev.Tool.Name
		e.kept += len(c.id) + len(c.name)
	}
	n := min(len(ev.Text), max(0, maxArguments-e.kept))
	c.arguments = append(c.arguments, ev.Text[:n]...)
	e.kept += n
}

// Finish writes the tool calls, then the last line with the finish reason and the usage. The format has no end marker.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	var reason llm.FinishReason
	if len(f.Finish) > 0 {
		reason = f.Finish[0]
	}
	if len(e.calls) > 0 {
		dst = append(append(dst, e.opening...), `,"message":{"role":"assistant","content":"","tool_calls":[`...)
		for i, c := range e.calls {
			dst = rawjson.AppendComma(dst)
			call := llm.ToolCall{ID: c.id, Name: c.name, Arguments: string(c.arguments)}
			dst = ollama.AppendCall(dst, &call, i, false)
		}
		dst = append(dst, "]},\"done\":false}\n"...)
	}
	dst = append(append(dst, e.opening...),
		`,"message":{"role":"assistant","content":""},"done":true,"done_reason":`...)
	dst = rawjson.AppendString(dst, finishWord(reason))
	if f.Reported || !f.Usage.IsZero() {
		dst = appendUsage(dst, &f.Usage, f.Cost)
	}
	dst = stamp.Attempts(dst, f)
	return append(dst, "}\n"...)
}

// Fail writes an in-band error, which ends the stream.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	return append(EncodeError(dst, err, ""), '\n')
}
