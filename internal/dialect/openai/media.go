package openai

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"weir/internal/dialect/parse"
	"weir/internal/form"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/recording"
)

// Images, speech and transcription have one wire format, which nothing is
// translated to: https://platform.openai.com/docs/api-reference/images and
// https://platform.openai.com/docs/api-reference/audio.

const (
	// maxImages is the documented limit of n.
	maxImages = 10
	// imageTokens is what a model counts for an image that it is given, as a rule;
	// mostImageTokens is more than any does.
	imageTokens     = 600
	mostImageTokens = 16 << 10
	// tokensPerSecond is what the models that count sound in tokens take a
	// second of it for, and twice that more than any does.
	tokensPerSecond = 10
	// spokenTokens are those of a thousand characters that are read out: 15 of
	// them a second, and 21 tokens a second. Nobody takes a second for each of
	// them, and mostPause for what is around.
	spokenTokens     = 1400
	mostSpokenTokens = 21_000
	mostPause        = 420
	// aroundPrompt is more than any model counts in tokens beside the prompt
	// itself.
	aroundPrompt = 100
	// moreMillis is how much longer a recording may be found than it is: vendors
	// round up to seconds, and codecs add silence.
	moreMillis = 2000
)

var (
	imageFields  = rawjson.Names{"model", "prompt", "n", "stream", "size", "quality", "resolution"}
	speechFields = rawjson.Names{"model", "input", "instructions", "voice", "stream_format", "response_format"}
)

// ScanImage is Scan for a request for images.
func ScanImage(body []byte, _ *http.Request) (llm.Head, error) {
	prompt, size, quality := "", "", ""
	h, err := parse.Scan(body, parse.Complaint, "with a model and a prompt", imageFields,
		func(h *llm.Head, m rawjson.Member) (err error) {
			switch {
			case m.Is("prompt"):
				prompt, err = parse.String(m.Value, "prompt")
			case m.Is("n"):
				h.Choices, err = parse.Int(m.Value, "n", 1, maxImages)
			case m.Is("stream"):
				h.Stream, err = parse.Bool(m.Value, "stream")
			case m.Is("size"), m.Is("resolution"): // xAI's name for it
				size = cmp.Or(size, rawjson.Text(m.Value))
			case m.Is("quality"):
				quality = rawjson.Text(m.Value)
			default:
				ScanAttribution(h, m)
			}
			return err
		})
	if err == nil && prompt == "" {
		err = llm.Invalid("prompt", "The prompt must be a non-empty string.")
	}
	if err != nil {
		return llm.Head{}, err
	}
	h.Asked = llm.ImageMode(size, quality)
	h.Units[llm.Images], h.Units[llm.Input] = h.Choices, tokensOf(prompt)
	h.Most[llm.Images], h.Most[llm.Input] = h.Choices, int64(len(prompt)+aroundPrompt)
	return h, nil
}

// ScanImageEdit is Scan for a form with images that are to be changed.
func ScanImageEdit(body []byte, r *http.Request) (llm.Head, error) {
	images, size, quality := 0, "", ""
	h, err := scanForm(body, r, func(h *llm.Head, p form.Part, content []byte) (err error) {
		switch {
		case p.IsFile:
			images++
			h.Units[llm.ImageIn] += imageTokens
			h.Most[llm.ImageIn] += mostImageTokens
		case p.Name == "prompt":
			h.Units[llm.Input] += tokensOf(string(content))
			h.Most[llm.Input] += int64(len(content))
		case p.Name == "n":
			h.Choices, err = parse.Int(content, "n", 1, maxImages)
		case p.Name == "size", p.Name == "resolution":
			size = cmp.Or(size, string(content))
		case p.Name == "quality":
			quality = string(content)
		}
		return err
	})
	h.Asked = llm.ImageMode(size, quality)
	if err == nil && images == 0 {
		err = llm.Invalid("image", "The form needs an image, as a file.")
	}
	h.Units[llm.Images], h.Most[llm.Images] = h.Choices, h.Choices
	h.Most[llm.Input] += aroundPrompt
	return h, err
}

// ScanSpeech is Scan for a text that is to be read out. What a vendor that
// counts tokens would count is estimated.
func ScanSpeech(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with a model, input and voice")
	if err != nil {
		return h, err
	}
	text, manner := "", ""
	err = parse.Members(body, speechFields, "", func(m rawjson.Member) (err error) {
		switch {
		case m.Is("model"):
			err = parse.Model(&h, m)
		case m.Is("input"):
			text, err = parse.String(m.Value, "input")
		case m.Is("instructions") && rawjson.Present(m.Value):
			manner, err = parse.String(m.Value, "instructions")
		case m.Is("stream_format"):
			h.Stream = rawjson.Text(m.Value) == "sse"
		}
		return err
	})
	if err == nil && text == "" {
		err = llm.Invalid("input", "The input must be a non-empty string.")
	}
	if err != nil {
		return llm.Head{}, err
	}
	n := int64(utf8.RuneCountInString(text))
	h.Units[llm.Characters], h.Units[llm.Input] = n, tokensOf(text)+tokensOf(manner)
	h.Units[llm.AudioOut] = (n*spokenTokens + 999) / 1000
	h.Most[llm.Characters], h.Most[llm.Input] = n, int64(len(text)+len(manner)+aroundPrompt)
	h.Most[llm.AudioOut] = n*mostSpokenTokens/1000 + mostPause
	return h, nil
}

// tokensOf is about how many tokens a text is.
func tokensOf(text string) int64 { return int64(utf8.RuneCountInString(text)+3) / 4 }

// ScanTranscription is Scan for a form with a recording that is to be written
// down. Its units are what its container tells, its bound is what decoders can
// make of it.
func ScanTranscription(body []byte, r *http.Request) (llm.Head, error) {
	there := false
	h, err := scanForm(body, r, func(h *llm.Head, p form.Part, content []byte) error {
		switch p.Name {
		case "file":
			there = true
			length := recording.Measure(content)
			h.Units[llm.Milliseconds], h.Most[llm.Milliseconds] = length.Told, length.Most+moreMillis
		case "prompt":
			h.Units[llm.Input] += tokensOf(string(content))
			h.Most[llm.Input] += int64(len(content))
		}
		return nil
	})
	if err == nil && !there {
		err = llm.Invalid("file", "The form needs a recording, as its file.")
	}
	h.Units[llm.AudioIn] = (h.Units[llm.Milliseconds]*tokensPerSecond + 999) / 1000
	h.Most[llm.AudioIn] = 2 * h.Most[llm.Milliseconds] * tokensPerSecond / 1000
	h.Most[llm.Input] += aroundPrompt
	return h, err
}

// Answers that are none. An empty list of images is one.
var (
	errNoImages = errors.New("openai: the reply has no list of images")
	errNoSound  = errors.New("openai: the reply has no sound")
	errNoText   = errors.New("openai: the reply has no text")
)

// DecodeImages is DecodeReply for images. They are counted, whatever else is
// told of them.
func DecodeImages(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	r := &llm.Reply{ExtraOf: Name, Reported: true, Tier: imageModeOf(body)}
	r.Usage, r.Most, r.ProviderCost = imagesUsage(body, q)
	images := rawjson.Get(body, "data")
	if rawjson.KindOf(images) != rawjson.Array {
		return r, errNoImages
	}
	for range rawjson.Elements(images) {
		r.Usage[llm.Images]++
	}
	return r, nil
}

// imagesUsage is the usage of an answer with images, the most that it comes to, and what the
// provider charges, as in llm.Reply. Its output is tokens of images where there are no details
// of it, and what these leave out may be: ImagesUsage in the API document of
// https://platform.openai.com/docs/api-reference/images-streaming (undated copy of 2026).
func imagesUsage(answer []byte, q *llm.Quirks) (u llm.Usage, most *llm.Usage, cost *llm.Money) {
	usage := mediaUsage(rawjson.Get(answer, "usage"))
	u, most, _ = DecodeUsage(usage, q)
	if details := rawjson.Get(usage, "output_tokens_details"); rawjson.Present(details) {
		text, _ := rawjson.AsInt(rawjson.Get(details, "text_tokens"))
		if rest := u[llm.Output] - max(0, text); rest > 0 && most == nil {
			all := u
			all[llm.Output], all[llm.ImageOut] = u[llm.Output]-rest, u[llm.ImageOut]+rest
			most = &all
		}
		return u, most, ProviderCost(usage)
	}
	allOf(llm.ImageOut, &u, most)
	return u, most, ProviderCost(usage)
}

// imageModeOf is the mode of the images of an answer that tells their size or quality;
// empty where it tells neither.
func imageModeOf(answer []byte) string {
	size, quality := rawjson.Text(rawjson.Get(answer, "size")), rawjson.Text(rawjson.Get(answer, "quality"))
	if size == "" && quality == "" {
		return ""
	}
	return llm.ImageMode(size, quality)
}

// DecodeSound is DecodeReply for a text that was read out: it tells nothing.
func DecodeSound(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if len(body) == 0 {
		return nil, errNoSound
	}
	return &llm.Reply{ExtraOf: Name}, nil
}

// DecodeTranscript is DecodeReply for what was written down: the vendor tells
// tokens, or seconds, or in some formats nothing.
func DecodeTranscript(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	r := &llm.Reply{ExtraOf: Name}
	text := string(body)
	if rawjson.KindOf(body) == rawjson.Object && rawjson.Validate(body, maxDepth) == nil {
		var said bool
		r.Usage, r.Most, r.Reported = transcriptUsage(body, q)
		r.ProviderCost = ProviderCost(rawjson.Get(body, "usage"))
		if text, said = rawjson.AsString(rawjson.Get(body, "text")); !said {
			return r, errNoText
		}
	}
	words := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
	r.Choices = []llm.Choice{{Finish: llm.FinishStop, Message: words}}
	return r, nil
}

// transcriptUsage reads what was used. A transcript by speakers has a duration
// beside its tokens, which alone are charged; one that is longer than the seconds that are told
// is the most.
func transcriptUsage(body []byte, q *llm.Quirks) (u llm.Usage, most *llm.Usage, reported bool) {
	usage := rawjson.Get(body, "usage")
	length, hasLength := millisOf(rawjson.Get(body, "duration"))
	if u[llm.Milliseconds], reported = millisOf(rawjson.Get(usage, "seconds")); reported {
		if length > u[llm.Milliseconds] {
			most = &llm.Usage{llm.Milliseconds: length}
		}
		return u, most, true
	}
	told, most, ok := DecodeUsage(mediaUsage(usage), q)
	if ok {
		return told, most, true
	}
	u[llm.Milliseconds] = length
	return u, most, hasLength
}

// millisOf reads a number of seconds, which may have a fraction and may be a
// string, as the vendor's own are.
func millisOf(v []byte) (int64, bool) {
	s := string(v)
	if t, ok := rawjson.AsString(v); ok {
		s = t
	}
	whole, fraction, _ := strings.Cut(s, ".")
	n, ok := rawjson.AsInt([]byte(whole))
	if !ok || n < 0 || n > parse.MaxCount/1000 {
		return 0, false
	}
	ms := int64(0)
	for i, unit := 0, int64(100); i < len(fraction) && unit > 0; i, unit = i+1, unit/10 {
		if fraction[i] < '0' || fraction[i] > '9' {
			return 0, false
		}
		ms += unit * int64(fraction[i]-'0')
	}
	return n*1000 + ms, true
}

// mediaUsage is a usage object whose details have the names that they have in
// chats: for images and sound they are in the singular.
func mediaUsage(v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Object {
		return v
	}
	return rawjson.Rewrite(v, func(name string) string {
		switch name {
		case "input_token_details":
			return "input_tokens_details"
		case "output_token_details":
			return "output_tokens_details"
		}
		return name
	})
}
