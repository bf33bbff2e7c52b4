package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// ask is a request. Its zero value, but for a path, is a GET with a good key.
type ask struct {
	method string // empty: POST where there is a body, else GET
	path   string
	body   string
	key    string   // empty for the house's; "none" for no header at all
	header []string // name, value, name, value
}

// noKey leaves the Authorization header out.
const noKey = "none"

// reply is what came back, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// hello is the body of a request to a model.
func hello(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","prompt":"Say it again, please"}]}`
}

// chat asks a model at the native client API.
func (h *testGateway) chat(model string, header ...string) reply {
	h.t.Helper()
	return h.do(ask{path: "/v1/chat", body: hello(model), header: header})
}

// stream asks for a stream at the native client API.
func (h *testGateway) stream(model string) reply {
	h.t.Helper()
	return h.chat(model, "Accept", "text/event-stream")
}

func (h *testGateway) request(a ask) *http.Request {
	h.t.Helper()
	if a.method == "" {
		a.method = http.MethodGet
		if a.body != "" {
			a.method = http.MethodPost
		}
	}
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), a.method, h.url+a.path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	switch a.key {
	case "":
		r.Header.Set("Authorization", "Bearer "+h.key)
	case noKey:
	default:
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	for i := 0; i+1 < len(a.header); i += 2 {
		r.Header.Set(a.header[i], a.header[i+1])
	}
	r.Host = r.Header.Get("Host") // empty for that of the URL
	return r
}

// do sends a request and reads the whole reply.
func (h *testGateway) do(a ask) reply {
	h.t.Helper()
	return h.send(h.request(a))
}

// send sends a request that was made by hand.
func (h *testGateway) send(r *http.Request) reply {
	h.t.Helper()
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatalf("%s: %v", r.URL.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%s: read the reply: %v", r.URL.Path, err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// decode reads JSON and refuses what the target has no place for.
func decode(t testing.TB, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}

// chatReply is the reply of the specification, section 2.3, and no more.
type chatReply struct {
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
	Usage tokens `json:"usage"`
}

type tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// mustAnswer is the reply, which has to be a good one.
func (h *testGateway) mustAnswer(r reply) chatReply {
	h.t.Helper()
	if r.status != http.StatusOK {
		h.t.Fatalf("status %d, want 200: %s", r.status, r.body)
	}
	var c chatReply
	decode(h.t, r.body, &c)
	if len(c.Choices) != 1 {
		h.t.Fatalf("%d choices, want one: %s", len(c.Choices), r.body)
	}
	return c
}

// nativeError is the body of every error of the native API.
type nativeError struct {
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	Param     *string `json:"param"`
	RequestID string  `json:"request_id"`
}

// param is what the error names, empty for nothing.
func (e *nativeError) param() string {
	if e.Param == nil {
		return ""
	}
	return *e.Param
}

// readError reads an error body, which has to be of the one shape.
func readError(t testing.TB, body string) nativeError {
	t.Helper()
	var shape map[string]map[string]any
	if err := json.Unmarshal([]byte(body), &shape); err != nil || len(shape) != 1 {
		t.Fatalf("error body %s: not the one shape (%v)", body, err)
	}
	for _, name := range []string{"code", "message", "param", "request_id"} {
		if _, ok := shape["error"][name]; !ok {
			t.Errorf("error body %s: no %q", body, name)
		}
	}
	var e struct {
		Error nativeError `json:"error"`
	}
	decode(t, body, &e)
	if e.Error.Message == "" || strings.Contains(body, upstreamKey) {
		t.Errorf("error body %s: no message, or a secret in it", body)
	}
	return e.Error
}

// wantError checks status, code, shape and headers of an error.
func wantError(t testing.TB, r reply, status int, code string) nativeError {
	t.Helper()
	e := readError(t, r.body)
	if r.status != status || e.Code != code {
		t.Errorf("got %d %s, want %d %s: %s", r.status, e.Code, status, code, r.body)
	}
	if got := r.header.Get("X-Request-Id"); got != e.RequestID {
		t.Errorf("X-Request-Id %q, request_id %q: want the same", got, e.RequestID)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q, want application/json", got)
	}
	wantCommonHeaders(t, r.header)
	return e
}

// wantCommonHeaders checks what stands on every reply of the API.
func wantCommonHeaders(t testing.TB, h http.Header) {
	t.Helper()
	id, err := uuid.Parse(h.Get("X-Request-Id"))
	if err != nil || id.Version() != 7 {
		t.Errorf("X-Request-Id %q is not a UUID of version 7", h.Get("X-Request-Id"))
	}
	for _, kind := range []string{"Limit", "Remaining", "Reset"} {
		for _, of := range []string{"Requests", "Tokens"} {
			name := "X-RateLimit-" + kind + "-" + of
			if got := h.Values(name); !slices.Equal(got, []string{"0"}) {
				t.Errorf("%s is %q, want 0 where there is no limit", name, got)
			}
		}
	}
}

// rawMembers are the members of an object as they are written.
func rawMembers(t testing.TB, text string) map[string]json.RawMessage {
	t.Helper()
	m := map[string]json.RawMessage{}
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&m); err != nil {
		t.Fatalf("%s is not an object: %v", text, err)
	}
	return m
}
