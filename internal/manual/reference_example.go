package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// inPath matches a parameter in a path.
var inPath = regexp.MustCompile(`\{(\w+)\}`)

// placeholder returns a parameter of a path in capitals.
func placeholder(name string) string { return strings.ToUpper(strings.Trim(name, "{}")) }

// example writes a request that can be copied: a command of curl, or the body of an event.
func (w *tagWriter) example(o *placed) {
	var body, kind string
	var form *schema
	if len(o.RequestBody.Content) > 0 {
		first := o.RequestBody.Content[0]
		kind, form = first.Name, w.schema(first.Value.Schema)
		if body = indented(first.Value.Example); body == "" && strings.HasSuffix(kind, "json") {
			body = indented(w.sample(form, "TEXT", 0))
		}
	}
	if o.isEvent() {
		w.printf("```json\n%s\n```\n\n", body)
		return
	}
	var out strings.Builder
	out.WriteString("curl ")
	if o.method != "GET" && (o.method != "POST" || body == "") {
		out.WriteString("-X " + o.method + " ")
	}
	out.WriteString(`"$WEIR_URL` + inPath.ReplaceAllStringFunc(o.paths[0], placeholder) + `"`)
	if o.Security == nil || len(*o.Security) > 0 {
		out.WriteString(" \\\n  -H \"Authorization: Bearer $WEIR_KEY\"")
	}
	switch {
	case body != "":
		fmt.Fprintf(&out, " \\\n  -H \"Content-Type: %s\" \\\n  -d '%s'", kind, strings.ReplaceAll(body, "'", `'\''`))
	case strings.HasPrefix(kind, "multipart/"):
		for _, p := range form.Properties {
			if slices.Contains(form.Required, p.Name) {
				out.WriteString(" \\\n  -F " + p.Name + "=" + strings.ToUpper(p.Name))
			}
		}
	}
	w.printf("```sh\n%s\n```\n\n", out.String())
}

// sample returns a value that a schema permits: an object has the required members, or else its first one. Names in
// capitals are placeholders: name is the text of a string.
func (w *tagWriter) sample(s *schema, name string, depth int) json.RawMessage {
	if s == nil || depth > 2*mostNested {
		return json.RawMessage(`{}`)
	}
	s = w.schema(s)
	switch {
	case s.Example != nil:
		return s.Example
	case s.Const != nil:
		return s.Const
	case s.Default != nil && string(s.Default) != "null":
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Properties) > 0:
		return w.sampleObject(s, depth)
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if len(part.Type) != 1 || part.Type[0] != "null" {
			return w.sample(part, name, depth+1)
		}
	}
	return w.simpleSample(s, name, depth)
}

func (w *tagWriter) sampleObject(s *schema, depth int) json.RawMessage {
	var parts []string
	for i, p := range s.Properties {
		if slices.Contains(s.Required, p.Name) || len(s.Required) == 0 && i == 0 {
			parts = append(parts, fmt.Sprintf("%q: %s", p.Name, w.sample(p.Value, strings.ToUpper(p.Name), depth+1)))
		}
	}
	return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
}

func (w *tagWriter) simpleSample(s *schema, name string, depth int) json.RawMessage {
	first := ""
	if len(s.Type) > 0 {
		first = s.Type[0]
	}
	switch first {
	case "integer", "number":
		if s.Minimum != "" {
			return json.RawMessage(s.Minimum)
		}
		return json.RawMessage("1")
	case "boolean":
		return json.RawMessage("true")
	case "array":
		return json.RawMessage("[" + string(w.sample(s.Items, strings.TrimSuffix(name, "S"), depth+1)) + "]")
	case "object":
		return json.RawMessage("{}")
	}
	if format := map[string]string{
		"date": "2026-11-29", "date-time": "2026-11-29T12:00:00Z", "uuid": "019a9e21-7c54-7e0a-8f6d-2b9d5a3c4e10",
		"email": "ada@example.com", "uri": "https://example.com/",
	}[s.Format]; format != "" {
		name = format
	}
	return json.RawMessage(`"` + name + `"`)
}

// indented returns JSON on one line if it is short, otherwise with a line for each member.
func indented(value json.RawMessage) string {
	var out bytes.Buffer
	if len(value) == 0 || json.Indent(&out, value, "", "  ") != nil {
		return ""
	}
	if len(value) <= 60 {
		return string(value)
	}
	return out.String()
}
