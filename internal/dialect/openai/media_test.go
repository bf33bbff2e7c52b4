package openai_test

import (
	"bytes"
	"encoding/binary"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"

	"weir/internal/worktest"
)

// recordingForm builds a form with a recording.
func recordingForm(t testing.TB, file []byte) ([]byte, *http.Request) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	_ = form.WriteField("model", "whisper-1")
	part := must.Get(form.CreateFormFile("file", "a"))(t)
	_, _ = part.Write(file)
	_ = form.Close()
	return b.Bytes(), &http.Request{Header: http.Header{"Content-Type": {form.FormDataContentType()}}}
}

func packed(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case []byte:
			b.Write(p)
		default:
			_ = binary.Write(&b, binary.BigEndian, p)
		}
	}
	return b.Bytes()
}

// little encodes a number as little-endian bytes.
func little(v any) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, v)
	return b.Bytes()
}

// TestRecordingsAreMeasured checks that the units of a recording are those that it claims, and that the bound is the
// length that decoders can read: seconds, and tokens for those.
func TestRecordingsAreMeasured(t *testing.T) {
	t.Parallel()
	sound := make([]byte, 12_000)
	wave := func(format uint16, average uint32, parts ...any) []byte {
		return append(packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{format, 1}), little([]uint32{8000, average}), little([]uint16{1, 8})), packed(parts...)...)
	}
	for _, tt := range []struct {
		name       string
		file       []byte
		told, most int64
	}{
		{"two data chunks", wave(1, 8000, "data", little(uint32(2)), sound[:2], "data", little(uint32(12_000)), sound), 1500, 1506 + 2000},
		{"a codec that is compressed", wave(17, 8000, "data", little(uint32(12_000)), sound), 1500, 12_044 + 2000},
		{"another container", packed("FORM____AIFF", sound[:9988]), 10_000, 500_000 + 2000},
		{"nothing", nil, 0, 2000},
	} {
		body, r := recordingForm(t, tt.file)
		h, err := openai.ScanTranscription(body, r)
		if err != nil || h.Units[llm.Milliseconds] != tt.told || h.Most[llm.Milliseconds] != tt.most || h.Model != "whisper-1" {
			t.Errorf("%s: got %d ms, at most %d, %v; want %d and %d", tt.name, h.Units[llm.Milliseconds], h.Most[llm.Milliseconds], err, tt.told, tt.most)
		}
		if got, want := h.Most[llm.AudioIn], tt.most/50; got != want {
			t.Errorf("%s: at most %d tokens of sound, want %d", tt.name, got, want)
		}
	}
}

// TestBrokenFormsAreRefused refuses invalid forms.
func TestBrokenFormsAreRefused(t *testing.T) {
	t.Parallel()
	good, r := recordingForm(t, []byte("x"))
	for name, body := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)-10], "no parts": []byte("hello"), "head alone": good[:40],
		"too many": append(bytes.Repeat(good[:bytes.LastIndex(good, []byte("--"))-2-len(strings.TrimPrefix(r.Header.Get("Content-Type"), "multipart/form-data; boundary="))-4], 60), good...),
	} {
		if _, err := openai.ScanTranscription(body, r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := openai.ScanTranscription(good, &http.Request{Header: http.Header{}}); err == nil {
		t.Error("no boundary: no error")
	}
	h := must.Get(openai.ScanTranscription(good, r))(t)
	spliced := openai.SpliceForm(nil, good, &h, llm.Splice{Model: "large"}, nil)
	if want := strings.Replace(string(good), "whisper-1", "large", 1); string(spliced) != want {
		t.Errorf("spliced: %q, want %q", spliced, want)
	}
	h.ModelSpan = llm.Span{}
	added := openai.SpliceForm(nil, good, &h, llm.Splice{Model: "large"}, nil)
	if !strings.Contains(string(added), "name=\"model\"\r\n\r\nlarge\r\n--") || !bytes.HasSuffix(added, good) {
		t.Errorf("added: %q", added)
	}
}

// FuzzForm checks that any bytes are split into parts or refused, and that a split form has the same length except for
// the model's name.
func FuzzForm(f *testing.F) {
	good, r := recordingForm(f, []byte("RIFF____WAVEfmt "))
	f.Add(good)
	f.Add(append(good[:60:60], "\xff\xfb\x90\x00 fLaC OggS ftyp mvhd"...))
	f.Fuzz(func(t *testing.T, body []byte) {
		worktest.Check(t, body, func(body []byte) {
			_, _ = openai.ScanTranscription(body, r)
			_, _ = openai.ScanImageEdit(body, r)
		})
		h, err := openai.ScanTranscription(body, r)
		if err != nil {
			return
		}
		if told, most := h.Units[llm.Milliseconds], h.Most[llm.Milliseconds]; told < 0 || most < told {
			t.Errorf("%d ms, at most %d, of %d bytes", told, most, len(body))
		}
		if out := openai.SpliceForm(nil, body, &h, llm.Splice{Model: h.Model}, nil); h.ModelSpan.Present() && !bytes.Equal(out, body) {
			t.Errorf("got %q, want %q", out, body)
		}
	})
}

// TestSpeechUnits counts all text that is read for a speech, including its instructions.
func TestSpeechUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body              string
		characters, input int64
	}{
		{`{"model":"m","input":"Füße","voice":"alloy"}`, 4, 1},
		{`{"model":"m","input":"Füße","voice":"alloy","instructions":"Slowly, as if it were late."}`, 4, 8},
		{`{"model":"m","input":"Füße","instructions":null}`, 4, 1},
	} {
		h, err := openai.ScanSpeech([]byte(tt.body), nil)
		if got := h.Units; err != nil || got[llm.Characters] != tt.characters || got[llm.Input] != tt.input {
			t.Errorf("%s: got %v, %v; want %d characters, %d tokens", tt.body, got, err, tt.characters, tt.input)
		}
	}
	if _, err := openai.ScanSpeech([]byte(`{"model":"m","input":"x","instructions":"a","instructions":"b"}`), nil); err == nil {
		t.Error("instructions twice: no error")
	}
}

// TestImageModes checks the modes of an image: they are in the request, and in some answers.
func TestImageModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ members, want string }{
		{``, "image::"},
		{`,"size":"auto","quality":"auto"`, "image::"},
		{`,"size":"1024x1024","quality":"hd"`, "image:1024x1024:hd"},
		{`,"resolution":"2K"`, "image:2k:"},
		{`,"quality":"` + strings.Repeat("x", 40) + `"`, "image::unknown"},
	} {
		h, err := openai.ScanImage([]byte(`{"model":"m","prompt":"p"`+tt.members+`}`), nil)
		if err != nil || h.Asked != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.members, h.Asked, err, tt.want)
		}
	}
	for body, want := range map[string]string{
		`{"data":[{"url":"u"}]}`:                                    "",
		`{"size":"1024x1024","quality":"low","data":[{"url":"u"}]}`: "image:1024x1024:low",
	} {
		if r, err := openai.DecodeImages([]byte(body), nil); err != nil || r.Tier != want {
			t.Errorf("%s: got %v, %v, want %q", body, r, err, want)
		}
	}
	events, err := openai.NewMediaDecoder(nil).Decode(nil, sse.Event{
		Data: []byte(`{"type":"image_generation.completed","size":"1024x1024","quality":"high","b64_json":"a"}`),
	})
	if err != nil || len(events) == 0 || events[0].Tier != "image:1024x1024:high" {
		t.Errorf("a stream: got %v, %v", events, err)
	}
}

// TestImagesStreamed checks that a stream of images reports in total the same as whole answers of each.
func TestImagesStreamed(t *testing.T) {
	t.Parallel()
	usages := []string{
		`{"input_tokens":3,"output_tokens":4,"total_tokens":7,"cost":0.25}`,
		`{"input_tokens":5,"output_tokens":6,"total_tokens":99,"cost":0.5}`, // a total of more than its parts
	}
	d := openai.NewMediaDecoder(nil)
	var want, most llm.Usage
	var cost llm.Money
	for i, usage := range usages {
		whole := must.Get(openai.DecodeImages([]byte(`{"data":[{}],"usage":`+usage+`}`), nil))(t)
		want.Add(&whole.Usage)
		cost += *whole.ProviderCost
		if i == 0 {
			most.Add(&whole.Usage)
		} else {
			most.Add(whole.Most)
			if most[llm.ImageOut] != 4+99-5 || most[llm.Output] != 0 {
				t.Errorf("got at most %v, want %d tokens of images", most, 4+99-5)
			}
		}
		got := must.Get(d.Decode(nil, sse.Event{Data: []byte(`{"type":"image_generation.completed","usage":` + usage + `}`)}))(t)[0]
		if got.Usage != want || got.ProviderCost == nil || *got.ProviderCost != cost {
			t.Errorf("%d images: got %v at $%v, want %v at $%s", i+1, got.Usage, got.ProviderCost, want, cost)
		}
		if i == 0 && got.Most != nil || i > 0 && (got.Most == nil || *got.Most != most) {
			t.Errorf("%d images: at most %v, want %v", i+1, got.Most, most)
		}
	}
}

// TestSpeechStreamed checks that the tokens of a speech are sound, unless its provider reports their kind.
func TestSpeechStreamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		usage      string
		want, most llm.Usage // most is empty if the counts agree
	}{
		{
			`{"input_tokens":14,"output_tokens":101,"total_tokens":115}`,
			llm.Usage{llm.Input: 14, llm.AudioOut: 101},
			llm.Usage{},
		},
		{
			`{"input_tokens":14,"output_tokens":101,"total_tokens":915}`,
			llm.Usage{llm.Input: 14, llm.AudioOut: 101},
			llm.Usage{llm.Input: 14, llm.AudioOut: 901},
		},
		{
			`{"input_tokens":14,"output_tokens":101,"output_token_details":{"audio_tokens":90}}`,
			llm.Usage{llm.Input: 14, llm.AudioOut: 90, llm.Output: 11},
			llm.Usage{},
		},
	} {
		e := must.Get(openai.NewSpeechDecoder(nil).Decode(nil, sse.Event{
			Data: []byte(`{"type":"speech.audio.done","usage":` + tt.usage + `}`),
		}))(t)[0]
		most := llm.Usage{}
		if e.Most != nil {
			most = *e.Most
		}
		if e.Usage != tt.want || most != tt.most {
			t.Errorf("%s: got %v, at most %v; want %v, at most %v", tt.usage, e.Usage, most, tt.want, tt.most)
		}
	}
	words := must.Get(openai.NewMediaDecoder(nil).Decode(nil, sse.Event{
		Data: []byte(`{"type":"transcript.text.done","usage":{"input_tokens":14,"output_tokens":101}}`),
	}))(t)[0]
	if want := (llm.Usage{llm.Input: 14, llm.Output: 101}); words.Usage != want {
		t.Errorf("a transcript: got %v, want %v", words.Usage, want)
	}
}

// TestNoMedia checks invalid answers to a request for images or sound, like a chat without choices. An empty list of
// images, and the text of a silent recording, are valid.
func TestNoMedia(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		decode func([]byte, *llm.Quirks) (*llm.Reply, error)
		body   string
		ok     bool
	}{
		{"no list of images", openai.DecodeImages, `{"created":1}`, false},
		{"images that are none", openai.DecodeImages, `{"data":null}`, false},
		{"an empty list", openai.DecodeImages, `{"data":[]}`, true},
		{"no sound", openai.DecodeSound, "", false},
		{"a sound", openai.DecodeSound, "\xff\xfb", true},
		{"no text", openai.DecodeTranscript, `{"task":"transcribe"}`, false},
		{"a text that is none", openai.DecodeTranscript, `{"text":null}`, false},
		{"silence", openai.DecodeTranscript, `{"text":""}`, true},
		{"silence as plain text", openai.DecodeTranscript, "", true},
		{"subtitles", openai.DecodeTranscript, "1\n00:00:00,000 --> 00:00:01,000\nHello", true},
	} {
		if _, err := tt.decode([]byte(tt.body), &llm.Quirks{}); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want an answer: %v", tt.name, err, tt.ok)
		}
	}
	r, err := openai.DecodeImages([]byte(`{"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`), &llm.Quirks{})
	if err == nil || r == nil || r.Usage.InputTokens() != 3 {
		t.Errorf("a usage without images: %+v, %v, want the usage and an error", r, err)
	}
}
