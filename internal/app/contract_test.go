package app_test

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
)

// contract is an OpenAPI 3.1 document, against which replies are held. Its
// schemas are JSON Schema 2020-12.
type contract struct {
	tree     map[string]any
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// contractURL is the document's base for references within it.
const contractURL = "https://weir.test/openapi.json"

func newContract(tree map[string]any) (*contract, error) {
	c := &contract{tree: tree, compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := c.compiler.AddResource(contractURL, tree); err != nil {
		return nil, fmt.Errorf("the document: %w", err)
	}
	return c, nil
}

// pointer is a JSON pointer in a fragment.
func pointer(steps ...string) string {
	var p strings.Builder
	for _, s := range steps {
		p.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(s)))
	}
	return p.String()
}

// schema is the one at a place of the document, compiled once.
func (c *contract) schema(at string) (*jsonschema.Schema, error) {
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

// violation is what the JSON text breaks of the schema at that place; nil for
// nothing.
func (c *contract) violation(at, text string) error {
	s, err := c.schema(at)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return s.Validate(v)
}

// walk is what stands at a place of the document, and that place, references
// followed.
func (c *contract) walk(steps ...string) (any, []string) {
	var at any = c.tree
	for i, s := range steps {
		object, _ := at.(map[string]any)
		at = object[s]
		object, _ = at.(map[string]any)
		if ref, ok := object["$ref"].(string); ok {
			to := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
			return c.walk(append(to, steps[i+1:]...)...)
		}
	}
	return at, steps
}

// promised are the headers of a reply that mean nothing to anybody who does
// not find them in the document.
var promised = []string{"X-Weir-", "X-Ratelimit-", "X-Request-Id", "X-Should-Retry", "Retry-After", "Www-Authenticate", "Idempotent-"}

// check holds a reply against what stands at the place of a response object.
func (c *contract) check(r reply, response ...string) error {
	found, at := c.walk(response...)
	object, ok := found.(map[string]any)
	if !ok {
		return fmt.Errorf("nothing is said of status %d", r.status)
	}
	if err := c.checkHeaders(r.header, append(slices.Clone(at), "headers")); err != nil {
		return err
	}
	content, _ := object["content"].(map[string]any)
	if content == nil && r.body == "" {
		return nil
	}
	media, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if kind, _, _ := strings.Cut(media, "/"); content[kind+"/*"] != nil && content[media] == nil {
		media = kind + "/*"
	}
	if _, ok := content[media]; !ok {
		return fmt.Errorf("nothing is said of the content type %q", media)
	}
	place := pointer(append(slices.Clone(at), "content", media, "schema")...)
	switch media {
	case "application/json", "application/problem+json":
		return c.violation(place, r.body)
	case "text/event-stream":
		return c.checkEvents(place, r.body)
	}
	text, _ := json.Marshal(r.body)
	return c.violation(place, string(text))
}

// checkEvents holds the data of each event against a schema.
func (c *contract) checkEvents(place, body string) error {
	events := 0
	for data := range eventData(body) {
		events++
		if err := c.violation(place, data); err != nil {
			return fmt.Errorf("event %d: %s: %w", events, data, err)
		}
	}
	if events == 0 {
		return errors.New("no events")
	}
	return nil
}

// eventData is the data of each event of a stream, but for OpenAI's end marker.
func eventData(body string) func(yield func(string) bool) {
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

func (c *contract) checkHeaders(got http.Header, at []string) error {
	found, _ := c.walk(at...)
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
			return fmt.Errorf("nothing is said of the header %s", name)
		}
	}
	return nil
}

func (c *contract) checkHeader(values, at []string) error {
	found, where := c.walk(at...)
	header, ok := found.(map[string]any)
	switch {
	case !ok:
		return fmt.Errorf("nothing stands at %s", pointer(where...))
	case len(values) == 0 && header["required"] == true:
		return errors.New("it is missing")
	case len(values) == 0:
		return nil
	}
	text := strconv.Quote(values[0])
	if kind, _ := c.walk(append(slices.Clone(where), "schema", "type")...); kind == "integer" {
		text = values[0]
	}
	return c.violation(pointer(append(slices.Clone(where), "schema")...), text)
}
