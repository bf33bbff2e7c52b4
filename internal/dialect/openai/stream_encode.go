package openai

import (
	"cmp"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Encoder writes one stream of chat.completion.chunk objects.
type Encoder struct {
	opening []byte // beginning of every event
	id      string
	created int64
	usage   bool // the client asked for usage
	begun   choices
	thought map[int]*openThought // by choice
	kept    int                  // bytes of all thinking
	notes   map[int][]byte       // annotations, by choice
	noted   int                  // bytes of all annotations
	images  int64

	called *llm.Called
	calls  calls
	texts  position.Texts

	followed bool // the opening is that of a followed stream
}

// maxThought bounds, in bytes, the stored thinking of all choices; it is repeated with its signature. Longer thinking
// is not repeated.
const maxThought = 4 << 20

// openThought is the thinking of a choice that has no signature yet.
type openThought struct {
	text []byte
	long bool  // longer than the bound
	told int64 // details so far
}

// NewEncoder returns an encoder of one stream.
func NewEncoder(m llm.Meta) *Encoder {
	return &Encoder{
		opening: opening(m.ID, m.Model, m.Created), id: m.ID, created: m.Created, usage: m.IncludeUsage,
		called: m.Called,
	}
}

func opening(id, model string, created int64) []byte {
	o := append(make([]byte, 0, 192), `data: {"id":`...)
	o = rawjson.AppendString(o, id)
	o = rawjson.AppendCount(o, `,"object":"chat.completion.chunk","created":`, created)
	o = rawjson.AppendString(append(o, `,"model":`...), model)
	return append(o, `,"choices":[`...)
}

// Append writes a piece of the answer. A chunk with the role precedes the first piece of a choice; before that it
// writes nothing.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice < 0 || ev.Choice >= maxChoices {
		return dst
	}
	switch ev.Kind {
	case llm.EventText:
		e.texts.Of(ev.Choice).Add(ev.Text)
		if ev.Signature != "" {
			return e.signedText(dst, ev)
		}
		return e.text(dst, ev, `"content":`)
	case llm.EventClaim:
		e.note(ev)
	case llm.EventReasoning:
		return e.proof(e.text(dst, ev, `"reasoning_content":`), ev)
	case llm.EventRefusal:
		return e.text(dst, ev, `"refusal":`)
	case llm.EventToolCall:
		return e.call(dst, ev)
	case llm.EventOther:
		return e.other(dst, ev)
	}
	return dst
}

// Size returns the stored bytes of thinking, annotations and calls.
func (e *Encoder) Size() int { return e.kept + e.noted + e.calls.size() }

// proof stores a piece of thinking, and writes the whole thinking when its signature arrives.
func (e *Encoder) proof(dst []byte, ev *llm.Event) []byte {
	t := e.thought[ev.Choice]
	if t == nil {
		t = &openThought{}
		if e.thought == nil {
			e.thought = map[int]*openThought{}
		}
		e.thought[ev.Choice] = t
	}
	t.long = t.long || e.kept+len(ev.Text) > maxThought
	if !t.long {
		t.text = append(t.text, ev.Text...)
		e.kept += len(ev.Text)
	}
	if ev.Signature == "" && ev.Redacted == "" {
		return dst
	}
	p := llm.Part{
		Kind: llm.PartReasoning, Text: string(t.text), Signature: ev.Signature, Redacted: ev.Redacted,
		Maker: ev.Maker,
	}
	long := t.long
	e.kept -= len(t.text)
	t.text, t.long = t.text[:0], false
	if long {
		return dst
	}
	dst = append(e.open(dst, ev.Choice), `"reasoning_details":[`...)
	dst, t.told = appendThought(dst, &p, t.told, !isKnown(ev.Maker))
	return e.closeDelta(append(dst, ']'))
}

// other writes an image, a sound, or text in place of a part that the format cannot express.
func (e *Encoder) other(dst []byte, ev *llm.Event) []byte {
	kind := llm.PartKind(0)
	if ev.Media != nil {
		kind = cmp.Or(parse.MediaKind(ev.Media.MIME), llm.PartImage)
	}
	switch {
	case kind == llm.PartAudio && ev.Media.Data != "":
		dst = append(e.open(dst, ev.Choice), `"audio":`...)
		return e.closeDelta(appendSound(dst, &llm.Part{Media: ev.Media, Text: ev.Text}, e.id, e.created))
	case kind == llm.PartImage && (ev.Media.Data != "" || ev.Media.URL != ""):
		dst = append(e.open(dst, ev.Choice), `"images":[`...)
		dst = appendImage(dst, ev.Media, e.images)
		e.images++
		return e.closeDelta(append(dst, ']'))
	case ev.RawOf == Name && ev.Text == "":
	case ev.RawOf != Name:
		e.texts.Of(ev.Choice).Insert(ev.Words())
		return e.text(dst, &llm.Event{Choice: ev.Choice, Text: ev.Words()}, `"content":`)
	}
	return dst
}

// note stores a citation until the end of its choice. OpenAI's SDK for Node uses the annotations of the last delta that
// has any as those of the message, and the one for Python fails at a second list.
func (e *Encoder) note(ev *llm.Event) {
	if e.notes == nil {
		e.notes = map[int][]byte{}
	}
	at, c, notes := e.texts.Of(ev.Choice), ev.Claim, e.notes[ev.Choice]
	e.noted -= len(notes)
	if notes != nil {
		notes = append(notes, ',')
	}
	notes = AppendCitation(notes, &c.Source, at.ToCharacters(c.Start), at.ToCharacters(c.End), false)
	e.notes[ev.Choice] = notes
	e.noted += len(notes)
}

// annotations writes the annotations of a choice in one delta.
func (e *Encoder) annotations(dst []byte, choice int) []byte {
	if len(e.notes[choice]) == 0 {
		return dst
	}
	dst = append(append(e.open(dst, choice), `"annotations":[`...), e.notes[choice]...)
	return e.closeDelta(append(dst, ']'))
}

func (e *Encoder) text(dst []byte, ev *llm.Event, name string) []byte {
	if ev.Text == "" && ev.Tokens == nil {
		return dst
	}
	dst = append(e.open(dst, ev.Choice), name...)
	return e.closeText(rawjson.AppendString(dst, ev.Text), ev.Tokens)
}

func (e *Encoder) signedText(dst []byte, ev *llm.Event) []byte {
	dst = rawjson.AppendString(append(e.open(dst, ev.Choice), `"content":`...), ev.Text)
	return e.closeText(appendSignature(dst, ev.Signature), ev.Tokens)
}

// appendCallDelta writes the tool_calls of a delta: with id, type and name if the call opens, otherwise only the
// arguments.
func appendCallDelta(dst []byte, ev *llm.Event) []byte {
	dst = rawjson.AppendCount(dst, `"tool_calls":[{"index":`, int64(ev.Tool.Index))
	if ev.Tool.ID != "" || ev.Tool.Name != "" {
		dst = rawjson.AppendString(append(dst, `,"id":`...), ev.Tool.ID)
		dst = append(dst, `,"type":"function","function":{"name":`...)
		dst = append(rawjson.AppendString(dst, ev.Tool.Name), ',')
	} else {
		dst = append(dst, `,"function":{`...)
	}
	dst = append(rawjson.AppendString(append(dst, `"arguments":`...), ev.Text), '}')
	if ev.Signature != "" {
		dst = appendSignature(dst, ev.Signature)
	}
	return append(dst, "}]"...)
}

// open begins a chunk with one delta; before the first delta of a choice it writes the role.
func (e *Encoder) open(dst []byte, choice int) []byte {
	if !e.begun.has(choice) {
		e.begun.add(choice)
		dst = append(e.openDelta(dst, choice), `"role":"assistant","content":"","refusal":null`...)
		dst = e.closeDelta(dst)
	}
	return e.openDelta(dst, choice)
}

func (e *Encoder) openDelta(dst []byte, choice int) []byte {
	dst = append(dst, e.opening...)
	return append(rawjson.AppendCount(dst, `{"index":`, int64(choice)), `,"delta":{`...)
}

func (e *Encoder) closeDelta(dst []byte) []byte { return e.closeText(dst, nil) }

// closeText ends a chunk with one delta and the log probabilities of its text.
func (e *Encoder) closeText(dst, tokens []byte) []byte {
	dst = appendTokens(append(dst, `},"logprobs":`...), tokens)
	return e.closeChunk(append(dst, `,"finish_reason":null}`...))
}

// closeChunk ends a chunk, with a null usage if the client requested usage.
func (e *Encoder) closeChunk(dst []byte) []byte {
	dst = append(dst, ']')
	if e.usage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// Finish writes the finish reason of every choice, the usage in a chunk of its own if the client requested it, and the
// end marker.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	dst = e.endCustom(dst)
	for i, reason := range f.Finish {
		if i >= maxChoices {
			break
		}
		dst = append(e.open(e.annotations(dst, i), i), `},"logprobs":null,"finish_reason":`...)
		dst = append(rawjson.AppendString(dst, e.finishOf(i, reason)), '}')
		if !e.usage && i == len(f.Finish)-1 && f.Attempts > 1 {
			dst = append(stamp.Attempts(append(dst, ']'), f), "}\n\n"...)
		} else {
			dst = e.closeChunk(dst)
		}
	}
	if e.usage {
		dst = append(append(dst, e.opening...), `],"usage":`...)
		dst = appendUsage(dst, &f.Usage, f.Cost)
		dst = stamp.Attempts(dst, f)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Fail writes an in-band error. No end marker follows.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	return sse.Append(dst, "", EncodeError(nil, err, ""))
}
