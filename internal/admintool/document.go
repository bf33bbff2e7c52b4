package admintool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/people"
)

// document holds the parts of an OpenAPI document that describe operations.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Parameters map[string]parameter       `json:"parameters"`
	} `json:"components"`
}

// operation describes a method of a path.
type operation struct {
	ID         string      `json:"operationId"`
	Summary    string      `json:"summary"`
	About      string      `json:"description"`
	Reads      bool        `json:"x-reads"`  // changes nothing, although it is no GET
	People     bool        `json:"x-people"` // not for models
	Parameters []parameter `json:"parameters"`
	Body       *struct {
		Required bool                  `json:"required"`
		Content  map[string]mediaTypes `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]mediaTypes `json:"content"`
	} `json:"responses"`
}

type mediaTypes struct {
	Schema json.RawMessage `json:"schema"`
}

const jsonMedia = "application/json"

// newTools builds the tools, one for each route of the administration with an answer in JSON. Content of requests and
// definitions of other servers' tools are left out: they are written by others, and may contain instructions for the
// model that would read them.
func newTools(o *Options) ([]tool, error) {
	text, err := o.Document()
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	var all []tool
	for _, route := range o.Routes {
		method, path, _ := strings.Cut(route.Pattern, " ")
		op, ok := d.Paths[path][strings.ToLower(method)]
		if !ok {
			return nil, fmt.Errorf("%s is not in the OpenAPI document", route.Pattern)
		}
		if route.Right == people.ReadContent || op.People || !op.answersJSON() {
			continue
		}
		t, err := d.newTool(&op, route)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op.ID, err)
		}
		t.handler = o.Guard(route, t.mcp.Name)
		all = append(all, t)
	}
	return byName(all), nil
}

// answersJSON reports whether all successful answers are JSON or empty.
func (op *operation) answersJSON() bool {
	for status, response := range op.Responses {
		if _, ok := response.Content[jsonMedia]; strings.HasPrefix(status, "2") && !ok && len(response.Content) > 0 {
			return false
		}
	}
	return true
}

// newTool describes an operation as a tool.
func (d *document) newTool(op *operation, route people.Route) (t tool, err error) {
	method, _, _ := strings.Cut(route.Pattern, " ")
	reads := method == http.MethodGet || op.Reads
	t = tool{route: route, writes: !reads, mcp: mcp.Tool{
		Name: toolName(op.ID), Description: strings.TrimSpace(op.Summary + " " + op.About),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: reads, DestructiveHint: new(method == http.MethodDelete), OpenWorldHint: new(false),
			IdempotentHint: reads || method == http.MethodPut || method == http.MethodDelete,
		},
	}}
	properties, required := map[string]json.RawMessage{}, []string{}
	for _, p := range op.Parameters {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			p = d.Components.Parameters[name]
		}
		if properties[p.argument()], err = described(p.Schema, p.About); err != nil {
			return t, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		if p.Required {
			required = append(required, p.argument())
		}
		t.params = append(t.params, p)
	}
	if t.body = op.Body != nil; t.body {
		if properties[bodyArgument], err = described(op.Body.Content[jsonMedia].Schema, ""); err != nil {
			return t, fmt.Errorf("body: %w", err)
		}
		if op.Body.Required {
			required = append(required, bodyArgument)
		}
	}
	t.mcp.InputSchema, err = d.inputSchema(properties, required)
	return t, err
}

// described returns a schema with a description.
func described(schema json.RawMessage, about string) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(schema, &members); err != nil {
		return nil, err
	}
	if about != "" {
		text, err := json.Marshal(about)
		if err != nil {
			return nil, err
		}
		members["description"] = text
	}
	return json.Marshal(members)
}

// reference finds references to the schemas of the document.
var reference = regexp.MustCompile(`"#/components/schemas/(\w+)"`)

// inputSchema returns the schema of a tool's arguments, with the schemas that it refers to.
func (d *document) inputSchema(properties map[string]json.RawMessage, required []string) (*jsonschema.Schema, error) {
	whole := map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	definitions := map[string]json.RawMessage{}
	for queue := [][]byte{text}; len(queue) > 0; queue = queue[1:] {
		for _, found := range reference.FindAllSubmatch(queue[0], -1) {
			name := string(found[1])
			if _, ok := definitions[name]; !ok {
				definitions[name] = d.Components.Schemas[name]
				queue = append(queue, definitions[name])
			}
		}
	}
	if len(definitions) > 0 {
		whole["$defs"] = definitions
	}
	if text, err = json.Marshal(whole); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	return &schema, json.Unmarshal(reference.ReplaceAll(text, []byte(`"#/$$defs/$1"`)), &schema)
}
