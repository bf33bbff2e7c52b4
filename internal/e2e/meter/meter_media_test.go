package meter_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/ledger"
	"weir/internal/must"
)

// servedMedia describes the answer of a provider of images and sound to a model.
type servedMedia struct {
	price string // of the model, as the configuration has it
	body  string // the part before an ellipsis is sent before the connection breaks
}

const (
	soundTokens   = `{input: "2.50", audio_in: "6", output: "10"}`
	soundTime     = `{second: "0.0001"}`
	pictureTokens = `{input: "5", image_in: "10", output: "40"}`
	spoken14      = `"usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":4,"audio_tokens":10},"output_tokens":2,"total_tokens":16}`
	painted       = `"usage":{"total_tokens":150,"input_tokens":50,"output_tokens":100,"input_tokens_details":{"text_tokens":50,"image_tokens":0}}`
)

// mediaServed returns the answers, by model.
func mediaServed() map[string]servedMedia {
	done := "data: {\"type\":\"image_generation.completed\",\"b64_json\":\"AA==\"," + painted + "}\n\n"
	partial := "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AA==\"}\n\n"
	words := "data: {\"type\":\"transcript.text.delta\",\"delta\":\"one two three\"}\n\ndata: {\"type\":\"transcript.text.delta\",\"delta\":\" four five six\"}\n\n"
	return map[string]servedMedia{
		"diarized":      {soundTokens, `{"task":"transcribe","duration":2.3,"text":"Hello there","segments":[],` + spoken14 + `}`},
		"told-seconds":  {soundTokens, `{"text":"Hello there","usage":{"type":"duration","seconds":2}}`},
		"told-tokens":   {soundTime, `{"text":"Hello there",` + spoken14 + `}`},
		"verbose":       {soundTime, `{"task":"transcribe","language":"english","duration":2.5,"text":"Hello there"}`},
		"a-century":     {soundTime, `{"text":"Hello there","usage":{"type":"duration","seconds":999999999}}`},
		"rounded":       {soundTime, `{"text":"Hello there","usage":{"type":"duration","seconds":2}}`},
		"no-stream":     {soundTime, `{"text":"Hello there","usage":{"type":"duration","seconds":2}}`},
		"words":         {soundTokens, words + "data: {\"type\":\"transcript.text.done\",\"text\":\"one two three four five six\"," + spoken14 + "}\n\n"},
		"words-untold":  {soundTokens, words + "data: {\"type\":\"transcript.text.done\",\"text\":\"one two three four five six\"}\n\n"},
		"words-cut":     {soundTokens, words + "..."},
		"say":           {`{input: "0.60", output: "2.40", audio_out: "12"}`, "data: {\"type\":\"speech.audio.delta\",\"audio\":\"AA==\"}\n\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":4,\"output_tokens\":30,\"total_tokens\":34}}\n\n"},
		"say-letters":   {`{character: "0.00001"}`, "data: {\"type\":\"speech.audio.delta\",\"audio\":\"AA==\"}\n\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":4,\"output_tokens\":30,\"total_tokens\":34}}\n\n"},
		"paint-two":     {pictureTokens, partial + done + partial + done},
		"paint-one":     {pictureTokens, partial + done + partial + "..."},
		"paint-none":    {`{image: "0.04"}`, partial + "..."},
		"paint-untold":  {pictureTokens, `{"created":1,"data":[{"b64_json":"AA=="}]}`},
		"paint-refused": {`{image: "0.04"}`, `{"created":1,"data":[]}`},
		"sound":         {`{character: "0.00001"}`, "\xff\xfbsound"},
		"sound-lost":    {soundTime, "..."},
		"edit-lost":     {pictureTokens, "..."},
	}
}

// openMedia opens a gateway with a provider of these answers.
func openMedia(t *testing.T) *harness.Gateway {
	t.Helper()
	all := mediaServed()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var answer string
		for model, s := range all {
			if strings.Contains(string(asked), `"`+model+`"`) || strings.Contains(string(asked), "\r\n"+model+"\r\n") {
				answer = s.body
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(answer, "data: ") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		sent, breaks := strings.CutSuffix(answer, "...")
		_, _ = io.WriteString(w, sent)
		if breaks {
			if sent != "" {
				_ = http.NewResponseController(w).Flush()
			}
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(ts.Close)
	yaml := "providers:" + harness.ProviderYAML("house", ts.URL) + "prices:\n"
	for model, s := range all {
		yaml += "  house/" + model + ": " + s.price + "\n"
	}
	return harness.Open(t, harness.Setup{YAML: yaml + "aliases:\n  heard: {targets: [house/sound-lost, house/rounded]}\n"})
}

// TestMeterOfMedia compares the charge of images, speech and transcripts with the served amounts, in every unit of
// usage, and the hold with both.
func TestMeterOfMedia(t *testing.T) {
	t.Parallel()
	h := openMedia(t)
	paint := func(model, members string) harness.Reply {
		return h.Do(harness.Ask{Path: "/v1/images/generations", Body: `{"model":"house/` + model + `","prompt":"A weir"` + members + `}`})
	}
	say := func(model, text string) harness.Reply {
		return h.Do(harness.Ask{Path: "/v1/audio/speech", Body: `{"model":"house/` + model + `","voice":"alloy","stream_format":"sse","input":"` + text + `"}`})
	}
	write := func(model string, millis int, fields ...string) harness.Reply {
		recording := harness.WAV(millis / 1000)
		if millis%1000 != 0 {
			recording = append(recording, make([]byte, 8*(millis%1000))...)
			recording[40], recording[41], recording[42], recording[43] = 0xff, 0xff, 0xff, 0xff
		}
		return h.Transcribe("/v1/audio/transcriptions", recording, append([]string{"model", "house/" + model}, fields...)...)
	}
	const streamed, two = `,"stream":true`, `,"stream":true,"n":2`
	for _, tt := range []struct {
		name        string
		reply       harness.Reply
		outcome     ledger.Outcome
		provenance  ledger.Provenance
		cost        string
		said        string // is in the reply
		unannounced bool   // the client receives no cost
	}{
		{"tokens beside a duration", write("diarized", 2000), ledger.OutcomeOK, ledger.Exact, "0.00009", `"duration":2.3`, false},
		{"seconds where tokens have a price", write("told-seconds", 2000), ledger.OutcomeOK, ledger.Estimated, "0.00014", `"seconds":2`, false},
		{"tokens where seconds have a price", write("told-tokens", 2000), ledger.OutcomeOK, ledger.Estimated, "0.0002", "Hello there", false},
		{"a duration alone", write("verbose", 2000, "response_format", "verbose_json"), ledger.OutcomeOK, ledger.Exact, "0.00025", `"language":"english"`, false},
		{"seconds that cannot be", write("a-century", 2000), ledger.OutcomeOK, ledger.Estimated, "0.0002", "Hello there", false},
		{"seconds that are rounded up", write("rounded", 1500), ledger.OutcomeOK, ledger.Exact, "0.0002", "Hello there", false},
		{"a stream that is none", write("no-stream", 2000, "stream", "true"), ledger.OutcomeOK, ledger.Exact, "0.0002", `"text":"Hello there"`, false},
		{"a transcript's stream", write("words", 2000, "stream", "true"), ledger.OutcomeOK, ledger.Exact, "0.00009", `"cost":0.00009`, false},
		{"a transcript's stream, untold", write("words-untold", 2000, "stream", "true"), ledger.OutcomeOK, ledger.Estimated, "0.00018", "four five six", true},
		{"a transcript's stream that breaks off", write("words-cut", 2000, "stream", "true"), ledger.OutcomeCut, ledger.Estimated, "0.00018", "four five six", true},
		{"speech as events", say("say", "Hello there"), ledger.OutcomeOK, ledger.Exact, "0.0003624", `"cost":0.0003624`, false},
		{"speech of few letters", say("say", "你好"), ledger.OutcomeOK, ledger.Exact, "0.0003624", `"cost":0.0003624`, false},
		{"tokens where characters have a price", say("say-letters", "Hello there"), ledger.OutcomeOK, ledger.Exact, "0.00011", `"cost":0.00011`, false},
		{"two images", paint("paint-two", two), ledger.OutcomeOK, ledger.Exact, "0.0085", `"cost":0.0085`, false},
		{"two images, one of which is done", paint("paint-one", two), ledger.OutcomeCut, ledger.Estimated, "0.00425", "partial_image", true},
		{"an image that breaks off", paint("paint-none", streamed), ledger.OutcomeCut, ledger.Estimated, "0", "partial_image", true},
		{"no image", paint("paint-refused", ""), ledger.OutcomeOK, ledger.Exact, "0", `"data":[]`, false},
	} {
		got := h.Entry(t, tt.reply.Header.Get("X-Request-Id"))
		if got.Outcome != tt.outcome || got.Provenance != tt.provenance || got.Cost.String() != tt.cost {
			t.Errorf("%s: %s and %s, $%s of %v; want %s and %s, $%s", tt.name, got.Outcome, got.Provenance, got.Cost, got.Usage, tt.outcome, tt.provenance, tt.cost)
		}
		if got.Hold < got.Cost {
			t.Errorf("%s: held $%s, cost $%s", tt.name, got.Hold, got.Cost)
		}
		told := tt.reply.Header.Get("X-Weir-Cost-USD")
		if !strings.Contains(tt.reply.Body, tt.said) || told != "" && told != tt.cost || !tt.unannounced && told == "" && !strings.Contains(tt.reply.Body, `"cost":`+tt.cost) {
			t.Errorf("%s: status %d, reported $%s: %q", tt.name, tt.reply.Status, told, tt.reply.Body)
		}
	}
	h.Verify(t)
}

// TestUnreportedImagesAreEstimated checks estimates: an image costs something, and never as much as the largest.
func TestUnreportedImagesAreEstimated(t *testing.T) {
	t.Parallel()
	h := openMedia(t)
	made := h.Do(harness.Ask{Path: "/v1/images/generations", Body: `{"model":"house/paint-untold","prompt":"A weir"}`})
	got := h.Entry(t, made.Header.Get("X-Request-Id"))
	if got.Provenance != ledger.Estimated || got.Usage.OutputTokens() < 200 || got.Hold < got.Cost {
		t.Errorf("an image with unreported tokens: %+v, of a hold of $%s", got.Settlement, got.Hold)
	}
	lost := h.Multipart("/v1/images/edits", "image", []byte("\x89PNG"), "model", "house/edit-lost", "prompt", "Add a trout")
	got = h.Entry(t, lost.Header.Get("X-Request-Id"))
	if n := got.Usage.InputTokens(); got.Provenance != ledger.Estimated || n < 100 || n > 2000 || got.Usage.OutputTokens() != 0 {
		t.Errorf("an edit without a received result: %+v", got.Settlement)
	}
}

// TestNoStreamBehindComments requests streams of models that do not stream, and are so slow that comments have been
// sent: a text answer still arrives.
func TestNoStreamBehindComments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ contentType, body, want string }{
		{"application/json", "{\r\n\"text\": \"Hello\",\n\"usage\": {\"type\":\"duration\",\"seconds\":2}}", `data: {"text":"Hello","usage":{"cost":0.0002,"type":"duration","seconds":2}}`},
		{"text/plain", "Hello", `"type":"server_error"`},
	} {
		begun := make(chan struct{})
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-begun
			w.Header().Set("Content-Type", tt.contentType)
			_, _ = io.WriteString(w, tt.body)
		}))
		t.Cleanup(ts.Close)
		yaml := "providers:" + harness.ProviderYAML("house", ts.URL) + "prices:\n  house/*: " + soundTime + "\n"
		h := harness.Open(t, harness.Setup{YAML: yaml, Timing: gateway.Timing{KeepAlive: 3 * time.Millisecond}})
		resp, err := h.Client.Do(h.FormRequest("/v1/audio/transcriptions", "file", harness.WAV(2), "model", "house/m", "stream", "true"))
		close(begun) // the head is there, and so is a comment
		must.Do(t, err)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		failed := strings.Contains(string(body), "event: error\n")
		if failed != (err != nil) || !strings.HasPrefix(string(body), ": keep-alive\n\n") || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: %q, %v; want %s", tt.contentType, body, err, tt.want)
		}
	}
}

// TestMediaOfDisconnectedClients lets clients disconnect after their provider has all of a request: the recording may
// have been heard, and the text read; no image or sound has arrived.
func TestMediaOfDisconnectedClients(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL) + "prices:\n  house/heard: " + soundTime + "\n  house/read: {character: \"0.00001\"}\n  house/drawn: {image: \"0.04\"}\n"})
	h.SetOnDisconnect(account.DisconnectCancel)
	say := func(path, members string) *http.Request {
		return h.Request(harness.Ask{Path: path, Body: "{" + members + "}"})
	}
	for _, tt := range []struct {
		model, cost string
		priced      bool
		r           *http.Request
	}{
		{"house/heard", "0.0002", true, h.FormRequest("/v1/audio/transcriptions", "file", harness.WAV(2), "model", "house/heard")},
		{"house/free", "0", false, h.FormRequest("/v1/audio/transcriptions", "file", harness.WAV(2), "model", "house/free")},
		{"house/read", "0.00005", true, say("/v1/audio/speech", `"model":"house/read","voice":"alloy","input":"Hello"`)},
		{"house/drawn", "0", true, say("/v1/images/generations", `"model":"house/drawn","prompt":"A weir","n":2`)},
	} {
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-asked
			leave()
		}()
		if resp, err := h.Client.Do(tt.r.WithContext(ctx)); err == nil {
			t.Fatalf("%s: answered with %d", tt.model, resp.StatusCode)
		}
		var got ledger.Entry
		harness.Await(t, "the row of "+tt.model, func() bool {
			got = h.EntryOf(t, tt.model)
			return got.Counts
		})
		if got.Outcome != ledger.OutcomeClientGone || got.Provenance != ledger.Estimated || got.Cost.String() != tt.cost || got.Price.Known() != tt.priced || got.Hold < got.Cost {
			t.Errorf("%s: held $%s, %+v; want a cost of $%s", tt.model, got.Hold, got.Settlement, tt.cost)
		}
	}
	h.Verify(t)
}
