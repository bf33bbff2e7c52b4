package harness

import (
	"bytes"
	"encoding/binary"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/must"
)

// MediaProvider is a provider of images and audio in OpenAI's wire format. The model's name selects the answer.
type MediaProvider struct {
	T    *testing.T
	Last string // the request's body without its boundary
	Kind string // its content type
}

func (s *MediaProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.T.Error(err)
	}
	s.Last, s.Kind = string(body), r.Header.Get("Content-Type")
	if _, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); params["boundary"] != "" {
		s.Last = strings.ReplaceAll(s.Last, params["boundary"], "BOUNDARY")
	}
	say := func(contentType, text string) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
	const tokens = `"usage":{"total_tokens":150,"input_tokens":50,"output_tokens":100,` +
		`"input_tokens_details":{"text_tokens":10,"image_tokens":40}}`
	switch what := r.URL.Path + " "; {
	case strings.Contains(s.Last, "paint-stream"):
		say("text/event-stream", "event: image_generation.partial_image\ndata: "+
			"{\"type\":\"image_generation.partial_image\",\"b64_json\":\"AA==\",\"next_year\":1}\n\n"+
			"event: image_generation.completed\ndata: "+
			"{\"type\":\"image_generation.completed\",\"b64_json\":\"AA==\","+tokens+"}\n\n")
	case strings.Contains(s.Last, "paint-tokens"):
		say("application/json", `{"created":1,"data":[{"b64_json":"AA=="}],`+tokens+`}`)
	case what == "/v1/images/generations ", what == "/v1/images/edits ":
		say("application/json", `{"created":1,"data":[{"b64_json":"AA=="},{"b64_json":"AA=="}]}`)
	case what == "/v1/embeddings ":
		say("application/json",
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"vectors",`+
				`"usage":{"prompt_tokens":1,"total_tokens":1}}`)
	case what == "/v1/audio/speech ":
		say("audio/mpeg", "\xff\xfbsound")
	case strings.Contains(s.Last, "write-seconds"):
		say("application/json", `{"text":"Hello there","usage":{"type":"duration","seconds":3}}`)
	case strings.Contains(s.Last, "write-tokens"):
		say("application/json",
			`{"text":"Hello there","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":4,`+
				`"audio_tokens":10},"output_tokens":2,"total_tokens":16}}`)
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

// OpenMediaProvider starts a provider of images, audio and transcripts, and a gateway before it.
func OpenMediaProvider(t *testing.T) (*MediaProvider, *Gateway) {
	s := &MediaProvider{T: t}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	yaml, _, _ := strings.Cut(DialectYAML("openai", ts.URL+"/v1"), "prices:")
	return s, Open(t, Setup{YAML: yaml + mediaYAML})
}

// WAV returns a recording of silence of that many seconds.
func WAV(seconds int) []byte {
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

// Transcribe sends a form with a recording and other fields.
func (h *Gateway) Transcribe(path string, file []byte, fields ...string) Reply {
	h.T.Helper()
	return h.Multipart(path, "file", file, fields...)
}

// Multipart sends a form with a file of that name, unless it is nil, and other fields.
func (h *Gateway) Multipart(path, name string, file []byte, fields ...string) Reply {
	h.T.Helper()
	return h.Send(h.FormRequest(path, name, file, fields...))
}

// FormRequest builds a form with a file and other fields, for Send.
func (h *Gateway) FormRequest(path, name string, file []byte, fields ...string) *http.Request {
	h.T.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1])
	}
	if file != nil {
		part := must.Get(form.CreateFormFile(name, "a.wav"))(h.T)
		_, _ = part.Write(file)
	}
	_ = form.Close()
	r := h.Request(Ask{Path: path, Body: b.String()})
	r.Header.Set("Content-Type", form.FormDataContentType())
	return r
}
