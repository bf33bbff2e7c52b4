package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"weir/internal/must"
)

// WantNames checks that an object has exactly these members.
func WantNames(t testing.TB, object, names string) {
	t.Helper()
	got := RawMembers(t, object)
	for name := range strings.FieldsSeq(names) {
		if _, ok := got[name]; !ok {
			t.Errorf("no %q in %s", name, object)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("members that are not in the specification in %s", object)
	}
}

// WantHeaders checks these headers of a reply.
func WantHeaders(t testing.TB, got http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.Get(name), value)
		}
	}
}

// Ask describes a request. Its zero value with a path is a GET with a valid key.
type Ask struct {
	Method string // empty: POST with a body, otherwise GET
	Path   string
	Body   string
	Key    string   // empty for the gateway's; "none" for no header
	Header []string // name, value, name, value
}

// NoKey omits the Authorization header.
const NoKey = "none"

// Reply is a reply, read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Broken bool // its end is malformed
}

// Hello returns the body of a request to a model.
func Hello(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","prompt":"Say it again, please"}]}`
}

// Chat sends a request to a model at the native client API.
func (h *Gateway) Chat(model string, header ...string) Reply {
	h.T.Helper()
	return h.Do(Ask{Path: "/v1/chat", Body: Hello(model), Header: header})
}

// Stream requests a stream at the native client API.
func (h *Gateway) Stream(model string) Reply {
	h.T.Helper()
	return h.Chat(model, "Accept", "text/event-stream")
}

// Request builds a request for Send.
func (h *Gateway) Request(a Ask) *http.Request {
	h.T.Helper()
	if a.Method == "" {
		a.Method = http.MethodGet
		if a.Body != "" {
			a.Method = http.MethodPost
		}
	}
	var body io.Reader
	if a.Body != "" {
		body = strings.NewReader(a.Body)
	}
	r := must.Get(http.NewRequestWithContext(h.T.Context(), a.Method, h.URL+a.Path, body))(h.T)
	if a.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	switch a.Key {
	case "":
		r.Header.Set("Authorization", "Bearer "+h.Key)
	case NoKey:
	default:
		r.Header.Set("Authorization", "Bearer "+a.Key)
	}
	for i := 0; i+1 < len(a.Header); i += 2 {
		r.Header.Set(a.Header[i], a.Header[i+1])
	}
	r.Host = r.Header.Get("Host") // empty for that of the URL
	return r
}

// Do sends a request and reads the whole reply.
func (h *Gateway) Do(a Ask) Reply {
	h.T.Helper()
	return h.Send(h.Request(a))
}

// Send sends a prepared request.
func (h *Gateway) Send(r *http.Request) Reply {
	h.T.Helper()
	resp, err := h.Client.Do(r)
	if err != nil {
		h.T.Fatalf("%s: %v", r.URL.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	got := Reply{Status: resp.StatusCode, Header: resp.Header, Body: string(body), Broken: err != nil}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || got.Broken != got.failsInBand() {
		h.T.Fatalf("%s: read the reply: %v, want a well-formed end unless an error event is the last:\n%s",
			r.URL.Path, err, body)
	}
	return got
}

// failsInBand reports whether the reply is a stream with an error as its last event.
func (r Reply) failsInBand() bool {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		return false
	}
	last := r.Body[strings.LastIndex(strings.TrimSuffix(r.Body, "\n\n"), "\n\n")+1:]
	return strings.Contains(last, "event: error\n") || strings.Contains(last, `data: {"error":`) ||
		strings.Contains(last, "event: response.failed\n")
}

// Decode reads JSON and refuses members that the target does not have.
func Decode(t testing.TB, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}

// ChatReply has exactly the members of a reply in the specification, section 2.3.
type ChatReply struct {
	ID           string `json:"id"`
	Created      int64  `json:"created"`
	Model        string `json:"model"`
	ResponseType string `json:"responsetype"`
	Choices      []struct {
		Index   int `json:"index"`
		Message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage Tokens `json:"usage"`
}

// Tokens is the usage of the native API.
type Tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// MustAnswer returns the reply, which must be successful.
func (h *Gateway) MustAnswer(r Reply) ChatReply {
	h.T.Helper()
	if r.Status != http.StatusOK {
		h.T.Fatalf("status %d, want 200: %s", r.Status, r.Body)
	}
	var c ChatReply
	Decode(h.T, r.Body, &c)
	if len(c.Choices) != 1 {
		h.T.Fatalf("%d choices, want one: %s", len(c.Choices), r.Body)
	}
	return c
}

// NativeError is the body of every error of the native API.
type NativeError struct {
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	Param     *string `json:"param"`
	RequestID string  `json:"request_id"`
}

// Named returns the parameter that the error names, or "".
func (e *NativeError) Named() string {
	if e.Param == nil {
		return ""
	}
	return *e.Param
}

// ReadError reads an error body, which must have the form of the native API.
func ReadError(t testing.TB, body string) NativeError {
	t.Helper()
	var shape map[string]map[string]any
	if err := json.Unmarshal([]byte(body), &shape); err != nil || len(shape) != 1 {
		t.Fatalf("error body %s: not the form of the native API (%v)", body, err)
	}
	for _, name := range []string{"code", "message", "param", "request_id"} {
		if _, ok := shape["error"][name]; !ok {
			t.Errorf("error body %s: no %q", body, name)
		}
	}
	var e struct {
		Error NativeError `json:"error"`
	}
	Decode(t, body, &e)
	if e.Error.Message == "" || strings.Contains(body, UpstreamKey) {
		t.Errorf("error body %s: no message, or a secret in it", body)
	}
	return e.Error
}

// WantError checks status, code, form and headers of an error.
func WantError(t testing.TB, r Reply, status int, code string) NativeError {
	t.Helper()
	e := ReadError(t, r.Body)
	if r.Status != status || e.Code != code {
		t.Errorf("got %d %s, want %d %s: %s", r.Status, e.Code, status, code, r.Body)
	}
	if got := r.Header.Get("X-Request-Id"); got != e.RequestID {
		t.Errorf("X-Request-Id %q, request_id %q: want the same", got, e.RequestID)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q, want application/json", got)
	}
	WantCommonHeaders(t, r.Header)
	return e
}

// WantCommonHeaders checks the headers of every reply of the API to a client without limits.
func WantCommonHeaders(t testing.TB, h http.Header) {
	t.Helper()
	id, err := uuid.Parse(h.Get("X-Request-Id"))
	if err != nil || id.Version() != 7 {
		t.Errorf("X-Request-Id %q is not a UUID of version 7", h.Get("X-Request-Id"))
	}
	for name, values := range h {
		if strings.Contains(strings.ToLower(name), "ratelimit") {
			t.Errorf("%s is %q, want no such header without a limit", name, values)
		}
	}
}

// RawMembers returns the members of an object as written.
func RawMembers(t testing.TB, text string) map[string]json.RawMessage {
	t.Helper()
	m := map[string]json.RawMessage{}
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&m); err != nil {
		t.Fatalf("%s is not an object: %v", text, err)
	}
	return m
}

// Embedders maps the wire formats of embedding providers to the path between the simulator's URL and theirs.
var Embedders = map[string]string{
	"openai": "/v1", "responses": "/v1", "gemini": "/v1beta", "cohere": "/v2",
	"ollama": "", "bedrock": "",
}

// VendorEmbed returns a request for embeddings.
func VendorEmbed(body string) Ask { return Ask{Path: "/v1/embeddings", Body: body} }

// Messages returns a body with these messages.
func Messages(list string) string { return `{"messages":` + list + `}` }

// Keyed returns a request with an Idempotency-Key.
func Keyed(path, body, key string, header ...string) Ask {
	return Ask{Path: path, Body: body, Header: append([]string{"Idempotency-Key", key}, header...)}
}
