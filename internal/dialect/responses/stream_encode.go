package responses

import (
	"cmp"
	"strconv"

	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/dialect/proof"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// maxKept bounds, in bytes, the stored part of an answer, because its last event repeats all of it. A longer answer
// ends there, as incomplete.
const maxKept = 16 << 20

// itemSize is the memory of an item in addition to its text.
const itemSize = 512

// Encoder writes one stream of response events, with all events of every item. The format has one answer: it writes the
// first choice.
type Encoder struct {
	object   object
	called   *llm.Called
	begun    bool
	sequence int64
	items    []*item
	open     *item // an open message or thinking item; calls are open to the end
	kept     int
	full     bool
	answerAt int    // start of the answer in the output of Finish
	answer   []byte // set by Finish; nil for a failed answer
	text     position.Text
}

// NewEncoder returns an encoder of one stream.
func NewEncoder(m llm.Meta) *Encoder {
	return &Encoder{object: object{id: m.ID, model: m.Model, created: m.Created, extra: m.Echo}, called: m.Called}
}

// Append writes a piece of the answer. The events that open the answer precede the first piece; before that it writes
// nothing.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice != 0 || e.full {
		return dst
	}
	e.kept += len(ev.Text) + len(ev.Tokens) + len(ev.Redacted) + len(ev.Raw) + len(ev.Signature) +
		len(ev.Tool.ID) + len(ev.Tool.Name)
	if ev.Media != nil {
		e.kept += len(ev.Media.Data)
	}
	if e.kept > maxKept {
		e.full = true
		return dst
	}
	switch ev.Kind {
	case llm.EventText, llm.EventRefusal:
		if ev.Text != "" || ev.Tokens != nil {
			dst = e.words(e.begin(dst), ev)
		}
		if ev.Kind == llm.EventText {
			e.text.Add(ev.Text)
		}
		dst = e.loose(dst, ev, proof.OfText)
	case llm.EventReasoning:
		dst = e.thought(dst, ev)
	case llm.EventToolCall:
		dst = e.call(e.begin(dst), ev)
	case llm.EventOther:
		dst = e.other(dst, ev)
	case llm.EventClaim:
		dst = e.claim(dst, ev.Claim)
	case llm.EventSearch:
		if ev.RawOf != Name {
			dst = e.search(dst, ev.Search)
		}
	}
	return dst
}

// Size returns the stored bytes of the answer.
func (e *Encoder) Size() int { return e.kept }

// event begins an event. Its members follow.
func (e *Encoder) event(dst []byte, kind string) []byte {
	dst = append(append(append(dst, "event: "...), kind...), "\ndata: {\"type\":\""...)
	dst = rawjson.AppendCount(append(dst, kind...), `","sequence_number":`, e.sequence)
	e.sequence++
	return dst
}

func closeEvent(dst []byte) []byte { return append(dst, "}\n\n"...) }

// begin writes the events that open an answer, once.
func (e *Encoder) begin(dst []byte) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	for _, kind := range []string{"response.created", "response.in_progress"} {
		dst = append(e.event(dst, kind), `,"response":`...)
		dst = e.object.open(dst, statusInProgress, "")
		dst = e.object.rest(append(dst, `,"output":[],"usage":null`...))
		dst = closeEvent(append(dst, '}'))
	}
	return dst
}

// words writes a piece of a message: of its text, or of a refusal.
func (e *Encoder) words(dst []byte, ev *llm.Event) []byte {
	dst = e.openPart(dst, ev.Kind)
	it := e.open
	it.text = append(it.text, ev.Text...)
	it.tokens = joinTokens(it.tokens, ev.Tokens)
	kind := "response.output_text.delta"
	if ev.Kind == llm.EventRefusal {
		kind = "response.refusal.delta"
	}
	dst = it.place(e.event(dst, kind), `,"content_index":`)
	dst = rawjson.AppendString(append(dst, `,"delta":`...), ev.Text)
	if ev.Kind != llm.EventRefusal {
		dst = appendBrief(dst, ev.Tokens)
	}
	return closeEvent(dst)
}

// openPart opens a part of a message, unless it is open.
func (e *Encoder) openPart(dst []byte, kind llm.EventKind) []byte {
	if e.open == nil || e.open.kind != llm.EventText {
		dst = e.close(dst, statusCompleted)
		e.open = &item{kind: llm.EventText}
		dst = e.add(dst, e.open)
	}
	if e.open.part == kind {
		return dst
	}
	dst = e.open.openPart(e, e.open.closePart(e, dst), kind)
	e.open.begin = e.text.Characters()
	return dst
}

// thought writes a piece of the thinking as a summary, which all clients support, or stores encrypted thinking until
// the end of its item.
func (e *Encoder) thought(dst []byte, ev *llm.Event) []byte {
	redacted := ev.Redacted
	// seal it with its signed id, which differs from the item's id
	if ev.Signature != "" && (redacted != "" || proof.IsForeign(ev.Maker, Name)) {
		redacted = proof.Seal(proof.Proof{Maker: ev.Maker, Signature: ev.Signature, Redacted: redacted})
	} else if redacted != "" && proof.IsForeign(ev.Maker, Name) {
		redacted = proof.Seal(proof.Proof{Maker: ev.Maker, Redacted: redacted})
	}
	if ev.Text == "" && redacted == "" {
		return dst
	}
	dst = e.begin(dst)
	if e.open == nil || e.open.kind != llm.EventReasoning {
		dst = e.close(dst, statusCompleted)
		e.open = &item{kind: llm.EventReasoning}
		dst = e.add(dst, e.open)
	}
	if ev.Text != "" {
		dst = e.summary(dst, ev.Text)
	}
	if redacted != "" {
		e.open.redacted = redacted
		return e.close(dst, statusCompleted)
	}
	return dst
}

// summary writes a piece of the open thinking.
func (e *Encoder) summary(dst []byte, text string) []byte {
	it := e.open
	if it.part == 0 {
		dst = it.openPart(e, dst, llm.EventReasoning)
	}
	it.text = append(it.text, text...)
	dst = it.place(e.event(dst, "response.reasoning_summary_text.delta"), `,"summary_index":`)
	return closeEvent(rawjson.AppendString(append(dst, `,"delta":`...), text))
}

// loose writes another vendor's signature of a text or a call, as encrypted thinking.
func (e *Encoder) loose(dst []byte, ev *llm.Event, of string) []byte {
	if ev.Signature == "" {
		return dst
	}
	dst = e.close(e.begin(dst), statusCompleted)
	e.open = &item{kind: llm.EventReasoning, redacted: proof.Seal(proof.Proof{
		Maker: ev.Maker, Of: of,
		Signature: ev.Signature,
	})}
	return e.close(e.add(dst, e.open), statusCompleted)
}

// other writes an unmodelled item, an image, or text in place of a part without a form. It is written whole.
func (e *Encoder) other(dst []byte, ev *llm.Event) []byte {
	it := &item{kind: llm.EventOther}
	switch own := ev.RawOf == Name; {
	case own && rawjson.KindOf(ev.Raw) == rawjson.Object:
		it.whole = append([]byte(nil), ev.Raw...)
	case own:
		return dst
	case isPicture(&llm.Part{Kind: kindOf(ev.Media), Media: ev.Media}):
		it.whole = appendPicture(nil, ev.Media, itemID("ig_", e.object.id, len(e.items)))
	case ev.Words() != "":
		dst = e.words(e.begin(dst), &llm.Event{Kind: llm.EventText, Text: ev.Words()})
		e.text.Insert(ev.Words())
		return dst
	default:
		return dst
	}
	dst = e.begin(dst)
	return e.done(e.add(e.close(dst, statusCompleted), it), it)
}

// kindOf returns the kind of media in a stream; an image if the type is unknown.
func kindOf(m *llm.Media) llm.PartKind {
	if m == nil {
		return 0
	}
	return cmp.Or(parse.MediaKind(m.MIME), llm.PartImage)
}

// add begins an item.
func (e *Encoder) add(dst []byte, it *item) []byte {
	it.output = len(e.items)
	prefix := prefixes[it.kind]
	if it.kind == llm.EventToolCall {
		prefix = calledPrefix(it.tool.Kind)
	}
	it.id = itemID(prefix, e.object.id, it.output)
	e.items = append(e.items, it)
	e.kept += itemSize
	dst = rawjson.AppendCount(e.event(dst, "response.output_item.added"), `,"output_index":`, int64(it.output))
	return closeEvent(it.append(append(dst, `,"item":`...), statusInProgress))
}

// close ends the open message or thinking.
func (e *Encoder) close(dst []byte, status string) []byte {
	it := e.open
	if it == nil {
		return dst
	}
	e.open = nil
	dst = it.closePart(e, dst)
	it.whole = it.append(nil, status)
	return e.done(dst, it)
}

// done writes the end of an item.
func (e *Encoder) done(dst []byte, it *item) []byte {
	dst = rawjson.AppendCount(e.event(dst, "response.output_item.done"), `,"output_index":`, int64(it.output))
	return closeEvent(append(append(dst, `,"item":`...), it.whole...))
}

// Finish writes the ends of all items and of the answer, with all of it.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	var finish llm.FinishReason
	if len(f.Finish) > 0 {
		finish = f.Finish[0]
	}
	if e.full {
		finish = llm.FinishLength
	}
	status, reason := stateOf(finish)
	dst = e.close(e.begin(dst), itemStatus(status))
	for _, it := range e.items {
		if it.whole == nil {
			dst = it.closeArguments(e, dst)
			it.whole = it.append(nil, itemStatus(status))
			dst = e.done(dst, it)
		}
	}
	dst = e.last(dst, status, reason, &llm.Error{
		Code:    llm.CodeProviderError,
		Message: "The provider could not complete the answer.",
	})
	if f.Reported || !f.Usage.IsZero() {
		dst = appendUsage(dst, &f.Usage, f.Cost)
	} else {
		dst = append(dst, `,"usage":null`...)
	}
	dst = append(stamp.Attempts(dst, f), '}')
	if status != statusFailed {
		e.answer = dst[e.answerAt:]
	}
	return closeEvent(dst)
}

// Kept returns the answer that Finish wrote.
func (e *Encoder) Kept() []byte { return e.answer }

// last begins the answer's last event, up to its usage.
func (e *Encoder) last(dst []byte, status, reason string, failure *llm.Error) []byte {
	dst = append(e.event(dst, "response."+status), `,"response":`...)
	e.answerAt = len(dst)
	dst = e.object.open(dst, status, reason)
	if status == statusFailed {
		dst = appendFailure(dst, failure)
	}
	dst = append(e.object.rest(dst), `,"output":[`...)
	for _, it := range e.items {
		dst = rawjson.AppendComma(dst)
		if it.whole != nil {
			dst = append(dst, it.whole...)
		} else {
			dst = it.append(dst, statusIncomplete)
		}
	}
	return append(dst, ']')
}

// Fail writes an in-band error, and ends the answer if it has begun. The event has the error twice: flat, as
// documented, and in an object, where the official clients read it.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	body := rawjson.Get(openai.EncodeError(nil, err, ""), "error")
	data := append([]byte(`{"type":"error","sequence_number":`), strconv.FormatInt(e.sequence, 10)...)
	e.sequence++
	for m := range rawjson.Members(body) {
		if !m.Is("type") {
			data = rawjson.AppendMember(data, m.Name(), m.Value)
		}
	}
	data = append(append(append(data, `,"error":`...), body...), '}')
	dst = sse.Append(dst, "error", data)
	if !e.begun {
		return dst
	}
	return closeEvent(append(e.last(dst, statusFailed, "", err), `,"usage":null}`...))
}
