package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// user is a body with these extra members beside one good message.
func user(members string) string {
	return `{"messages":[{"role":"user","prompt":"Hi"}],` + members + `}`
}

// messages is a body with these messages.
func messages(list string) string { return `{"messages":` + list + `}` }

// TestInvalidRequests is what a caller can get wrong in a body, each named by
// its param, at both forms of the path.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
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
		{"messages null", messages(`null`), "messages"},
		{"messages not an array", messages(`{}`), "messages"},
		{"messages empty", messages(`[]`), "messages"},
		{"system alone", messages(`[{"role":"system","prompt":"Be brief"}]`), "messages"},
		{"message not an object", messages(`["Hi"]`), "messages[0]"},
		{"no role", messages(`[{"prompt":"Hi"}]`), "messages[0].role"},
		{"unknown role", messages(`[{"role":"user","prompt":"Hi"},{"role":"assistant","prompt":"Hi"}]`), "messages[1].role"},
		{"role in capitals", messages(`[{"role":"User","prompt":"Hi"}]`), "messages[0].role"},
		{"role a number", messages(`[{"role":1,"prompt":"Hi"}]`), "messages[0].role"},
		{"no prompt", messages(`[{"role":"user"}]`), "messages[0].prompt"},
		{"prompt empty", messages(`[{"role":"user","prompt":""}]`), "messages[0].prompt"},
		{"prompt null", messages(`[{"role":"user","prompt":null}]`), "messages[0].prompt"},
		{"prompt an array", messages(`[{"role":"user","prompt":["Hi"]}]`), "messages[0].prompt"},
		{"system prompt empty", messages(`[{"role":"system","prompt":""},{"role":"user","prompt":"Hi"}]`), "messages[0].prompt"},

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
			r := h.do(ask{method: http.MethodPost, path: path, body: test.body})
			if e := wantError(t, r, 400, "INVALID_REQUEST"); e.param() != test.param {
				t.Errorf("%s %s: param %q, want %q: %s", path, test.name, e.param(), test.param, r.body)
			}
			if t.Failed() {
				t.Fatalf("at %s, %s: %s", path, test.name, test.body)
			}
		}
	}
	if n := len(up.records(t)); n != 0 {
		t.Errorf("%d requests reached the provider, want none", n)
	}
}

// TestValidRequests is what is at the edge of being wrong, and is not.
func TestValidRequests(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	for _, body := range []string{
		user(`"responsetype":null,"model":null,"max_tokens":null,"temperature":null,"top_p":null,"stop":null`),
		user(`"responsetype":"stream"`),
		user(`"nobody_knows":{"this":[1,2,{"x":null}]},"stream":false,"tools":7`),
		user(`"max_tokens":1,"temperature":0,"top_p":1,"stop":"x"`),
		user(`"max_tokens":1e2,"temperature":2.0,"top_p":0.001,"stop":["a","b","c","d"]`),
		user(`"x":` + strings.Repeat("[", 99) + strings.Repeat("]", 99)),
		" \r\n\t" + user(`"x":1`) + "\n",
		messages(`[{"role":"user","prompt":"Hi","name":"me","content":[1]}]`),
		messages(`[{"role":"\u0075ser","prompt":" "}]`),
	} {
		h.mustAnswer(h.do(ask{path: "/v1/chat", body: body}))
	}
}

// TestErrors is every other way in which the caller is at fault.
func TestErrors(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "max_body: 64KiB\n" + providersYAML(up.url)})
	large := `{"messages":[{"role":"user","prompt":"` + strings.Repeat("a", 64<<10) + `"}]}`
	tests := []struct {
		name   string
		ask    ask
		status int
		code   string
		param  string
		header []string // name, value
	}{
		{name: "no such path", ask: ask{path: "/v1/nothing"}, status: 404, code: "NOT_FOUND"},
		{name: "no such path below", ask: ask{path: "/v1/chat/more", body: hello("house/echo")}, status: 404, code: "NOT_FOUND"},
		{name: "no such path, no key", ask: ask{path: "/nothing", key: noKey}, status: 404, code: "NOT_FOUND"},
		{name: "no such provider", ask: ask{path: "/v1/chat", body: hello("nobody/echo")}, status: 404, code: "MODEL_NOT_FOUND", param: "model"},
		{name: "no such model there", ask: ask{path: "/v1/chat", body: hello("house/nothing")}, status: 404, code: "MODEL_NOT_FOUND"},

		{name: "GET chat", ask: ask{path: "/v1/chat"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "POST"}},
		{name: "GET the other chat", ask: ask{path: "/api/chat"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "POST"}},
		{name: "PUT chat", ask: ask{method: "PUT", path: "/v1/chat", body: "{}"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "POST"}},
		{name: "POST uses", ask: ask{path: "/v1/uses", body: "{}"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "GET, HEAD"}},
		{name: "DELETE the other uses", ask: ask{method: "DELETE", path: "/uses"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "GET, HEAD"}},
		{name: "method of nobody", ask: ask{method: "BREW", path: "/v1/models"}, status: 405, code: "METHOD_NOT_ALLOWED", header: []string{"Allow", "GET, HEAD"}},

		{name: "too large, told", ask: ask{path: "/v1/chat", body: large}, status: 413, code: "REQUEST_TOO_LARGE"},
		{name: "form", ask: ask{path: "/v1/chat", body: "a=b", header: []string{"Content-Type", "application/x-www-form-urlencoded"}}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "text", ask: ask{path: "/v1/chat", body: hello("house/echo"), header: []string{"Content-Type", "text/plain"}}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "nearly JSON", ask: ask{path: "/v1/chat", body: hello("house/echo"), header: []string{"Content-Type", "application/jsonp"}}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "long idempotency key", ask: ask{path: "/v1/chat", body: hello("house/echo"), header: []string{"Idempotency-Key", strings.Repeat("k", 256)}}, status: 400, code: "INVALID_REQUEST", param: "Idempotency-Key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := h.do(test.ask)
			if e := wantError(t, r, test.status, test.code); test.param != "" && e.param() != test.param {
				t.Errorf("param %q, want %q", e.param(), test.param)
			}
			if len(test.header) > 0 && r.header.Get(test.header[0]) != test.header[1] {
				t.Errorf("%s is %q, want %q", test.header[0], r.header.Get(test.header[0]), test.header[1])
			}
		})
	}
}

// TestErrorsAtVendorAPIs is the same in the vendor's own shape.
func TestErrorsAtVendorAPIs(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "max_body: 64KiB\n" + providersYAML(up.url)})
	tests := []struct {
		name   string
		ask    ask
		status int
		kind   string
		param  string
	}{
		{"another method", ask{method: "GET"}, 405, "invalid_request_error", "null"},
		{"no JSON", ask{body: "hello"}, 400, "invalid_request_error", "null"},
		{"model a number", ask{body: `{"model":7,"messages":[]}`}, 400, "invalid_request_error", `"model"`},
		{"stream a string", ask{body: `{"model":"house/echo","stream":"yes"}`}, 400, "invalid_request_error", `"stream"`},
		{"no choices", ask{body: `{"model":"house/echo","n":0}`}, 400, "invalid_request_error", `"n"`},
		{"too large", ask{body: completion("house/echo", `,"x":"`+strings.Repeat("a", 64<<10)+`"`)}, 413, "invalid_request_error", "null"},
		{"text", ask{body: completion("house/echo", ""), header: []string{"Content-Type", "text/plain"}}, 415, "invalid_request_error", "null"},
		{"provider's 500", ask{body: completion("house/chat:status=500", "")}, 502, "server_error", "null"},
	}
	for _, test := range tests {
		test.ask.path = "/v1/chat/completions"
		r := h.do(test.ask)
		e := rawMembers(t, string(rawMembers(t, r.body)["error"]))
		if r.status != test.status || string(e["type"]) != `"`+test.kind+`"` || string(e["param"]) != test.param || len(e) != 4 {
			t.Errorf("%s: %d %s, want %d %s with param %s", test.name, r.status, r.body, test.status, test.kind, test.param)
		}
		wantCommonHeaders(t, r.header)
	}
}

// TestLargeBodyOfUnknownLength is a body that says nothing of its length and
// passes the bound.
func TestLargeBodyOfUnknownLength(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "max_body: 64KiB\n" + providersYAML(up.url)})
	r := h.request(ask{path: "/v1/chat", body: "x"})
	r.ContentLength = -1
	r.Body = &endless{left: 64 << 20}
	resp, err := h.client.Do(r)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", resp.StatusCode)
	}
}

// TestContentTypes are the declared types that are read as JSON.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	for _, value := range []string{"application/json", "application/json; charset=utf-8", "APPLICATION/JSON", `application/json;profile="x"`, ""} {
		r := h.request(ask{path: "/v1/chat", body: hello("house/echo")})
		if r.Header.Set("Content-Type", value); value == "" {
			r.Header.Del("Content-Type")
		}
		resp, err := h.client.Do(r)
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("content type %q: status %d, want 200", value, resp.StatusCode)
		}
	}
}

// TestOverloaded is one request more than the node takes.
func TestOverloaded(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "max_concurrency: 1\n" + providersYAML(up.url)})
	first := make(chan reply)
	go func() { first <- h.chat("house/echo:ttft=300ms") }()
	await(t, "the first request", func() bool { return len(up.Ledger().Totals().Outcomes) > 0 })
	r := h.chat("house/echo")
	wantError(t, r, 503, "OVERLOADED")
	if r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q, want 1", r.header.Get("Retry-After"))
	}
	h.mustAnswer(<-first)
	h.mustAnswer(h.chat("house/echo"))
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
