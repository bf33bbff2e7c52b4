package openai

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"weir/internal/dialect/alike"
	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

var errNotObject = errors.New("openai: a frame of the stream is not an object")

// Decoder reads one stream of chat.completion.chunk objects.
type Decoder struct {
	q       *llm.Quirks
	started bool
	plain   choices // whose thinking is a plain string
	said    choices // that have content
	calls   []openCall
	kept    int // their bytes
	ran     ran
	model   string
	tier    string // the last reported tier
	usages  usages
	halves  map[int]string // incomplete characters at the end of the choices' texts so far
	texts   position.Texts
	listed  listed // of the first choice
	cited   bool   // the first choice has an annotation
	sources sources

	alike     alike.Shape // of the last chunk, if it was only a piece of text
	spoken    []byte      // the chunk's text as JSON; nil for none
	of        int         // its choice
	otherData bool        // the chunk has other data that the decoder may store without an event
}

// NewDecoder returns a decoder of one stream.
func NewDecoder(q *llm.Quirks) *Decoder { return &Decoder{q: q} }

// Size returns the stored bytes of calls, searches and citations.
func (d *Decoder) Size() int { return d.kept + d.sources.kept }

// Decode appends the events of one frame to dst. It returns an *llm.Error if the provider reported an error in the
// stream, with the events next to it; any other error means that the frame violates the protocol.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	switch {
	case string(data) == "[DONE]":
		return append(d.endAll(dst), llm.Event{Kind: llm.EventDone}), nil
	}
	if text, ok := d.alike.Match(frame.Name, data); ok {
		return d.again(dst, text), nil
	}
	isError := string(frame.Name) == "error"
	switch err := rawjson.Validate(data, maxDepth); {
	case isError && (err != nil || rawjson.KindOf(data) != rawjson.Object):
		return dst, explain.Reported(data)
	case len(data) == 0:
		return dst, nil
	case err != nil:
		return dst, fmt.Errorf("openai: a frame of the stream is not JSON: %w", err)
	case rawjson.KindOf(data) != rawjson.Object:
		return dst, errNotObject
	}
	c, from := readChunk(data), len(dst)
	d.spoken, d.otherData = nil, false
	dst, broken := d.events(dst, &c)
	d.keep(frame.Name, data, &c, dst[from:])
	switch {
	case isError, rawjson.Present(c.failure):
		return dst, explain.Reported(data)
	case broken != nil:
		return dst, explain.Reported(broken)
	}
	return dst, nil
}

// events appends the events of a chunk. It returns the choice that an error interrupted as broken, or nil.
func (d *Decoder) events(dst []llm.Event, c *chunk) (_ []llm.Event, broken []byte) {
	if !d.started && (rawjson.Text(c.id) != "" || c.hasChoice) {
		dst = d.start(dst, c)
	}
	if rawjson.KindOf(c.tier) == rawjson.String && string(c.tier[1:len(c.tier)-1]) != d.tier {
		d.tier = rawjson.Text(c.tier)
	}
	if c.results != nil {
		d.listed.add(searchResults, c.results)
	} else if c.citations != nil {
		d.listed.add("citations", c.citations)
	}
	for i, choice := range rawjson.Elements(c.choices) {
		d.otherData = d.otherData || i > 0
		var failed bool
		if dst, failed = d.choice(dst, choice); failed && broken == nil {
			broken = choice
		}
	}
	if c.usage != nil {
		dst = d.meter(dst, c)
	}
	return dst, broken
}

func (d *Decoder) choice(dst []llm.Event, v []byte) (_ []llm.Event, broken bool) {
	var index int
	var delta, finish, logprobs []byte
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "index":
			if n, ok := rawjson.AsInt(m.Value); ok && n >= 0 && n < maxChoices {
				index = int(n)
			}
		case "delta":
			delta = m.Value
		case "finish_reason":
			finish = m.Value
		case "logprobs":
			logprobs = m.Value
		case "error": // OpenRouter's
			broken = rawjson.Present(m.Value)
		}
	}
	before := len(dst)
	dst = d.delta(dst, index, delta)
	dst = parse.AddTokens(dst, before, index, parse.ReadTokens(rawjson.Get(logprobs, "content")))
	if len(dst) > before {
		d.said.add(index)
	}
	if reason := finishOf(rawjson.Text(finish)); reason != "" {
		dst = d.end(dst, index, reason)
	}
	return dst, broken
}

// end appends the end of a choice.
func (d *Decoder) end(dst []llm.Event, index int, reason llm.FinishReason) []llm.Event {
	dst = d.beginAll(dst, index)
	if index == 0 && !d.cited && !d.usages.ended.has(0) {
		for _, c := range d.listed.citations() {
			dst = append(dst, llm.Event{Kind: llm.EventClaim, Claim: &c})
		}
	}
	dst = d.endSearches(d.citeAll(dst, index), index)
	d.usages.end(index)
	switch called := d.last(index) != nil; {
	case reason == llm.FinishStop && called:
		reason = llm.FinishToolCalls // some providers end a forced tool call with a plain "stop"
	case reason == llm.FinishToolCalls && !called:
		reason = llm.FinishStop
	}
	return llm.AppendFinish(dst, index, reason)
}

// endAll appends the missing ends of choices at the end marker: some servers send no finish reasons, and the marker
// shows that the answer is complete.
func (d *Decoder) endAll(dst []llm.Event) []llm.Event {
	for index := range maxChoices {
		if (d.said.has(index) || d.last(index) != nil) && !d.usages.ended.has(index) {
			dst = d.end(dst, index, llm.FinishStop)
		}
	}
	return dst
}

func (d *Decoder) delta(dst []llm.Event, choice int, v []byte) []llm.Event {
	m := readMessage(v, false)
	d.otherData = d.otherData || m.functionCall != nil || rawjson.HasElement(m.toolCalls) ||
		rawjson.HasElement(m.annotations) ||
		rawjson.HasElement(m.executed)
	if m.reasoningContent != nil || m.reasoning != nil || m.thoughts != nil {
		dst = d.reasoning(dst, choice, &m)
	}
	from := len(dst)
	dst = d.content(dst, choice, m.content)
	if m.extraContent != nil {
		dst = signEvents(dst, from, choice, m.extraContent)
	}
	if m.annotations != nil {
		dst = d.cite(dst, choice, m.annotations)
	}
	if s := rawjson.Text(m.refusal); s != "" {
		dst = llm.AppendText(dst, llm.EventRefusal, choice, s)
	}
	if m.executed != nil || m.toolCalls != nil || m.functionCall != nil || m.audio != nil || m.images != nil {
		dst = d.acts(dst, choice, &m)
	}
	return dst
}

// acts appends the tool calls and the media of a delta.
func (d *Decoder) acts(dst []llm.Event, choice int, m *message) []llm.Event {
	d.ran.executed(choice, m.executed)
	dst = d.executedSearches(dst, choice, m.executed)
	for i, call := range rawjson.Elements(m.toolCalls) {
		d.ran.builtIn(choice, i, call)
		dst = d.call(dst, choice, readCall(call))
	}
	if m.functionCall != nil {
		dst = d.call(dst, choice, callDelta{
			index: 0, name: rawjson.Text(rawjson.Get(m.functionCall, "name")),
			arguments: parse.Arguments(rawjson.Get(m.functionCall, "arguments")),
		})
	}
	if m.audio != nil {
		dst = append(dst, llm.Event{
			Kind: llm.EventOther, Choice: choice, Raw: m.audio, RawOf: Name,
			Text: rawjson.Text(rawjson.Get(m.audio, "transcript")),
		})
	}
	for _, e := range rawjson.Elements(m.images) {
		dst = append(dst, llm.Event{
			Kind: llm.EventOther, Choice: choice,
			Media: parse.Image(rawjson.Get(e, "image_url")),
		})
	}
	return dst
}

// reasoning appends the thinking of a delta and its signatures. A text sent as a string is repeated in the details.
func (d *Decoder) reasoning(dst []llm.Event, choice int, m *message) []llm.Event {
	text := plainReasoning(m)
	if text != "" {
		d.plain.add(choice)
	}
	if !d.plain.has(choice) {
		text = reasoningText(m)
	}
	if text != "" {
		dst = append(dst, llm.Event{Kind: llm.EventReasoning, Choice: choice, Text: text, Maker: Name})
	}
	for _, e := range rawjson.Elements(m.thoughts) {
		if s := readDetail(e); s.signature != "" || s.data != "" {
			ev := llm.Event{
				Kind: llm.EventReasoning, Choice: choice, Signature: s.signature, Redacted: s.data,
				Maker: cmp.Or(makerOf(s.format), Name),
			}
			if s.data != "" {
				ev.Signature = s.id
			}
			dst = append(dst, ev)
		}
	}
	return dst
}

// content appends the pieces of a delta's content: a string, or Mistral's array of text and thinking.
func (d *Decoder) content(dst []llm.Event, choice int, v []byte) []llm.Event {
	if s, half, ok := rawjson.AsPiece(d.halves[choice], v); ok {
		if half != d.halves[choice] {
			d.wait(choice, half)
		}
		if s != "" {
			d.spoken = v
			dst = d.say(dst, choice, s)
		}
		return dst
	}
	if v == nil {
		return dst
	}
	return d.parts(dst, choice, v)
}

// parts appends the pieces of an array.
func (d *Decoder) parts(dst []llm.Event, choice int, v []byte) []llm.Event {
	for _, e := range rawjson.Elements(v) {
		p, ok := decodePart(e)
		switch {
		case !ok, p.Text == "" && (p.Kind == llm.PartText || p.Kind == llm.PartReasoning):
		case p.Kind == llm.PartText:
			dst = d.say(dst, choice, p.Text)
		case p.Kind == llm.PartReasoning:
			dst = llm.AppendText(dst, llm.EventReasoning, choice, p.Text)
			dst[len(dst)-1].Maker = Name
		default:
			dst = append(dst, llm.Event{Kind: llm.EventOther, Choice: choice, Text: p.Text, Raw: e, RawOf: Name})
			dst = d.refer(dst, choice, e)
		}
	}
	return dst
}

// say appends a piece of a choice's text.
func (d *Decoder) say(dst []llm.Event, choice int, text string) []llm.Event {
	d.texts.Of(choice).Add(text)
	if choice == 0 {
		d.listed.text(text)
	}
	return llm.AppendText(dst, llm.EventText, choice, text)
}

// wait stores an incomplete character until the rest arrives.
func (d *Decoder) wait(choice int, half string) {
	if d.halves == nil {
		d.halves = map[int]string{}
	}
	d.halves[choice] = half
}

// Idle reports whether a chunk only begins the answer or only has an error.
func Idle(frame sse.Event) bool {
	for _, choice := range rawjson.Elements(readChunk(frame.Data).choices) {
		if !isIdle(choice) {
			return false
		}
	}
	return true
}

// isIdle does the same for a choice or its delta.
func isIdle(v []byte) bool {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "index", "role", "error":
		case "finish_reason", "native_finish_reason":
			if reason := rawjson.Text(m.Value); reason != "" && reason != "error" {
				return false
			}
		case "delta", "message":
			if !isIdle(m.Value) {
				return false
			}
		default:
			if rawjson.Present(m.Value) && string(m.Value) != `""` && string(m.Value) != "[]" &&
				string(m.Value) != "{}" {
				return false
			}
		}
	}
	return true
}
