package native

import (
	"strconv"

	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Encoder encodes one streamed answer: an object per piece, a last one with the finish reason and the usage, then the
// end marker.
type Encoder struct {
	id      string
	opening []byte // the common beginning of every event
	begun   uint64 // the choices below 64 whose first piece was sent
	texts   position.Texts
}

// NewEncoder returns the encoder of one streamed answer.
func NewEncoder(m llm.Meta) *Encoder {
	opening := append(make([]byte, 0, 192), "data: "...)
	return &Encoder{id: m.ID, opening: appendOpening(opening, m.ID, m.Created, m.Model)}
}

// Append appends a piece of text for the user. This format cannot express thinking and tool calls.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	switch ev.Kind {
	case llm.EventText:
		if ev.Text != "" {
			e.texts.Of(ev.Choice).Add(ev.Text)
			return e.piece(dst, ev.Choice, ev.Text)
		}
	case llm.EventRefusal, llm.EventOther:
		if text := ev.Words(); text != "" {
			e.texts.Of(ev.Choice).Insert(text)
			return e.piece(dst, ev.Choice, text)
		}
	case llm.EventClaim:
		at, c := e.texts.Of(ev.Choice), ev.Claim
		dst = append(e.open(dst, ev.Choice), `"content":"","citations":[`...)
		dst = appendCitation(dst, &c.Source, at.ToCharacters(c.Start), at.ToCharacters(c.End))
		return closeDelta(append(dst, ']'))
	case llm.EventSearch:
		dst = append(e.open(dst, ev.Choice), `"content":"","searches":[`...)
		return closeDelta(append(appendSearch(dst, ev.Search), ']'))
	}
	return dst
}

// open begins an object with the delta of one choice.
func (e *Encoder) open(dst []byte, choice int) []byte {
	dst = append(append(dst, e.opening...), `{"index":`...)
	dst = strconv.AppendInt(dst, int64(choice), 10)
	dst = append(dst, `,"delta":{`...)
	if e.begin(choice) {
		dst = append(dst, `"role":"assistant",`...)
	}
	return dst
}

func closeDelta(dst []byte) []byte { return append(dst, "},\"finish_reason\":null}]}\n\n"...) }

func (e *Encoder) piece(dst []byte, choice int, text string) []byte {
	return closeDelta(rawjson.AppendString(append(e.open(dst, choice), `"content":`...), text))
}

// begin reports whether it is called for the first piece of a choice.
func (e *Encoder) begin(choice int) bool {
	bit := uint64(1) << (choice & 63)
	first := e.begun&bit == 0
	e.begun |= bit
	return first
}

// Finish appends the last object and the end marker. An answer without text gets an empty first piece, so that the
// client receives the role.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	if e.begun == 0 {
		dst = e.piece(dst, 0, "")
	}
	dst = append(dst, e.opening...)
	for i, reason := range f.Finish {
		dst = rawjson.AppendComma(dst)
		dst = strconv.AppendInt(append(dst, `{"index":`...), int64(i), 10)
		dst = append(dst, `,"delta":{},"finish_reason":`...)
		dst = append(rawjson.AppendString(dst, finishWord(reason)), '}')
	}
	dst = appendFinal(append(dst, ']'), f)
	return append(dst, "}\n\ndata: [DONE]\n\n"...)
}

// Fail appends an in-band error. No end marker follows.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	return sse.Append(dst, "error", EncodeError(nil, err, e.id))
}
