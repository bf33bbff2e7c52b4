package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"weir/internal/e2e/harness"
)

// TestDocumentIsOpenAPI checks the document and its examples against OpenAPI 3.1, and that invalid documents are
// refused.
func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML("http://127.0.0.1:1")})
	text, c := h.Document()
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
			t.Errorf("the document with %s in place of %s: got it accepted", to, from)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tree["components"].(map[string]any)["schemas"].(map[string]any))) {
		if _, err := c.Schema(harness.Pointer("components", "schemas", name)); err != nil {
			t.Error(err)
		}
	}
	if c.Tree["info"].(map[string]any)["version"] != "test" {
		t.Errorf("version: got %v, want the program's", c.Tree["info"])
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

// TestDocumentIsCached requests the document again with its ETag, as programs do.
func TestDocumentIsCached(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML("http://127.0.0.1:1")})
	_, c := h.Document()
	first := h.Do(harness.Ask{Path: "/openapi.json", Key: harness.NoKey})
	tag := first.Header.Get("ETag")
	for etag, want := range map[string]int{tag: http.StatusNotModified, `"x", ` + tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"x"`: http.StatusOK} {
		r := h.Do(harness.Ask{Path: "/openapi.json", Key: harness.NoKey, Header: []string{"If-None-Match", etag}})
		if r.Status != want {
			t.Errorf("If-None-Match %s: got %d, want %d", etag, r.Status, want)
		}
		if err := c.Check(r, "paths", "/openapi.json", "get", "responses", fmt.Sprint(r.Status)); err != nil {
			t.Errorf("If-None-Match %s: %v", etag, err)
		}
	}
	if r := h.Do(harness.Ask{Method: http.MethodHead, Path: "/openapi.json", Key: harness.NoKey}); r.Status != http.StatusOK || r.Body != "" || r.Header.Get("ETag") != tag {
		t.Errorf("HEAD: got %d %q", r.Status, r.Header)
	}
}

// TestContractRefuses is the negative control: a reply that differs from the document in any way is found.
func TestContractRefuses(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	_, c := h.Document()
	good, streamed := h.Chat("house/echo"), h.Stream("house/echo")
	for name, r := range map[string]harness.Reply{"whole": good, "stream": streamed} {
		if err := c.Check(r, "paths", "/v1/chat", "post", "responses", "200"); err != nil {
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
		for name, r := range map[string]harness.Reply{"whole": good, "stream": streamed} {
			broken := r
			if broken.Body = strings.Replace(r.Body, from, to, 1); broken.Body == r.Body {
				t.Fatalf("%s: no %s in %s", name, from, r.Body)
			}
			if c.Check(broken, "paths", "/v1/chat", "post", "responses", "200") == nil {
				t.Errorf("%s: %s in place of %s: got it accepted", name, to, from)
			}
		}
	}
	for name, change := range map[string]func(http.Header){
		"a header is missing":     func(h http.Header) { h.Del("X-Weir-Model") },
		"a header is not said":    func(h http.Header) { h.Set("X-Weir-Other", "1") },
		"a header is not a count": func(h http.Header) { h.Set("X-Weir-Attempts", "0") },
		"another content type":    func(h http.Header) { h.Set("Content-Type", "text/plain") },
	} {
		broken := harness.Reply{Status: good.Status, Header: good.Header.Clone(), Body: good.Body}
		change(broken.Header)
		if c.Check(broken, "paths", "/v1/chat", "post", "responses", "200") == nil {
			t.Errorf("%s: got it accepted", name)
		}
	}
	if c.Check(good, "paths", "/v1/chat", "post", "responses", "201") == nil {
		t.Error("an undocumented status: got it accepted")
	}
}

// TestDocumentIsOrdered checks that the document has the order of its source.
func TestDocumentIsOrdered(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML("http://127.0.0.1:1")})
	text, _ := h.Document()
	at := 0
	for _, member := range []string{`{"openapi":"3.1.0"`, `"info":`, `"paths":`, `"/v1/chat":`, `"/v1/uses":`, `"/v1/models":`} {
		next := strings.Index(text[at:], member)
		if next < 0 {
			t.Fatalf("no %s behind %.80s", member, text[at:])
		}
		at += next
	}
}
