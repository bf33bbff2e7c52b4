package chat_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// user builds a body with these extra members and one valid message.
func user(members string) string {
	return `{"messages":[{"role":"user","prompt":"Hi"}],` + members + `}`
}

// TestInvalidRequests checks mistakes in a body, each with its param, at both forms of the path.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	tests := []struct{ name, body, param string }{
		{"no JSON", `hello`, ""},
		{"nothing", ``, ""},
		{"half an object", `{"messages":[`, ""},
		{"trailing data", user(`"x":1`) + `{}`, ""},
		{"array", `[]`, ""},
		{"null", `null`, ""},
		{"not UTF-8", user("\"x\":\"\xff\""), ""},
		{"too deep", user(`"x":` + deep), ""},
		{"byte-order mark", "\xef\xbb\xbf" + user(`"x":1`), ""},

		{"no messages", `{}`, "messages"},
		{"messages null", harness.Messages(`null`), "messages"},
		{"messages not an array", harness.Messages(`{}`), "messages"},
		{"messages empty", harness.Messages(`[]`), "messages"},
		{"system alone", harness.Messages(`[{"role":"system","prompt":"Be brief"}]`), "messages"},
		{"message not an object", harness.Messages(`["Hi"]`), "messages[0]"},
		{"no role", harness.Messages(`[{"prompt":"Hi"}]`), "messages[0].role"},
		{"unknown role", harness.Messages(`[{"role":"user","prompt":"Hi"},{"role":"assistant","prompt":"Hi"}]`), "messages[1].role"},
		{"role in capitals", harness.Messages(`[{"role":"User","prompt":"Hi"}]`), "messages[0].role"},
		{"role a number", harness.Messages(`[{"role":1,"prompt":"Hi"}]`), "messages[0].role"},
		{"no prompt", harness.Messages(`[{"role":"user"}]`), "messages[0].prompt"},
		{"prompt empty", harness.Messages(`[{"role":"user","prompt":""}]`), "messages[0].prompt"},
		{"prompt null", harness.Messages(`[{"role":"user","prompt":null}]`), "messages[0].prompt"},
		{"prompt an array", harness.Messages(`[{"role":"user","prompt":["Hi"]}]`), "messages[0].prompt"},
		{"system prompt empty", harness.Messages(`[{"role":"system","prompt":""},{"role":"user","prompt":"Hi"}]`), "messages[0].prompt"},

		{"responsetype other", user(`"responsetype":"json"`), "responsetype"},
		{"responsetype in capitals", user(`"responsetype":"Stream"`), "responsetype"},
		{"responsetype true", user(`"responsetype":true`), "responsetype"},
		{"responsetype empty", user(`"responsetype":""`), "responsetype"},

		{"model without provider", user(`"model":"gpt"`), "model"},
		{"model without name", user(`"model":"house/"`), "model"},
		{"model without either", user(`"model":"/"`), "model"},
		{"model empty", user(`"model":""`), "model"},
		{"model with a space", user(`"model":"house/a b"`), "model"},
		{"model a number", user(`"model":7`), "model"},

		{"max_tokens 0", user(`"max_tokens":0`), "max_tokens"},
		{"max_tokens negative", user(`"max_tokens":-1`), "max_tokens"},
		{"max_tokens a fraction", user(`"max_tokens":1.5`), "max_tokens"},
		{"max_tokens a string", user(`"max_tokens":"7"`), "max_tokens"},
		{"temperature above", user(`"temperature":2.1`), "temperature"},
		{"temperature below", user(`"temperature":-0.1`), "temperature"},
		{"temperature a string", user(`"temperature":"1"`), "temperature"},
		{"top_p 0", user(`"top_p":0`), "top_p"},
		{"top_p above", user(`"top_p":1.01`), "top_p"},
		{"stop five", user(`"stop":["a","b","c","d","e"]`), "stop"},
		{"stop empty", user(`"stop":""`), "stop"},
		{"stop none", user(`"stop":[]`), "stop"},
		{"stop a number", user(`"stop":3`), "stop"},
	}
	for _, path := range []string{"/v1/chat", "/api/chat"} {
		for _, test := range tests {
			r := h.Do(harness.Ask{Method: http.MethodPost, Path: path, Body: test.body})
			if e := harness.WantError(t, r, 400, "INVALID_REQUEST"); e.Named() != test.param {
				t.Errorf("%s %s: param %q, want %q: %s", path, test.name, e.Named(), test.param, r.Body)
			}
			if t.Failed() {
				t.Fatalf("at %s, %s: %s", path, test.name, test.body)
			}
		}
	}
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("%d requests reached the provider, want none", n)
	}
}

// TestValidRequests checks bodies that are just valid.
func TestValidRequests(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, body := range []string{
		user(`"responsetype":null,"model":null,"max_tokens":null,"temperature":null,"top_p":null,"stop":null`),
		user(`"responsetype":"stream"`),
		user(`"nobody_knows":{"this":[1,2,{"x":null}]},"stream":false,"tools":7`),
		user(`"max_tokens":1,"temperature":0,"top_p":1,"stop":"x"`),
		user(`"max_tokens":1e2,"temperature":2.0,"top_p":0.001,"stop":["a","b","c","d"]`),
		user(`"x":` + strings.Repeat("[", 99) + strings.Repeat("]", 99)),
		" \r\n\t" + user(`"x":1`) + "\n",
		harness.Messages(`[{"role":"user","prompt":"Hi","name":"me","content":[1]}]`),
		harness.Messages(`[{"role":"\u0075ser","prompt":" "}]`),
	} {
		h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: body}))
	}
}

// TestErrorsOfClients checks every other mistake of a client.
func TestErrorsOfClients(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_body: 64KiB\n" + harness.ProvidersYAML(up.URL)})
	large := `{"messages":[{"role":"user","prompt":"` + strings.Repeat("a", 64<<10) + `"}]}`
	tests := []struct {
		name   string
		ask    harness.Ask
		status int
		code   string
		param  string
		header []string // name, value
	}{
		{name: "no such path", ask: harness.Ask{Path: "/v1/nothing"}, status: 404, code: "NOT_FOUND"},
		{name: "no such path below", ask: harness.Ask{Path: "/v1/chat/more", Body: harness.Hello("house/echo")}, status: 404, code: "NOT_FOUND"},
		{name: "no such path, no key", ask: harness.Ask{Path: "/nothing", Key: harness.NoKey}, status: 404, code: "NOT_FOUND"},
		{name: "no such provider", ask: harness.Ask{Path: "/v1/chat", Body: harness.Hello("nobody/echo")}, status: 404, code: "MODEL_NOT_FOUND", param: "model"},
		{name: "no such model there", ask: harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/nothing")}, status: 404, code: "MODEL_NOT_FOUND"},

		{name: "GET chat", ask: harness.Ask{Path: "/v1/chat"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "POST"}},
		{name: "GET the other chat", ask: harness.Ask{Path: "/api/chat"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "POST"}},
		{name: "PUT chat", ask: harness.Ask{Method: "PUT", Path: "/v1/chat", Body: "{}"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "POST"}},
		{name: "POST uses", ask: harness.Ask{Path: "/v1/uses", Body: "{}"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "GET, HEAD"}},
		{name: "DELETE the other uses", ask: harness.Ask{Method: "DELETE", Path: "/uses"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "GET, HEAD"}},
		{name: "method of nobody", ask: harness.Ask{Method: "BREW", Path: "/v1/models"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "GET, HEAD"}},

		{name: "too large, told", ask: harness.Ask{Path: "/v1/chat", Body: large}, status: 413, code: "REQUEST_TOO_LARGE"},
		{name: "form", ask: harness.Ask{Path: "/v1/chat", Body: "a=b", Header: []string{"Content-Type", "application/x-www-form-urlencoded"}}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "text", ask: harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Header: []string{"Content-Type", "text/plain"}}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "nearly JSON", ask: harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Header: []string{"Content-Type", "application/jsonp"}}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "long idempotency key", ask: harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Header: []string{"Idempotency-Key", strings.Repeat("k", 256)}}, status: 400, code: "INVALID_REQUEST", param: "Idempotency-Key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := h.Do(test.ask)
			if e := harness.WantError(t, r, test.status, test.code); test.param != "" && e.Named() != test.param {
				t.Errorf("param %q, want %q", e.Named(), test.param)
			}
			if len(test.header) > 0 && r.Header.Get(test.header[0]) != test.header[1] {
				t.Errorf("%s is %q, want %q", test.header[0], r.Header.Get(test.header[0]), test.header[1])
			}
		})
	}
}

// TestLargeBodyOfUnknownLength sends a body of undeclared length that exceeds the bound.
func TestLargeBodyOfUnknownLength(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_body: 64KiB\n" + harness.ProvidersYAML(up.URL)})
	r := h.Request(harness.Ask{Path: "/v1/chat", Body: "x"})
	r.ContentLength = -1
	r.Body = &endless{left: 64 << 20}
	resp, err := h.Client.Do(r)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", resp.StatusCode)
	}
}

// TestContentTypes checks the declared types that are read as JSON.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, value := range []string{"application/json", "application/json; charset=utf-8", "APPLICATION/JSON", `application/json;profile="x"`, ""} {
		r := h.Request(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo")})
		if r.Header.Set("Content-Type", value); value == "" {
			r.Header.Del("Content-Type")
		}
		resp, err := h.Client.Do(r)
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("content type %q: status %d, want 200", value, resp.StatusCode)
		}
	}
}

// TestOverloadedNodeRefuses sends one request more than the node accepts.
func TestOverloadedNodeRefuses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_concurrency: 1\n" + harness.ProvidersYAML(up.URL)})
	first := make(chan harness.Reply)
	go func() { first <- h.Chat("house/echo:ttft=2s") }()
	harness.Await(t, "the first request", func() bool { return len(up.Ledger().Totals().Outcomes) > 0 })
	r := h.Chat("house/echo")
	harness.WantError(t, r, 503, "OVERLOADED")
	if r.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q, want 1", r.Header.Get("Retry-After"))
	}
	h.MustAnswer(<-first)
	h.MustAnswer(h.Chat("house/echo"))
}

// endless is a body of that many bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	if n == 0 {
		return 0, fmt.Errorf("the whole body was read")
	}
	for i := range n {
		p[i] = ' '
	}
	e.left -= n
	return n, nil
}

func (e *endless) Close() error { return nil }
