package contract_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/internal/e2e/harness"
	"weir/internal/fixturetest"
)

// vendorText is OpenAI's document as JSON, read once: it has 87,000 lines.
var vendorText = sync.OnceValues(func() ([]byte, error) {
	dir, err := fixturetest.Find()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, "schema", "openai-openapi.yaml.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := yaml.NewDecoder(z).Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
})

// exception is a permitted violation of OpenAI's document.
type exception struct {
	schema   string         // of components/schemas
	steps    []string       // to the value
	allowed  map[string]any // the additional permitted schema
	recorded string         // a recorded exchange with OpenAI that has it, if there is one
	shown    string         // the refusal without the exception
}

func exceptions() []exception {
	failed := map[string]any{"const": "error"}
	finish := []string{"properties", "choices", "items", "properties", "finish_reason"}
	return []exception{
		{ // OpenAI writes null for values that do not exist yet
			schema: "Response", steps: []string{"allOf", "2", "properties", "usage"}, allowed: map[string]any{"type": "null"},
			recorded: "openai/24-responses-stream-tool", shown: "at '/response/usage': got null, want object",
		},
		// OpenAI has no finish reason for an answer that its provider abandoned, and "stop" would report half an answer
		// as whole.
		{schema: "CreateChatCompletionResponse", steps: finish, allowed: failed},
		{schema: "CreateChatCompletionStreamResponse", steps: finish, allowed: failed},
	}
}

// vendorContract is OpenAI's document, with the schema of each stream event by
// its type.
type vendorContract struct {
	*harness.Contract
	events map[string]string
}

// usualVendorContract is the document with all exceptions, which tests share.
var usualVendorContract = sync.OnceValues(func() (*vendorContract, error) { return newVendorContract(exceptions()) })

// openVendorContract reads the document with all exceptions.
func openVendorContract(t *testing.T) *vendorContract {
	t.Helper()
	fixturetest.Dir(t)
	c, err := usualVendorContract()
	if err != nil {
		t.Fatalf("OpenAI's OpenAPI document: %v", err)
	}
	return c
}

// newVendorContract reads the document, and corrects its violations of OpenAPI 3.1: "nullable", which is of OpenAPI
// 3.0, and "$recursiveRef", which is of an earlier JSON Schema.
func newVendorContract(excepted []exception) (*vendorContract, error) {
	text, err := vendorText()
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	tree := v.(map[string]any)
	schemas := tree["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas {
		schemas[name] = mended(s, "#/components/schemas/"+name)
	}
	for _, e := range excepted {
		if err := e.apply(schemas[e.schema]); err != nil {
			return nil, err
		}
	}
	c, err := harness.NewContract(tree)
	if err != nil {
		return nil, err
	}
	return &vendorContract{Contract: c, events: eventSchemas(schemas)}, nil
}

// eventSchemas returns the schemas of stream events by their type.
func eventSchemas(schemas map[string]any) map[string]string {
	events := map[string]string{}
	for _, one := range schemas["ResponseStreamEvent"].(map[string]any)["anyOf"].([]any) {
		name := strings.TrimPrefix(one.(map[string]any)["$ref"].(string), "#/components/schemas/")
		for _, kind := range schemas[name].(map[string]any)["properties"].(map[string]any)["type"].(map[string]any)["enum"].([]any) {
			events[kind.(string)] = name
		}
	}
	return events
}

// mended returns a schema as its authors mean it. Root is the schema that contains it.
func mended(v any, root string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = mended(v[i], root)
		}
	case map[string]any:
		for name, member := range v {
			v[name] = mended(member, root)
		}
		delete(v, "$recursiveAnchor")
		if v["$recursiveRef"] == "#" {
			delete(v, "$recursiveRef")
			v["$ref"] = root
		}
		if v["nullable"] == true {
			delete(v, "nullable")
			return orElse(v, map[string]any{"type": "null"})
		}
	}
	return v
}

func orElse(schema any, other map[string]any) any {
	return map[string]any{"anyOf": []any{schema, other}}
}

// apply permits the exception in its schema.
func (e *exception) apply(at any) error {
	last := len(e.steps) - 1
	for _, step := range e.steps[:last] {
		switch v := at.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return fmt.Errorf("%s: no element %s of %q", e.schema, step, e.steps)
			}
			at = v[i]
		case map[string]any:
			at = v[step]
		}
	}
	object, ok := at.(map[string]any)
	if !ok || object[e.steps[last]] == nil {
		return fmt.Errorf("%s: nothing at %q", e.schema, e.steps)
	}
	object[e.steps[last]] = orElse(object[e.steps[last]], e.allowed)
	return nil
}

// refusal returns the violation of OpenAI's document by a reply at that path; nil for none.
func (c *vendorContract) refusal(path string, r harness.Reply) error {
	kind := path
	stream := strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
	if r.Status >= 400 {
		kind = "error"
	} else if stream {
		kind += " stream"
	}
	if !stream {
		return c.refusalOf(kind, r.Body)
	}
	events := 0
	for data := range harness.EventData(r.Body) {
		events++
		if err := c.refusalOf(kind, data); err != nil {
			return fmt.Errorf("event %d: %w", events, err)
		}
	}
	if events == 0 {
		return errors.New("no events")
	}
	return nil
}

// vendorSchemas returns the schemas of OpenAI's answers.
func vendorSchemas() map[string]string {
	return map[string]string{
		"/v1/chat/completions": "CreateChatCompletionResponse", "/v1/chat/completions stream": "CreateChatCompletionStreamResponse",
		"/v1/responses": "Response", "/v1/embeddings": "CreateEmbeddingResponse", "/v1/models": "ListModelsResponse", "/v1/models/{model}": "Model", "error": "ErrorResponse",
	}
}

func (c *vendorContract) refusalOf(kind, text string) error {
	name := vendorSchemas()[kind]
	var told struct {
		Type  string
		Error any
	}
	_ = json.Unmarshal([]byte(text), &told) // no schema accepts a value that is not an object
	switch {
	case kind == "/v1/responses stream":
		name = c.events[told.Type]
	case kind == "/v1/chat/completions stream" && told.Error != nil: // in the middle of a stream
		name = vendorSchemas()["error"]
	}
	if name == "" {
		return fmt.Errorf("no schema is for %s", text)
	}
	if err := c.Violation(harness.Pointer("components", "schemas", name), text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}
