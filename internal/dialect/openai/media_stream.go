package openai

import (
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// MediaDecoder reads one stream of images, speech or transcription.
type MediaDecoder struct {
	quirks *llm.Quirks
	speech bool // the stream is speech
	// of the finished images
	images, most llm.Usage
	unsure       bool // the counts of an image contradict one another
	cost         *llm.Money
}

// NewMediaDecoder returns a decoder of one stream.
func NewMediaDecoder(q *llm.Quirks) *MediaDecoder { return &MediaDecoder{quirks: q} }

// NewSpeechDecoder returns a decoder of one stream of speech.
func NewSpeechDecoder(q *llm.Quirks) *MediaDecoder { return &MediaDecoder{quirks: q, speech: true} }

// Decode appends the events of one frame: pieces, of which it reads only text, and the usage at the end.
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
	if kind == "transcript.text.delta" { // the text is counted in case no usage is reported
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
			Kind: llm.EventUsage, Metered: &llm.Metered{
				Usage: u, Most: most, ProviderCost: ProviderCost(rawjson.Get(frame.Data, "usage")),
			},
		})
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Finish: llm.FinishStop}, llm.Event{Kind: llm.EventDone}), nil
}

// usage returns the usage of an answer of text or audio. Output of speech without details is audio tokens:
// SpeechAudioDoneEvent in https://platform.openai.com/docs/api-reference/audio.
func (d *MediaDecoder) usage(answer []byte) (u llm.Usage, most *llm.Usage, told bool) {
	u, most, told = transcriptUsage(answer, d.quirks)
	usage := mediaUsage(rawjson.Get(answer, "usage"))
	if d.speech && !rawjson.Present(rawjson.Get(usage, "output_tokens_details")) {
		allOf(llm.AudioOut, &u, most)
	}
	return u, most, told
}

// allOf moves all output to one class, also in the upper bound if there is one.
func allOf(class llm.Class, u, most *llm.Usage) {
	u[class], u[llm.Output] = u[class]+u[llm.Output], 0
	if most != nil {
		most[class], most[llm.Output] = most[class]+most[llm.Output], 0
	}
}

// image appends the events of a finished image. Others may follow.
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
	m := &llm.Metered{Usage: d.images, ProviderCost: d.cost}
	if d.unsure {
		all := d.most
		m.Most = &all
	}
	dst = append(dst, llm.Event{Kind: llm.EventUsage, Tier: imageModeOf(answer), Metered: m})
	return llm.AppendFinish(dst, n, llm.FinishStop)
}

// MediaEncoder writes the error of a broken stream. All other bytes are the provider's own.
type MediaEncoder struct{}

// NewMediaEncoder returns an encoder of one stream.
func NewMediaEncoder(llm.Meta) *MediaEncoder { return &MediaEncoder{} }

// Append writes nothing.
func (*MediaEncoder) Append(dst []byte, _ *llm.Event) []byte { return dst }

// Finish writes nothing.
func (*MediaEncoder) Finish(dst []byte, _ *llm.Final) []byte { return dst }

// Fail writes an in-band error.
func (*MediaEncoder) Fail(dst []byte, err *llm.Error) []byte {
	return sse.Append(dst, "error", EncodeError(nil, err, ""))
}
