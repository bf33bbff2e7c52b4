package chat_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/simulator"
)

// recorder is a provider that records its answers, byte for byte.
type recorder struct {
	http.Handler
	url string

	mu   sync.Mutex
	sent bytes.Buffer
}

func newRecorder(t testing.TB) *recorder {
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	r := &recorder{Handler: s}
	ts := httptest.NewServer(r)
	t.Cleanup(func() { s.Close(); ts.Close() })
	r.url = ts.URL
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.Handler.ServeHTTP(&recording{w, r}, q)
}

// take returns the bytes sent since the last call.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.sent.Reset()
	return r.sent.String()
}

type recording struct {
	http.ResponseWriter
	r *recorder
}

func (w *recording) Write(b []byte) (int, error) {
	w.r.mu.Lock()
	w.r.sent.Write(b)
	w.r.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

func (w *recording) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// TestStreamBytes checks a stream at the vendor's client API: it equals the provider's, byte for byte, except for the
// cost in its usage; and it has no usage if only the gateway requested it.
func TestStreamBytes(t *testing.T) {
	t.Parallel()
	up := newRecorder(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.url)})
	for _, options := range []string{
		"", "unicode,tokens=40", "pace=1ms", "chunk=1", "chunk=7,unicode", "eol=crlf", "eol=cr", "eol=mixed", "comments", "bom",
		"n=3", "cached=8,prompt=20", "fault=content-filter", "fault=refusal", "usage=nodetails",
	} {
		for _, base := range []string{"chat", "tools", "reason"} {
			model := "house/" + strings.TrimSuffix(base+":"+options, ":")
			tools := ""
			if base == "tools" {
				tools = `,"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}]`
			}
			for _, asked := range []bool{true, false} {
				members := `,"stream":true` + tools
				if asked {
					members = harness.AsksUsage + tools
				}
				got := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion(model, members)})
				wantSame(t, fmt.Sprintf("%s, usage asked %v", model, asked), plainEnd(unspliced(got.Body)), withoutUsage(up.take(), !asked))
				if n := strings.Count(got.Body, `"cost":`); n != map[bool]int{true: 1}[asked] {
					t.Errorf("%s, usage requested %v: %d costs: %s", model, asked, n, got.Body)
				}
			}
		}
	}
}

var costForm = regexp.MustCompile(`"cost":[0-9.]+,`)

// unspliced removes the cost again.
func unspliced(body string) string { return costForm.ReplaceAllString(body, "") }

// wantSame compares two texts and shows their first difference.
func wantSame(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	cut := func(s string) string { return s[max(0, min(at-60, len(s))):min(at+120, len(s))] }
	t.Errorf("%s: at byte %d of %d\ngot  …%q\nwant …%q", what, at, len(want), cut(got), cut(want))
}

// withoutUsage returns a provider's stream without null usage. If drop is set, because only the gateway requested
// usage, it also removes the event with only usage.
func withoutUsage(stream string, drop bool) string {
	if stream = plainEnd(stream); !drop {
		return stream
	}
	at := strings.LastIndex(stream, `data: {`)
	end := strings.LastIndex(stream, `data: [DONE]`)
	return strings.ReplaceAll(stream[:at], `,"usage":null`, "") + stream[end:]
}

var lastComment = regexp.MustCompile(`: keep-alive[\r\n]+$`)

// plainEnd brings the last two events, which the gateway writes itself, into
// their plainest form: no comments, no carriage returns.
func plainEnd(stream string) string {
	at := strings.LastIndex(stream, `"choices":[]`)
	if at < 0 {
		if at = strings.LastIndex(stream, `data: [DONE]`); at < 0 {
			return stream
		}
	} else {
		at = strings.LastIndex(stream[:at], "data: ")
	}
	var end strings.Builder
	for _, line := range strings.FieldsFunc(stream[at:], func(r rune) bool { return r == '\r' || r == '\n' }) {
		if !strings.HasPrefix(line, ":") {
			end.WriteString(line + "\n\n")
		}
	}
	chatAPI := lastComment.ReplaceAllString(stream[:at], "")
	return chatAPI + end.String()
}

// TestWholeBytes checks a whole reply at the vendor's client API.
func TestWholeBytes(t *testing.T) {
	t.Parallel()
	up := newRecorder(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.url)})
	for _, model := range []string{"echo", "chat:unicode", "chat:n=2", "chat:cached=8,prompt=20", "reason", "chat:fault=refusal", "chat:chunk=3"} {
		got := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/"+model, "")})
		wantSame(t, model, unspliced(got.Body), up.take())
		if got.Header.Get("X-Weir-Cost-USD") == "" || !strings.Contains(got.Body, `"cost":`+got.Header.Get("X-Weir-Cost-USD")) {
			t.Errorf("%s: cost %q is not that of the body: %s", model, got.Header.Get("X-Weir-Cost-USD"), got.Body)
		}
		harness.WantCommonHeaders(t, got.Header)
	}
}

// TestRequestBytes checks that a provider receives the client's bytes at the vendor's client API, except for the
// model's name and the request for usage.
func TestRequestBytes(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(s.url)})
	tests := []struct{ name, sent, want string }{
		{
			"everything stays",
			"{ \"logit_bias\" : {\"1\":-1e0},\n\t\"model\":\"house/m\", \"messages\":[{\"role\":\"user\",\"content\":\"\\u0048i\",\"new\":[1.50]}],\"future\":{\"a\":null} }",
			"{ \"logit_bias\" : {\"1\":-1e0},\n\t\"model\":\"m\", \"messages\":[{\"role\":\"user\",\"content\":\"\\u0048i\",\"new\":[1.50]}],\"future\":{\"a\":null} }",
		},
		{
			"usage asked for", `{"model":"house/m","stream":true,"messages":[]}`,
			`{"stream_options":{"include_usage":true},"model":"m","stream":true,"messages":[]}`,
		},
		{
			"usage refused", `{"model":"house/m","stream_options":{"include_usage":false,"x":1},"stream":true,"messages":[]}`,
			`{"model":"m","stream_options":{"include_usage":true,"x":1},"stream":true,"messages":[]}`,
		},
		{"default model", `{"messages":[]}`, `{"model":"chat","messages":[]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: test.sent})
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			if got, _ := s.last(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
