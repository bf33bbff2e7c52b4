package responses

import (
	"bytes"
	"errors"
	"fmt"

	"weir/internal/dialect/alike"
	"weir/internal/dialect/explain"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

var (
	errNotObject = errors.New("responses: a frame of the stream is not an object")
	errNoType    = errors.New("responses: a frame of the stream has no type")
)

// Decoder reads one stream of events: https://platform.openai.com/docs/api-reference/responses-streaming. The events
// that close a part, an item and the answer repeat the text of the deltas; the decoder only uses text from them that no
// delta had.
type Decoder struct {
	q        *llm.Quirks
	started  bool
	pieces   []piece
	calls    []openCall
	ids      int              // bytes of their ids
	prefixes [numKinds]prefix // of the whole answer
	secrets  int              // encrypted thinking parts so far
	tools    tools            // of the finished items
	acts     bool             // a finished item requires an action of the client
	text     position.Text    // of the whole answer

	alike alike.Shape // of the last frame, if it was only a piece of text
	place place       // of that text
}

// NewDecoder returns a decoder of one stream.
func NewDecoder(q *llm.Quirks) *Decoder { return &Decoder{q: q, tools: tools{q: q}} }

// Size returns the stored bytes of ids.
func (d *Decoder) Size() int { return d.ids }

// Decode appends the events of one frame to dst. It returns an *llm.Error if the provider reported an error in the
// stream, with the events next to it; any other error means that the frame violates the protocol. One frame has the end
// of the answer, its usage and the end of the stream; some providers send an end marker after it.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	switch {
	case string(data) == "[DONE]":
		dst, _ = llm.AppendEvent(dst, llm.EventDone, 0)
		return dst, nil
	case len(data) == 0:
		return dst, nil
	}
	if text, ok := d.alike.Match(frame.Name, data); ok {
		return d.again(dst, text), nil
	}
	d.alike.Forget()
	if err := rawjson.Validate(data, maxDepth); err != nil {
		return dst, fmt.Errorf("responses: a frame of the stream is not JSON: %w", err)
	}
	if rawjson.KindOf(data) != rawjson.Object {
		return dst, errNotObject
	}
	e := readEvent(data)
	if len(e.kind) == 0 {
		e.kind = frame.Name
	}
	switch {
	case string(e.kind) == "error", rawjson.Present(e.failure), e.isError:
		return dst, explain.Reported(data)
	case len(e.kind) == 0:
		return dst, errNoType
	}
	from := len(dst)
	dst, err := d.event(dst, &e)
	if said := dst[from:]; err == nil && len(said) == 1 && said[0].Kind == llm.EventText && said[0].Tokens == nil &&
		string(e.kind) == "response.output_text.delta" {
		if d.place = at(kindText, e.output, e.content); d.piece(d.place) != nil {
			d.alike.Keep(frame.Name, data, e.delta, e.sequence, e.padding)
		}
	}
	return dst, err
}

// again appends the event of a frame that differs from the one before only in its text.
func (d *Decoder) again(dst []llm.Event, text []byte) []llm.Event {
	s := string(text)
	d.piece(d.place).prefix.add(s)
	return d.tell(dst, kindText, s)
}

// event holds the members of a frame's object.
type event struct {
	kind                            []byte // unquoted
	isError                         bool   // it is an error and no event
	delta, text, refusal, arguments []byte
	itemID, name                    []byte
	item, part, response, failure   []byte
	output, content, summary        []byte // indexes
	annotation, logprobs            []byte
	sequence, padding               []byte // differ between events
}

func readEvent(data []byte) (e event) {
	for m := range rawjson.Members(data) {
		if place := e.place(m.Key()); place != nil {
			*place = m.Value
		} else if m.Is("type") {
			e.kind = word(m.Value)
		} else if m.Is("object") {
			e.isError = openai.IsErrorObject(m.Value)
		}
	}
	return e
}

// word returns the text of a string without escapes, in the string's own memory.
func word(v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.String || bytes.IndexByte(v, '\\') >= 0 {
		return nil
	}
	return v[1 : len(v)-1]
}

func (e *event) place(key []byte) *[]byte {
	switch string(key) {
	case "delta":
		return &e.delta
	case "text":
		return &e.text
	case "refusal":
		return &e.refusal
	case "arguments":
		return &e.arguments
	case "item_id":
		return &e.itemID
	case "name":
		return &e.name
	case "item":
		return &e.item
	case "part":
		return &e.part
	case "response":
		return &e.response
	case "error":
		return &e.failure
	case "annotation":
		return &e.annotation
	case "logprobs":
		return &e.logprobs
	case "sequence_number":
		return &e.sequence
	case "obfuscation":
		return &e.padding
	case "output_index":
		return &e.output
	case "content_index":
		return &e.content
	case "summary_index":
		return &e.summary
	}
	return nil
}

// event appends the events of a frame. It ignores unknown types, because the item repeats their content.
func (d *Decoder) event(dst []llm.Event, e *event) ([]llm.Event, error) {
	switch string(e.kind) {
	case "response.output_text.delta":
		from := len(dst)
		dst = d.delta(dst, at(kindText, e.output, e.content), e.delta)
		return parse.AddTokens(dst, from, 0, parse.ReadTokens(e.logprobs)), nil
	case "response.refusal.delta":
		return d.delta(dst, at(kindRefusal, e.output, e.content), e.delta), nil
	case "response.reasoning_summary_text.delta":
		return d.delta(dst, at(kindSummary, e.output, e.summary), e.delta), nil
	case "response.reasoning_text.delta":
		return d.delta(dst, at(kindThought, e.output, e.content), e.delta), nil
	case "response.function_call_arguments.delta":
		return d.arguments(dst, e), nil
	case "response.output_text.done":
		return d.whole(dst, at(kindText, e.output, e.content), e.text), nil
	case "response.output_text.annotation.added":
		return d.annotation(dst, at(kindText, e.output, e.content), e.annotation), nil
	case "response.refusal.done":
		return d.whole(dst, at(kindRefusal, e.output, e.content), e.refusal), nil
	case "response.reasoning_summary_text.done":
		return d.whole(dst, at(kindSummary, e.output, e.summary), e.text), nil
	case "response.reasoning_text.done":
		return d.whole(dst, at(kindThought, e.output, e.content), e.text), nil
	case "response.function_call_arguments.done":
		return d.closeArguments(dst, e), nil
	case "response.content_part.done":
		return d.part(dst, index(e.output), index(e.content), e.part), nil
	case "response.reasoning_summary_part.done":
		return d.whole(dst, at(kindSummary, e.output, e.summary), rawjson.Get(e.part, "text")), nil
	case "response.output_item.added":
		return d.begin(dst, e), nil
	case "response.output_item.done":
		return d.item(dst, index(e.output), e.item), nil
	}
	return d.lifecycle(dst, e)
}

// lifecycle appends the events of a frame about the whole answer.
func (d *Decoder) lifecycle(dst []llm.Event, e *event) ([]llm.Event, error) {
	switch string(e.kind) {
	case "response.created", "response.queued", "response.in_progress":
		return d.created(dst, e.response), nil
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return d.ended(dst, e)
	}
	return dst, nil
}

func (d *Decoder) created(dst []llm.Event, response []byte) []llm.Event {
	r := readResult(response, false)
	return d.early(d.start(dst, &r), &r)
}

func (d *Decoder) ended(dst []llm.Event, e *event) ([]llm.Event, error) {
	r := readResult(e.response, false)
	if r.status == nil { // the event's name has the status
		r.status = rawjson.AppendString(nil, string(e.kind[len("response."):]))
	}
	return d.end(d.start(dst, &r), e.response, &r)
}

// start appends the event that begins an answer. A tier of "auto" is not the tier that was used.
func (d *Decoder) start(dst []llm.Event, r *result) []llm.Event {
	if d.started || r.id == nil && r.model == nil {
		return dst
	}
	d.started = true
	dst, e := llm.AppendEvent(dst, llm.EventStart, 0)
	e.Created, _ = rawjson.AsInt(r.created)
	e.ID, e.Model = rawjson.Text(r.id), rawjson.Text(r.model)
	if e.Tier = rawjson.Text(r.tier); e.Tier == "auto" {
		e.Tier = ""
	}
	return dst
}

// early appends the usage reported before the end of the answer, in case it ends with an error, or the visible tool
// calls. Usage of only zeros is ignored.
func (d *Decoder) early(dst []llm.Event, r *result) []llm.Event {
	usage, most, ok := r.used(d.q)
	switch {
	case ok && !usage.IsZero():
		dst, e := llm.AppendEvent(dst, llm.EventUsage, 0)
		e.Tier, e.Metered = r.modes(&usage), &llm.Metered{
			Usage: usage, Most: most, Partial: true, ProviderCost: openai.ProviderCost(r.usage),
		}
		return dst
	case ok:
		return dst
	}
	if most = r.ran(&usage, most, d.q); !usage.IsZero() {
		if most == nil {
			most = new(llm.Usage)
		}
		most.Raise(&usage)
	}
	if most == nil {
		return dst
	}
	dst, e := llm.AppendEvent(dst, llm.EventCost, 0)
	e.Metered = &llm.Metered{Most: most}
	return dst
}

// end appends the events of an answer's last frame: missing text, the usage, the finish reason.
func (d *Decoder) end(dst []llm.Event, object []byte, r *result) ([]llm.Event, error) {
	failure := r.failed(object)
	if failure == nil {
		dst = d.rest(dst, r.output)
	}
	tier := rawjson.Text(r.tier)
	if usage, most, ok := r.used(d.q); ok {
		most = r.addTools(&usage, most, &d.tools)
		tier = r.modes(&usage)
		dst = append(dst, llm.Event{
			Kind: llm.EventUsage, Tier: tier, Metered: &llm.Metered{
				Usage: usage, Most: most, ProviderCost: openai.ProviderCost(r.usage),
			},
		})
	} else if most != nil {
		dst = append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{Most: most}})
	}
	if failure != nil {
		return dst, failure
	}
	finish := finishOf(rawjson.Text(r.status), r.reason(), d.acts || len(d.calls) > 0 || acts(r.output))
	if finish == "" {
		return dst, nil
	}
	return append(dst,
		llm.Event{Kind: llm.EventFinish, Finish: finish, Tier: tier},
		llm.Event{Kind: llm.EventDone}), nil
}

// Idle reports whether an event only begins the answer, keeps the connection alive, or only has an error.
func Idle(frame sse.Event) bool {
	e := readEvent(frame.Data)
	if len(e.kind) == 0 {
		e.kind = frame.Name
	}
	switch string(e.kind) {
	case "keepalive", "ping", "error", "":
		return true
	case "response.created", "response.queued", "response.in_progress", "response.failed", "response.incomplete",
		"response.cancelled":
		r := readResult(e.response, false)
		for range rawjson.Elements(r.output) {
			return false
		}
		return true
	}
	return rawjson.Present(e.failure)
}
