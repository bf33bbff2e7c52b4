package openai

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"weir/internal/dialect/parse"
	"weir/internal/formdata"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/recording"
)

// Images, speech and transcription have one wire format, without translation:
// https://platform.openai.com/docs/api-reference/images and https://platform.openai.com/docs/api-reference/audio.

const (
	// maxImages is the documented limit of n.
	maxImages = 10
	// imageTokens is the usual number of tokens of an input image; mostImageTokens is more than any model counts.
	imageTokens     = 600
	mostImageTokens = 16 << 10
	// tokensPerSecond is the usual number of tokens in a second of audio; no model counts twice as many.
	tokensPerSecond = 10
	// spokenTokens are the tokens of a thousand spoken characters, at 15 characters and 21 tokens a second. No voice
	// takes a second for each character, and mostPause for the silence around.
	spokenTokens     = 1400
	mostSpokenTokens = 21_000
	mostPause        = 420
	// aroundPrompt is more than any model counts in addition to the prompt.
	aroundPrompt = 100
	// moreMillis bounds the excess of a recording's measured length: vendors round up to seconds, and codecs add
	// silence.
	moreMillis = 2000
)

var (
	imageFields  = rawjson.Names{"model", "prompt", "n", "stream", "size", "quality", "resolution"}
	speechFields = rawjson.Names{"model", "input", "instructions", "voice", "stream_format", "response_format"}
)

// ScanImage implements Scan for image generation.
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
			case m.Is("size"), m.Is("resolution"): // xAI's name
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

// ScanImageEdit implements Scan for image editing, a form with images.
func ScanImageEdit(body []byte, r *http.Request) (llm.Head, error) {
	images, size, quality := 0, "", ""
	h, err := scanForm(body, r, func(h *llm.Head, p formdata.Part, content []byte) (err error) {
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
		err = llm.Invalid("image", "The form has no image. Send one as a file.")
	}
	h.Units[llm.Images], h.Most[llm.Images] = h.Choices, h.Choices
	h.Most[llm.Input] += aroundPrompt
	return h, err
}

// ScanSpeech implements Scan for speech. It estimates the tokens for vendors that count them.
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

// tokensOf estimates the tokens of a text.
func tokensOf(text string) int64 { return int64(utf8.RuneCountInString(text)+3) / 4 }

// ScanTranscription implements Scan for a form with a recording. Its units follow from the container's headers, its
// bound from the longest audio that decoders can produce.
func ScanTranscription(body []byte, r *http.Request) (llm.Head, error) {
	there := false
	h, err := scanForm(body, r, func(h *llm.Head, p formdata.Part, content []byte) error {
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
		err = llm.Invalid("file", "The form has no recording. Send one as the field file.")
	}
	h.Units[llm.AudioIn] = (h.Units[llm.Milliseconds]*tokensPerSecond + 999) / 1000
	h.Most[llm.AudioIn] = 2 * h.Most[llm.Milliseconds] * tokensPerSecond / 1000
	h.Most[llm.Input] += aroundPrompt
	return h, err
}

// Errors of incomplete replies. An empty list of images is complete.
var (
	errNoImages = errors.New("openai: the reply has no list of images")
	errNoSound  = errors.New("openai: the reply has no sound")
	errNoText   = errors.New("openai: the reply has no text")
)

// DecodeImages implements DecodeReply for images. It counts the images themselves in addition to any reported usage.
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

// imagesUsage returns the usage, its upper bound and the provider's cost of an answer with images, as in llm.Reply.
// Output without details counts as image tokens, and the part that details leave out may be image tokens: ImagesUsage
// in the API document of https://platform.openai.com/docs/api-reference/images-streaming (undated copy of 2026).
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

// imageModeOf returns the mode of an answer's images by their size and quality; "" if it reports neither.
func imageModeOf(answer []byte) string {
	size, quality := rawjson.Text(rawjson.Get(answer, "size")), rawjson.Text(rawjson.Get(answer, "quality"))
	if size == "" && quality == "" {
		return ""
	}
	return llm.ImageMode(size, quality)
}

// DecodeSound implements DecodeReply for speech, which reports no usage.
func DecodeSound(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if len(body) == 0 {
		return nil, errNoSound
	}
	return &llm.Reply{ExtraOf: Name}, nil
}

// DecodeTranscript implements DecodeReply for transcription: vendors report tokens, seconds or, in some formats,
// nothing.
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

// transcriptUsage reads the usage. A transcript by speakers has a duration in addition to its tokens, and only tokens
// are charged. A duration above the reported seconds is the upper bound.
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

// millisOf reads a number of seconds, possibly with a fraction, as a number or a string; the vendor's own are strings.
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

// mediaUsage returns a usage object with the names of details in chats: images and audio use the singular.
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
