package app_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
)

// mediaProvider is a provider of images and sound in OpenAI's wire format. What it
// answers is in the model's name.
type mediaProvider struct {
	t    *testing.T
	last string // the request's body, its boundary left out
	kind string // its content type
}

func (s *mediaProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.last, s.kind = string(body), r.Header.Get("Content-Type")
	if _, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); params["boundary"] != "" {
		s.last = strings.ReplaceAll(s.last, params["boundary"], "BOUNDARY")
	}
	say := func(contentType, text string) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
	const tokens = `"usage":{"total_tokens":150,"input_tokens":50,"output_tokens":100,"input_tokens_details":{"text_tokens":10,"image_tokens":40}}`
	switch what := r.URL.Path + " "; {
	case strings.Contains(s.last, "paint-stream"):
		say("text/event-stream", "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AA==\",\"next_year\":1}\n\n"+
			"event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"AA==\","+tokens+"}\n\n")
	case strings.Contains(s.last, "paint-tokens"):
		say("application/json", `{"created":1,"data":[{"b64_json":"AA=="}],`+tokens+`}`)
	case what == "/v1/images/generations ", what == "/v1/images/edits ":
		say("application/json", `{"created":1,"data":[{"b64_json":"AA=="},{"b64_json":"AA=="}]}`)
	case what == "/v1/embeddings ":
		say("application/json", `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"vectors","usage":{"prompt_tokens":1,"total_tokens":1}}`)
	case what == "/v1/audio/speech ":
		say("audio/mpeg", "\xff\xfbsound")
	case strings.Contains(s.last, "write-seconds"):
		say("application/json", `{"text":"Hello there","usage":{"type":"duration","seconds":3}}`)
	case strings.Contains(s.last, "write-tokens"):
		say("application/json", `{"text":"Hello there","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":4,"audio_tokens":10},"output_tokens":2,"total_tokens":16}}`)
	default:
		say("text/plain; charset=utf-8", "Hello there\n")
	}
}

const mediaYAML = `
prices:
  house/paint: {image: "0.04"}
  house/paint-tokens: {input: "5", image_in: "10", output: "40"}
  house/paint-stream: {input: "5", image_in: "10", output: "40"}
  house/vectors: {input: "1"}
  house/read: {character: "0.000015"}
  house/read-tokens: {input: "0.60", output: "12"}
  house/write-seconds: {second: "0.0001"}
  house/write-tokens: {input: "2.50", audio_in: "6", output: "10"}
  house/write-text: {second: "0.0001"}
`

func openMediaProvider(t *testing.T) (*mediaProvider, *testGateway) {
	s := &mediaProvider{t: t}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	yaml, _, _ := strings.Cut(dialectYAML("openai", ts.URL+"/v1"), "prices:")
	return s, open(t, setup{yaml: yaml + mediaYAML})
}

// wav is a recording of so many seconds of silence.
func wav(seconds int) []byte {
	const rate = 8000
	var b bytes.Buffer
	b.WriteString("RIFF____WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, uint32(seconds*rate))
	b.Write(make([]byte, seconds*rate))
	return b.Bytes()
}

// TestMedia asks for images, speech and transcripts by the vendor's SDK, and
// holds what each is charged: by what the provider told, or by characters and
// seconds.
func TestMedia(t *testing.T) {
	t.Parallel()
	mediaProvider, h := openMediaProvider(t)
	sdk := openai.NewClient(option.WithBaseURL(h.url+"/v1"), option.WithAPIKey(h.key), option.WithMaxRetries(0))
	write := func(model string, format openai.AudioResponseFormat) func() (string, error) {
		return func() (string, error) {
			r, err := sdk.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{
				Model: openai.AudioModel(model), ResponseFormat: format,
				File: openai.File(bytes.NewReader(wav(2)), "a.wav", "audio/wav"),
			})
			if err != nil {
				return "", err
			}
			return r.Text, nil
		}
	}
	paint := func(model string) func() (string, error) {
		return func() (string, error) {
			r, err := sdk.Images.Generate(t.Context(), openai.ImageGenerateParams{Model: openai.ImageModel(model), Prompt: "A weir", N: openai.Int(2)})
			if err != nil {
				return "", err
			}
			return r.Data[0].B64JSON, nil
		}
	}
	read := func(model string) func() (string, error) {
		return func() (string, error) {
			r, err := sdk.Audio.Speech.New(t.Context(), openai.AudioSpeechNewParams{Model: openai.SpeechModel(model), Input: "Füße", Voice: openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String("alloy")}})
			if err != nil {
				return "", err
			}
			defer r.Body.Close()
			if got := r.Header.Get("Content-Type"); got != "audio/mpeg" {
				return "", fmt.Errorf("content type %q", got)
			}
			text, err := io.ReadAll(r.Body)
			return string(text), err
		}
	}
	for _, tt := range []struct {
		model, want, cost string
		ask               func() (string, error)
	}{
		{"house/paint", "AA==", "0.08", paint("house/paint")},                              // 2 images
		{"house/paint-tokens", "AA==", "0.00445", paint("house/paint-tokens")},             // 10, 40 of images, 100 out
		{"house/read", "\xff\xfbsound", "0.00006", read("house/read")},                     // 4 characters
		{"house/read-tokens", "\xff\xfbsound", "0.0000726", read("house/read-tokens")},     // 1 token in, 6 of sound out
		{"house/write-seconds", "Hello there", "0.0003", write("house/write-seconds", "")}, // told 3 seconds
		{"house/write-tokens", "Hello there", "0.00009", write("house/write-tokens", "")},  // 4, 10 of sound, 2 out
	} {
		got, err := tt.ask()
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.model, got, err, tt.want)
			continue
		}
		if strings.Contains(mediaProvider.last, "house/") {
			t.Errorf("%s: the provider was asked %q", tt.model, mediaProvider.last)
		}
		page := h.uses("?model=" + tt.model)
		if cost := page.Total.Cost.String(); cost != tt.cost || page.Total.Requests != "1" {
			t.Errorf("%s: cost %s, want %s; %+v", tt.model, cost, tt.cost, page)
		}
	}
}

// transcribe is a form with a recording and other fields.
func (h *testGateway) transcribe(path string, file []byte, fields ...string) reply {
	h.t.Helper()
	return h.multipart(path, "file", file, fields...)
}

// multipart is a form with a file of that name, unless it is nil, and other
// fields.
func (h *testGateway) multipart(path, name string, file []byte, fields ...string) reply {
	h.t.Helper()
	return h.send(h.formRequest(path, name, file, fields...))
}

func (h *testGateway) formRequest(path, name string, file []byte, fields ...string) *http.Request {
	h.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1])
	}
	if file != nil {
		part, err := form.CreateFormFile(name, "a.wav")
		if err != nil {
			h.t.Fatal(err)
		}
		_, _ = part.Write(file)
	}
	_ = form.Close()
	r := h.request(ask{path: path, body: b.String()})
	r.Header.Set("Content-Type", form.FormDataContentType())
	return r
}

// TestTranscriptAsText is an answer that tells nothing of what it cost: the
// recording does.
func TestTranscriptAsText(t *testing.T) {
	t.Parallel()
	_, h := openMediaProvider(t)
	r := h.transcribe("/v1/audio/translations", wav(2), "model", "house/write-text", "response_format", "text")
	if r.status != http.StatusOK || r.body != "Hello there\n" || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") || r.header.Get("X-Weir-Cost-USD") != "0.0002" {
		t.Errorf("status %d, %q, %v", r.status, r.body, r.header)
	}
}

// TestFormType tells the provider of the boundary alone, whatever the client says
// beside it.
func TestFormType(t *testing.T) {
	t.Parallel()
	mediaProvider, h := openMediaProvider(t)
	body := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nhouse/write-text\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n"
	for _, kind := range []string{"multipart/form-data; charset=utf-7; boundary=b", "multipart/form-data; boundary*=UTF-8''%62"} {
		r := h.request(ask{path: "/v1/audio/transcriptions", body: body})
		r.Header.Set("Content-Type", kind)
		if got := h.send(r); got.status != http.StatusOK || mediaProvider.kind != "multipart/form-data; boundary=b" {
			t.Errorf("%s: status %d, %s; the provider was told %q", kind, got.status, got.body, mediaProvider.kind)
		}
	}
}

// TestImageStream relays the events as they came, but for the cost.
func TestImageStream(t *testing.T) {
	t.Parallel()
	_, h := openMediaProvider(t)
	r := h.do(ask{path: "/v1/images/generations", body: `{"model":"house/paint-stream","prompt":"A weir","stream":true}`})
	if r.status != http.StatusOK || !strings.Contains(r.body, `"next_year":1`) || strings.Count(r.body, `"cost":0.00445`) != 1 || !strings.Contains(r.body, "event: image_generation.completed\n") {
		t.Errorf("status %d, %s", r.status, r.body)
	}
}

// TestMediaRefused holds what is told of requests that cannot be served.
func TestMediaRefused(t *testing.T) {
	t.Parallel()
	_, h := openMediaProvider(t)
	want := func(what string, r reply, status int, text string) {
		t.Helper()
		if r.status != status || !strings.Contains(r.body, text) {
			t.Errorf("%s: status %d, %s; want %d, %s", what, r.status, r.body, status, text)
		}
	}
	post := func(path, body string) reply { return h.do(ask{path: path, body: body}) }
	want("no prompt", post("/v1/images/generations", `{"model":"house/paint"}`), 400, `"param":"prompt"`)
	want("many images", post("/v1/images/generations", `{"model":"house/paint","prompt":"x","n":11}`), 400, `"param":"n"`)
	want("no input", post("/v1/audio/speech", `{"model":"house/read","voice":"alloy"}`), 400, `"param":"input"`)
	want("JSON for a form", post("/v1/audio/transcriptions", `{"model":"house/write-text"}`), 415, "multipart/form-data")
	want("no file", h.transcribe("/v1/audio/transcriptions", nil, "model", "house/write-text"), 400, `"param":"file"`)
	want("two models", h.transcribe("/v1/audio/transcriptions", wav(1), "model", "house/write-text", "model", "house/x"), 400, `"param":"model"`)
	want("no model", h.transcribe("/v1/audio/transcriptions", wav(1)), 400, `"param":"model"`)
	limited := h.newKey(account.KeyOptions{Account: "default", Models: []string{"house/read"}})
	r := h.do(ask{path: "/v1/images/generations", body: `{"model":"house/paint","prompt":"x"}`, key: limited})
	want("a model that the key may not use", r, 403, "insufficient_permissions")
}

// TestMoreMedia is that a field which nobody knows, and which may ask for more images, a
// longer text or more vectors, is refused where a budget is to be kept, and no other.
func TestMoreMedia(t *testing.T) {
	t.Parallel()
	s, h := openMediaProvider(t)
	paint := func(more string) ask {
		return ask{path: "/v1/images/generations", body: `{"model":"house/paint","prompt":"A weir"` + more + `}`}
	}
	read := func(more string) ask {
		return ask{path: "/v1/audio/speech", body: `{"model":"house/read","input":"Hi","voice":"alloy"` + more + `}`}
	}
	embed := func(more string) ask {
		return ask{path: "/v1/embeddings", body: `{"model":"house/vectors","input":"Hi"` + more + `}`}
	}
	long := `"` + strings.Repeat("many words ", 20) + `"`
	edit := func(fields ...string) reply {
		return h.multipart("/v1/images/edits", "image", []byte("PNG"), append([]string{"model", "house/paint", "prompt", "A weir"}, fields...)...)
	}
	write := func(fields ...string) reply {
		return h.transcribe("/v1/audio/transcriptions", wav(1), append([]string{"model", "house/write-seconds", "timestamp_granularities[]", "word"}, fields...)...)
	}
	for _, limit := range []llm.Money{0, 100 * llm.USD} {
		if limit > 0 {
			h.setBudget(limit, budget.PeriodTotal)
		}
		for _, a := range []ask{paint(""), paint(`,"style":"vivid","seed":77,"guidance":2.5,"watermark":true,"batch_size":1`), read(`,"language":"en"`), embed(`,"dimensions":8,"encoding_format":"float","user":"u","normalized":true`)} {
			if r := h.do(a); r.status != 200 {
				t.Errorf("limit %s, %s: %d %s, want 200", limit, a.body, r.status, r.body)
			}
		}
		for i, r := range []reply{edit(), edit("background", "transparent"), write(), write("language", "en", "temperature", "0")} {
			if r.status != 200 {
				t.Errorf("limit %s, form %d: %d %s, want 200", limit, i, r.status, r.body)
			}
		}
		for i, ask := range []func() reply{
			func() reply { return h.do(paint(`,"batch_size":10`)) },
			func() reply { return h.do(paint(`,"batch_size":1e1`)) },
			func() reply { return h.do(paint(`,"batch_size":"1e400"`)) },
			func() reply { return h.do(paint(`,"prompts":["a","b"]`)) },
			func() reply { return h.do(paint(`,"input":{"n":10}`)) },
			func() reply { return h.do(read(`,"text":` + long)) },
			func() reply { return h.do(read(`,"text_url":"https://x.example"`)) },
			func() reply { return h.do(read(`,"n":5`)) },
			func() reply { return h.do(embed(`,"images":["https://x.example/a"]`)) },
			func() reply { return h.do(embed(`,"messages":[{"role":"user","content":"Hi"}]`)) },
			func() reply { return h.do(embed(`,"n":50`)) },
			func() reply { return edit("batch_size", "10") },
			func() reply { return edit("num_images", " 1e1") },
			func() reply { return write("file_url", "https://x.example/a.wav") },
			func() reply { return write("file_id", "file-1") },
			func() reply { return edit("imageUri", "x") },
			func() reply { return h.do(read(`,"text_file":"f"`)) },
			func() reply { return write("n", "5") },
		} {
			s.last = ""
			r := ask()
			refused := r.status == 400 && s.last == "" && strings.Contains(r.body, "no limit can be kept")
			if refused != (limit > 0) || !refused && r.status != 200 {
				t.Errorf("limit %s, %d: %d %s, refused: want %t", limit, i, r.status, r.body, limit > 0)
			}
		}
	}
}
