package openai

import (
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// MediaDecoder reads one stream of images, of sound, or of what is written
// down.
type MediaDecoder struct {
	quirks *llm.Quirks
	speech bool // it is of a text that is read out
	// of the images that are done
	images, most llm.Usage
	unsure       bool // the counts of one contradict one another
	cost         *llm.Money
}

// NewMediaDecoder decodes one stream.
func NewMediaDecoder(q *llm.Quirks) *MediaDecoder { return &MediaDecoder{quirks: q} }

// NewSpeechDecoder decodes one stream of a text that is read out.
func NewSpeechDecoder(q *llm.Quirks) *MediaDecoder { return &MediaDecoder{quirks: q, speech: true} }

// Decode appends the events of one frame: pieces, of which only words are looked
// into, and at the end what was used.
func (d *MediaDecoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	if string(frame.Data) == "[DONE]" {
		return append(dst, llm.Event{Kind: llm.EventDone}), nil
	}
	if err := rawjson.Validate(frame.Data, maxDepth); err != nil {
		return dst, err
	}
	kind := rawjson.Text(rawjson.Get(frame.Data, "type"))
	if kind == "error" || rawjson.Present(rawjson.Get(frame.Data, "error")) {
		return dst, explain.Reported(frame.Data)
	}
	if kind == "transcript.text.delta" { // its words are counted, should nobody tell what they cost
		return append(dst, llm.Event{Kind: llm.EventText, Text: rawjson.Text(rawjson.Get(frame.Data, "delta"))}), nil
	}
	if !strings.HasSuffix(kind, ".completed") && !strings.HasSuffix(kind, ".done") {
		return append(dst, llm.Event{Kind: llm.EventOther, Raw: frame.Data, RawOf: Name}), nil
	}
	if strings.HasPrefix(kind, "image_") {
		return d.image(dst, frame.Data), nil
	}
	if u, most, told := d.usage(frame.Data); told {
		dst = append(dst, llm.Event{
			Kind: llm.EventUsage, Usage: u, Most: most, ProviderCost: ProviderCost(rawjson.Get(frame.Data, "usage")),
		})
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Finish: llm.FinishStop}, llm.Event{Kind: llm.EventDone}), nil
}

// usage is what an answer of words or sound says of its usage. What comes out of a speech is
// tokens of sound where there are no details of it:
// SpeechAudioDoneEvent in https://platform.openai.com/docs/api-reference/audio.
func (d *MediaDecoder) usage(answer []byte) (u llm.Usage, most *llm.Usage, told bool) {
	u, most, told = transcriptUsage(answer, d.quirks)
	usage := mediaUsage(rawjson.Get(answer, "usage"))
	if d.speech && !rawjson.Present(rawjson.Get(usage, "output_tokens_details")) {
		allOf(llm.AudioOut, &u, most)
	}
	return u, most, told
}

// allOf makes all that came out tokens of one class, in the most that it comes to, too, where
// there is one.
func allOf(class llm.Class, u, most *llm.Usage) {
	u[class], u[llm.Output] = u[class]+u[llm.Output], 0
	if most != nil {
		most[class], most[llm.Output] = most[class]+most[llm.Output], 0
	}
}

// image appends what there is to say of an image that is done. Others may
// follow.
func (d *MediaDecoder) image(dst []llm.Event, answer []byte) []llm.Event {
	n := int(d.images[llm.Images])
	u, most, cost := imagesUsage(answer, d.quirks)
	u[llm.Images] = 1
	d.images.Add(&u)
	if most == nil {
		most = &u
	} else {
		d.unsure = true
	}
	d.most.Add(most)
	if cost != nil {
		sum := *cost
		if d.cost != nil {
			sum = min(sum+*d.cost, llm.MaxCost)
		}
		d.cost = &sum
	}
	e := llm.Event{Kind: llm.EventUsage, Usage: d.images, ProviderCost: d.cost, Tier: imageModeOf(answer)}
	if d.unsure {
		all := d.most
		e.Most = &all
	}
	return append(dst, e, llm.Event{Kind: llm.EventFinish, Choice: n, Finish: llm.FinishStop})
}

// MediaEncoder tells of a stream that broke off. Nothing else is ever written
// but what a provider wrote.
type MediaEncoder struct{}

// NewMediaEncoder ends one stream.
func NewMediaEncoder(llm.Meta) *MediaEncoder { return &MediaEncoder{} }

// Append writes nothing.
func (*MediaEncoder) Append(dst []byte, _ *llm.Event) []byte { return dst }

// Finish writes nothing.
func (*MediaEncoder) Finish(dst []byte, _ *llm.Final) []byte { return dst }

// Fail writes an in-band error.
func (*MediaEncoder) Fail(dst []byte, err *llm.Error) []byte {
	return sse.Append(dst, "error", EncodeError(nil, err, ""))
}
