package gemini

import (
	"bytes"
	"fmt"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Decoder reads one stream of GenerateContentResponse objects.
type Decoder struct {
	started bool
	calls   [maxChoices]int16 // number so far, by candidate
	// Usage so far, because searches may be reported after the tokens.
	metered   llm.Metered // of the last event, which nearly every frame has
	toolUse   int64
	reported  bool
	grounding grounding
	told      [maxChoices]int // bytes of text so far, by candidate
	sources   map[int]*sources
	sound     string // media type if the last part was a piece of audio; otherwise empty
}

// NewDecoder returns a decoder of one stream.
func NewDecoder(*llm.Quirks) *Decoder { return &Decoder{} }

// Decode appends the events of one frame to dst. It returns an *llm.Error if Google reported an error in the stream,
// with the events next to it; any other error means that the frame violates the protocol.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	switch {
	case len(data) == 0:
		return dst, nil
	case string(data) == "[DONE]": // other vendors of the format may send it
		return append(dst, llm.Event{Kind: llm.EventDone}), nil
	}
	if err := rawjson.Validate(data, maxDepth); err != nil {
		return dst, fmt.Errorf("gemini: a frame of the stream is not JSON: %w", err)
	}
	for _, first := range rawjson.Elements(data) { // an error may be an array of one
		data = first
		break
	}
	if rawjson.KindOf(data) != rawjson.Object {
		return dst, errNotObject
	}
	c := readChunk(data)
	dst, err := d.events(dst, &c)
	if rawjson.Present(c.failure) {
		return dst, reportedError(data)
	}
	return dst, err
}

func (d *Decoder) events(dst []llm.Event, c *chunk) (_ []llm.Event, err error) {
	if !d.started && (rawjson.Present(c.id) || rawjson.Present(c.candidates)) {
		d.started = true
		dst = append(dst, llm.Event{
			Kind: llm.EventStart, ID: rawjson.Text(c.id), Model: rawjson.Text(c.model), Created: seconds(c.created),
		})
	}
	found := false
	before := d.grounding.size()
	for position, e := range rawjson.Elements(c.candidates) {
		found = true
		c := readCandidate(e, min(position, maxChoices-1), false)
		d.grounding.read(&c)
		if dst, err = d.candidate(dst, &c, e); err != nil {
			return dst, err
		}
	}
	if !found && isBlocked(c.feedback) {
		dst = append(dst, llm.Event{Kind: llm.EventFinish, Finish: llm.FinishContentFilter})
	}
	return d.count(dst, c, d.grounding.size() > before), nil
}

// count appends the reported usage, or the grounding's addition to it.
func (d *Decoder) count(dst []llm.Event, c *chunk, grounded bool) []llm.Event {
	usage, toolUse, most, ok := decodeUsage(c.usage)
	if ok {
		d.metered = llm.Metered{Usage: usage, Most: most}
		d.toolUse, d.reported = toolUse, true
	}
	d.grounding.served(c.model, c.usage)
	if !ok && most != nil {
		dst = append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{Most: most}})
	}
	if !ok && (!grounded || !d.reported) {
		return dst
	}
	d.grounding.addTo(&d.metered.Usage, d.toolUse)
	return append(dst, llm.Event{Kind: llm.EventUsage, Tier: modesOf(c.usage), Metered: &d.metered})
}

func (d *Decoder) candidate(dst []llm.Event, c *candidate, v []byte) ([]llm.Event, error) {
	if c.malformed || rawjson.KindOf(v) != rawjson.Object {
		return dst, errContent
	}
	from := len(dst)
	for _, e := range rawjson.Elements(c.parts) {
		var ok bool
		if dst, ok = d.part(dst, c.index, e); !ok {
			return dst, errContent
		}
	}
	dst = parse.AddTokens(dst, from, c.index, readTokens(c.logprobs))
	reason := finishOf(rawjson.Text(c.finish), d.calls[c.index] > 0)
	if c.grounding != nil || c.recited != nil {
		dst = d.sourced(dst, c)
	}
	if reason != "" {
		dst = d.end(dst, c.index, reason)
	}
	return dst, nil
}

// end appends the end of a choice.
func (d *Decoder) end(dst []llm.Event, choice int, reason llm.FinishReason) []llm.Event {
	if s := d.sources[choice]; s != nil {
		search, claims := s.rest(d.told[choice])
		dst = claimed(dst, choice, claims)
		if search != nil {
			dst = append(dst, llm.Event{Kind: llm.EventSearch, Choice: choice, Search: search})
		}
	}
	return llm.AppendFinish(dst, choice, reason)
}

// sourced appends the sources of a candidate in a piece.
func (d *Decoder) sourced(dst []llm.Event, c *candidate) []llm.Event {
	s := d.sources[c.index]
	if s == nil {
		if d.sources == nil {
			d.sources = map[int]*sources{}
		}
		s = &sources{}
		d.sources[c.index] = s
	}
	return claimed(dst, c.index, s.read(c, nil))
}

// claimed appends claims of a choice.
func claimed(dst []llm.Event, choice int, claims []llm.Claim) []llm.Event {
	for _, c := range claims {
		dst = append(dst, llm.Event{Kind: llm.EventClaim, Choice: choice, Claim: &c})
	}
	return dst
}

// part appends the events of one part. A call arrives whole.
func (d *Decoder) part(dst []llm.Event, choice int, raw []byte) (_ []llm.Event, ok bool) {
	p, ok := decodePart(raw)
	switch {
	case !ok, isIdle(&p):
		return dst, ok
	case p.Kind == llm.PartToolCall:
		return d.call(dst, choice, &p), true
	}
	dst, ev := llm.AppendEvent(dst, llm.EventOther, choice)
	switch p.Kind {
	case llm.PartText:
		ev.Kind = llm.EventText
		d.told[choice] += len(p.Text)
	case llm.PartReasoning:
		ev.Kind = llm.EventReasoning
	default:
		ev.Raw, ev.RawOf, ev.Media = raw, Name, p.Media
	}
	if ev.Kind != llm.EventOther {
		ev.Text, ev.Signature, ev.Maker = p.Text, p.Signature, p.Maker
	}
	sound := ""
	if p.Kind == llm.PartAudio && p.Media != nil {
		sound = p.Media.MIME
	}
	ev.GoesOn = sound != "" && sound == d.sound
	d.sound = sound
	return dst, true
}

func (d *Decoder) call(dst []llm.Event, choice int, p *llm.Part) []llm.Event {
	position := int(d.calls[choice])
	if position == maxCalls {
		return dst
	}
	d.calls[choice]++
	id, madeUp := p.Call.ID, p.Call.ID == ""
	if madeUp {
		id = madeUpID(position)
	}
	return append(
		dst,
		llm.Event{
			Kind: llm.EventToolCall, Choice: choice, Signature: p.Signature, Maker: p.Maker,
			Tool: llm.ToolDelta{Index: position, ID: id, Name: p.Call.Name, MadeUp: madeUp},
		},
		llm.Event{
			Kind: llm.EventToolCall, Choice: choice, Text: p.Call.Arguments,
			Tool: llm.ToolDelta{Index: position},
		},
	)
}

// keepAlive is an empty piece, like those at the end of some of Google's streams. The vendor's SDKs fail at a comment,
// and their chats drop a whole exchange if a piece has no content (@google/genai 3.3.0, genai 1.77.0).
const keepAlive = `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}]}`

// Idle reports whether a piece has no candidate, such as one with only an error, or is another gateway's keep-alive.
func Idle(frame sse.Event) bool {
	data := frame.Data
	if string(data) == keepAlive {
		return true
	}
	for _, first := range rawjson.Elements(data) { // an error may be an array of one
		data = first
		break
	}
	for range rawjson.Elements(rawjson.Get(data, "candidates")) {
		return false
	}
	return true
}
