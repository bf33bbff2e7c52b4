package gemini

import (
	"cmp"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// maxArguments bounds, in bytes, the arguments of the calls of one stream, which wait for their end.
const maxArguments = 8 << 20

// Encoder writes one stream of GenerateContentResponse objects. Calls cannot be split in this format, so the last
// object has them, whole.
type Encoder struct {
	tail  []byte // end of every object
	calls []openCall
	size  int // their bytes so far

	sources map[int]*grounded // by choice

	followed bool // the tail is that of a followed stream
}

// openCall is a call with incomplete arguments.
type openCall struct {
	choice, index int
	signature     string
	call          llm.ToolCall
	arguments     []byte
	cut           bool // they exceed the bound
}

// NewEncoder returns an encoder of one stream.
func NewEncoder(m llm.Meta) *Encoder {
	return &Encoder{tail: tail(m.ID, m.Model)}
}

func tail(id, model string) []byte {
	t := rawjson.AppendString(append(make([]byte, 0, 128), `"modelVersion":`...), model)
	return rawjson.AppendString(append(t, `,"responseId":`...), id)
}

// opening begins every event.
const opening = `data: {"candidates":[`

// Append writes a piece of the answer. It ignores the start, and stores calls until their end.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice < 0 || ev.Choice >= maxChoices {
		return dst
	}
	switch ev.Kind {
	case llm.EventText, llm.EventRefusal:
		return e.text(dst, ev, false)
	case llm.EventReasoning:
		return e.text(dst, ev, true)
	case llm.EventToolCall:
		e.call(ev)
	case llm.EventClaim:
		e.grounded(ev.Choice, ev.Claim.Source.Size()).claim(placed{Claim: *ev.Claim})
	case llm.EventSearch:
		e.grounded(ev.Choice, ev.Search.Size()).search(ev.Search)
	case llm.EventOther:
		if ev.RawOf == Name {
			return e.close(append(open(dst), ev.Raw...), ev.Choice)
		}
		if ev.Media != nil {
			if dst, ok := appendMedia(append(open(dst), '{'),
				&llm.Part{Kind: cmp.Or(parse.MediaKind(ev.Media.MIME), llm.PartImage), Media: ev.Media}); ok {
				return e.close(append(dst, '}'), ev.Choice)
			}
		}
		return e.text(dst, &llm.Event{Choice: ev.Choice, Text: ev.Words()}, false)
	}
	return dst
}

func (e *Encoder) text(dst []byte, ev *llm.Event, thought bool) []byte {
	var signature string
	if ev.Signature != "" || ev.Redacted != "" {
		signature = signatureOf(ev.Maker, ev.Signature, ev.Redacted)
	}
	if ev.Text == "" && signature == "" && ev.Tokens == nil {
		return dst
	}
	dst = appendText(open(dst), ev.Text, thought)
	dst = append(append(appendSigned(dst, signature), '}'), endOfParts...)
	return e.closeCandidate(appendLogprobs(dst, ev.Tokens), ev.Choice)
}

// grounded returns the sources of a choice and counts size bytes for a new one. The last object has them. It returns a
// discarded set if the bound is exceeded.
func (e *Encoder) grounded(choice, size int) *grounded {
	g := e.sources[choice]
	if e.size += size; e.size > maxArguments {
		return &grounded{}
	}
	if g == nil {
		if e.sources == nil {
			e.sources = map[int]*grounded{}
		}
		g = &grounded{}
		e.sources[choice] = g
	}
	return g
}

// Size returns the stored bytes of calls and sources.
func (e *Encoder) Size() int { return e.size }

// open begins an event with one candidate, up to its first part.
func open(dst []byte) []byte {
	return append(append(dst, opening...), `{"content":{"parts":[`...)
}

// endOfParts ends the content of a candidate.
const endOfParts = `],"role":"model"}`

// close ends an event after the last part of its candidate.
func (e *Encoder) close(dst []byte, choice int) []byte {
	return e.closeCandidate(append(dst, endOfParts...), choice)
}

// closeCandidate ends an event after the content of its candidate.
func (e *Encoder) closeCandidate(dst []byte, choice int) []byte {
	dst = rawjson.AppendCount(dst, `,"index":`, int64(choice))
	return append(append(append(dst, "}],"...), e.tail...), "}\n\n"...)
}

// call stores a piece of a call.
func (e *Encoder) call(ev *llm.Event) {
	c := e.find(ev)
	if c == nil {
		return
	}
	c.call.ID, c.call.Name = cmp.Or(c.call.ID, ev.Tool.ID), cmp.Or(c.call.Name, ev.Tool.Name)
	c.signature = cmp.Or(ev.Signature, c.signature)
	e.size += len(ev.Tool.ID) + len(ev.Tool.Name) + len(ev.Signature)
	if e.size+len(ev.Text) > maxArguments {
		c.cut = true
		return
	}
	e.size += len(ev.Text)
	c.arguments = append(c.arguments, ev.Text...)
}

// find returns the call that an event opens or continues; nil for one too many.
func (e *Encoder) find(ev *llm.Event) *openCall {
	for i := len(e.calls) - 1; i >= 0; i-- {
		if c := &e.calls[i]; c.choice == ev.Choice && c.index == ev.Tool.Index {
			return c
		}
	}
	if len(e.calls) == maxCalls {
		return nil
	}
	e.calls = append(e.calls, openCall{choice: ev.Choice, index: ev.Tool.Index})
	return &e.calls[len(e.calls)-1]
}

// Finish writes the last object: the calls and the finish reason of every candidate, and the usage. Nothing follows it.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	dst = append(dst, opening...)
	for i, reason := range f.Finish {
		if i >= maxChoices {
			break
		}
		dst = e.finish(rawjson.AppendComma(dst), i, reason)
	}
	dst = append(dst, "],"...)
	if f.Reported || !f.Usage.IsZero() {
		dst = append(appendUsage(append(dst, `"usageMetadata":`...), &f.Usage, f.Cost), ',')
	}
	dst = append(dst, e.tail...)
	dst = stamp.Attempts(dst, f)
	return append(dst, "}\n\n"...)
}

// finish writes the end of one candidate. It omits a call with arguments that are not an object, and reports that in
// the finish reason.
func (e *Encoder) finish(dst []byte, choice int, reason llm.FinishReason) []byte {
	dst = append(dst, `{"content":{"parts":[`...)
	empty := len(dst)
	broken := ""
	for i := range e.calls {
		c := &e.calls[i]
		if c.choice != choice {
			continue
		}
		c.call.Arguments = string(c.arguments)
		if _, ok := parse.Object(c.call.Arguments); !ok || c.cut {
			broken = c.call.Name
			continue
		}
		dst = appendPart(dst, &llm.Part{Kind: llm.PartToolCall, Call: &c.call, Signature: c.signature})
	}
	if len(dst) == empty {
		dst = append(dst, `{"text":""}`...)
	}
	dst = append(dst, endOfParts...)
	if broken != "" {
		dst = appendMalformed(dst, broken)
	} else {
		dst = rawjson.AppendString(append(dst, `,"finishReason":`...), finishWord(reason))
	}
	if g := e.sources[choice]; g != nil {
		dst = g.append(dst)
	}
	return append(rawjson.AppendCount(dst, `,"index":`, int64(choice)), '}')
}

// Fail writes an in-band error, which ends the stream.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	return sse.Append(dst, "", EncodeError(nil, err, ""))
}
