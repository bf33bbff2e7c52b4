package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the OpenAPI document as a program gets it, without a key.
func (h *testGateway) document() (text string, c *contract) {
	h.t.Helper()
	r := h.do(ask{path: "/openapi.json", key: noKey})
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" {
		h.t.Fatalf("the document: %d %s", r.status, r.body)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err != nil {
		h.t.Fatal(err)
	}
	if c, err = newContract(v.(map[string]any)); err != nil {
		h.t.Fatal(err)
	}
	return r.body, c
}

// TestDocumentIsOpenAPI holds the document against OpenAPI 3.1, with its
// examples, and sees that what is none is refused.
func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: providersYAML("http://127.0.0.1:1")})
	text, c := h.document()
	if err := validOpenAPI(t, text); err != nil {
		t.Errorf("the document: got %v", err)
	}
	for from, to := range map[string]string{
		`"in":"path"`:                  `"in":"way"`,
		`"type":"integer","minimum":0`: `"type":"integr","minimum":0`,
		`"required":["error"]`:         `"required":"error"`,
		`"code":"RATE_LIMITED"`:        `"code":"RATES"`, // of an example
		`"operationId":"uses"`:         `"operationId":"chat"`,
		`#/components/schemas/Uses"`:   `#/components/schemas/Used"`,
	} {
		if !strings.Contains(text, from) {
			t.Fatalf("no %s in the document", from)
		}
		if validOpenAPI(t, strings.Replace(text, from, to, 1)) == nil {
			t.Errorf("the document with %s in place of %s: got it taken for valid", to, from)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.tree["components"].(map[string]any)["schemas"].(map[string]any))) {
		if _, err := c.schema(pointer("components", "schemas", name)); err != nil {
			t.Error(err)
		}
	}
	if c.tree["info"].(map[string]any)["version"] != "test" {
		t.Errorf("version: got %v, want the program's", c.tree["info"])
	}
}

func validOpenAPI(t *testing.T, text string) error {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		return err
	}
	return document.Validate(t.Context())
}

// TestDocumentIsKept is a program that asks again for what it has.
func TestDocumentIsKept(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: providersYAML("http://127.0.0.1:1")})
	_, c := h.document()
	first := h.do(ask{path: "/openapi.json", key: noKey})
	tag := first.header.Get("ETag")
	for etag, want := range map[string]int{tag: http.StatusNotModified, `"x", ` + tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"x"`: http.StatusOK} {
		r := h.do(ask{path: "/openapi.json", key: noKey, header: []string{"If-None-Match", etag}})
		if r.status != want {
			t.Errorf("If-None-Match %s: got %d, want %d", etag, r.status, want)
		}
		if err := c.check(r, "paths", "/openapi.json", "get", "responses", fmt.Sprint(r.status)); err != nil {
			t.Errorf("If-None-Match %s: %v", etag, err)
		}
	}
	if r := h.do(ask{method: http.MethodHead, path: "/openapi.json", key: noKey}); r.status != http.StatusOK || r.body != "" || r.header.Get("ETag") != tag {
		t.Errorf("HEAD: got %d %q", r.status, r.header)
	}
}

// TestContractRefuses is the negative control: a reply that is not what the
// document says is found out, whatever is wrong with it.
func TestContractRefuses(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	_, c := h.document()
	good, streamed := h.chat("house/echo"), h.stream("house/echo")
	for name, r := range map[string]reply{"whole": good, "stream": streamed} {
		if err := c.check(r, "paths", "/v1/chat", "post", "responses", "200"); err != nil {
			t.Fatalf("%s: got %v, want nothing wrong", name, err)
		}
	}
	for from, to := range map[string]string{
		`"role":"assistant"`: `"role":"user"`,
		`"prompt_tokens":`:   `"prompt_tokens":"1","x":`,
		`"created":`:         `"created":1.5,"x":`,
		`"usage":{`:          `"usage":[],"y":{`,
		`"choices":[{`:       `"choices":[{"extra":1,`,
		`"finish_reason":"s`: `"finish_reason":"xs`,
		`"model":"house/`:    `"model":"`,
		`"id":`:              `"Id":`,
	} {
		for name, r := range map[string]reply{"whole": good, "stream": streamed} {
			broken := r
			if broken.body = strings.Replace(r.body, from, to, 1); broken.body == r.body {
				t.Fatalf("%s: no %s in %s", name, from, r.body)
			}
			if c.check(broken, "paths", "/v1/chat", "post", "responses", "200") == nil {
				t.Errorf("%s: %s in place of %s: got it taken for right", name, to, from)
			}
		}
	}
	for name, change := range map[string]func(http.Header){
		"a header is missing":     func(h http.Header) { h.Del("X-Weir-Model") },
		"a header is not said":    func(h http.Header) { h.Set("X-Weir-Other", "1") },
		"a header is not a count": func(h http.Header) { h.Set("X-Weir-Attempts", "0") },
		"another content type":    func(h http.Header) { h.Set("Content-Type", "text/plain") },
	} {
		broken := reply{good.status, good.header.Clone(), good.body}
		change(broken.header)
		if c.check(broken, "paths", "/v1/chat", "post", "responses", "200") == nil {
			t.Errorf("%s: got it taken for right", name)
		}
	}
	if c.check(good, "paths", "/v1/chat", "post", "responses", "201") == nil {
		t.Error("a status that is not said: got it taken for right")
	}
}

// TestDocumentIsOrdered is that the document reads as it was written.
func TestDocumentIsOrdered(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: providersYAML("http://127.0.0.1:1")})
	text, _ := h.document()
	at := 0
	for _, member := range []string{`{"openapi":"3.1.0"`, `"info":`, `"paths":`, `"/v1/chat":`, `"/v1/uses":`, `"/v1/models":`} {
		next := strings.Index(text[at:], member)
		if next < 0 {
			t.Fatalf("no %s behind %.80s", member, text[at:])
		}
		at += next
	}
}
