package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/internal/must"
)

// Contract is an OpenAPI 3.1 document to check replies against. Its schemas are JSON Schema 2020-12.
type Contract struct {
	Tree     map[string]any
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// contractURL is the document's base for references within it.
const contractURL = "https://weir.test/openapi.json"

// NewContract returns the contract of a parsed document.
func NewContract(tree map[string]any) (*Contract, error) {
	c := &Contract{Tree: tree, compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := c.compiler.AddResource(contractURL, tree); err != nil {
		return nil, fmt.Errorf("the document: %w", err)
	}
	return c, nil
}

// Pointer returns a JSON pointer for a fragment.
func Pointer(steps ...string) string {
	var p strings.Builder
	for _, s := range steps {
		p.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(s)))
	}
	return p.String()
}

// Schema returns the schema at a place of the document, compiled once.
func (c *Contract) Schema(at string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.compiled[at]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(contractURL + "#" + at)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", at, err)
	}
	c.compiled[at] = s
	return s, nil
}

// Violation returns the error of the JSON text against the schema at that place, or nil.
func (c *Contract) Violation(at, text string) error {
	s, err := c.Schema(at)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return s.Validate(v)
}

// Walk returns the value at a place of the document, and that place after following references.
func (c *Contract) Walk(steps ...string) (any, []string) {
	var at any = c.Tree
	for i, s := range steps {
		object, _ := at.(map[string]any)
		at = object[s]
		object, _ = at.(map[string]any)
		if ref, ok := object["$ref"].(string); ok {
			to := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
			return c.Walk(append(to, steps[i+1:]...)...)
		}
	}
	return at, steps
}

// promised are prefixes of headers that the document must describe.
var promised = []string{
	"X-Weir-", "X-Ratelimit-", "X-Request-Id", "X-Should-Retry", "Retry-After", "Www-Authenticate",
	"Idempotent-",
}

// Check checks a reply against the response object at a place.
func (c *Contract) Check(r Reply, response ...string) error {
	found, at := c.Walk(response...)
	object, ok := found.(map[string]any)
	if !ok {
		return fmt.Errorf("the document does not describe status %d", r.Status)
	}
	if err := c.checkHeaders(r.Header, append(slices.Clone(at), "headers")); err != nil {
		return err
	}
	content, _ := object["content"].(map[string]any)
	if content == nil && r.Body == "" {
		return nil
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind, _, _ := strings.Cut(media, "/"); content[kind+"/*"] != nil && content[media] == nil {
		media = kind + "/*"
	}
	if _, ok := content[media]; !ok {
		return fmt.Errorf("the document does not describe the content type %q", media)
	}
	place := Pointer(append(slices.Clone(at), "content", media, "schema")...)
	switch media {
	case "application/json", "application/problem+json":
		return c.Violation(place, r.Body)
	case "text/event-stream":
		return c.checkEvents(place, r.Body)
	}
	text, _ := json.Marshal(r.Body)
	return c.Violation(place, string(text))
}

// checkEvents checks the data of each event against a schema.
func (c *Contract) checkEvents(place, body string) error {
	events := 0
	for data := range EventData(body) {
		events++
		if err := c.Violation(place, data); err != nil {
			return fmt.Errorf("event %d: %s: %w", events, data, err)
		}
	}
	if events == 0 {
		return errors.New("no events")
	}
	return nil
}

// EventData yields the data of each event of a stream, except OpenAI's end marker.
func EventData(body string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for frame := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
			for line := range strings.SplitSeq(frame, "\n") {
				data, ok := strings.CutPrefix(line, "data: ")
				if ok && data != "[DONE]" && !yield(data) {
					return
				}
			}
		}
	}
}

func (c *Contract) checkHeaders(got http.Header, at []string) error {
	found, _ := c.Walk(at...)
	said := map[string]bool{}
	names, _ := found.(map[string]any)
	for name := range names {
		said[http.CanonicalHeaderKey(name)] = true
		if err := c.checkHeader(got.Values(name), append(slices.Clone(at), name)); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	for name := range got {
		if slices.ContainsFunc(promised, func(p string) bool { return strings.HasPrefix(name, p) }) && !said[name] {
			return fmt.Errorf("the document does not describe the header %s", name)
		}
	}
	return nil
}

func (c *Contract) checkHeader(values, at []string) error {
	found, where := c.Walk(at...)
	header, ok := found.(map[string]any)
	switch {
	case !ok:
		return fmt.Errorf("the document has nothing at %s", Pointer(where...))
	case len(values) == 0 && header["required"] == true:
		return errors.New("it is missing")
	case len(values) == 0:
		return nil
	}
	text := strconv.Quote(values[0])
	if kind, _ := c.Walk(append(slices.Clone(where), "schema", "type")...); kind == "integer" {
		text = values[0]
	}
	return c.Violation(Pointer(append(slices.Clone(where), "schema")...), text)
}

// Document returns the OpenAPI document as a program reads it, without a key.
func (h *Gateway) Document() (text string, c *Contract) {
	h.T.Helper()
	r := h.Do(Ask{Path: "/openapi.json", Key: NoKey})
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/json" {
		h.T.Fatalf("the document: %d %s", r.Status, r.Body)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.Body))
	must.Do(h.T, err)
	if c, err = NewContract(v.(map[string]any)); err != nil {
		h.T.Fatal(err)
	}
	return r.Body, c
}
