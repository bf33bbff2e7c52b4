package manual

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// mostNested bounds the depth of the fields in a table. Objects of the document with a name are in tables of their own.
const mostNested = 4

// fields writes the table of an object's fields, and reports whether it has any.
func (w *tagWriter) fields(s *schema) bool {
	rows := w.rows("", s, 0)
	if len(rows) == 0 {
		return false
	}
	w.printf("| field | type | meaning |\n|---|---|---|\n%s\n", strings.Join(rows, ""))
	return true
}

// rows returns the rows of an object's fields and of the objects within, whose names have a prefix.
func (w *tagWriter) rows(prefix string, s *schema, depth int) (all []string) {
	if s == nil || depth > mostNested {
		return nil
	}
	for _, p := range s.Properties {
		all = append(all, fmt.Sprintf("| `%s%s` | %s | %s |\n", prefix, p.Name, w.kind(p.Value),
			cell(sentence(required(slices.Contains(s.Required, p.Name)), p.Value.Description, bounds(p.Value)))))
		all = append(all, w.rows(prefix+p.Name+".", p.Value, depth+1)...)
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if part.Ref == "" {
			all = append(all, w.rows(prefix, part, depth+1)...)
		}
	}
	if s.Items != nil && prefix != "" {
		all = append(all, w.rows(strings.TrimSuffix(prefix, ".")+"[].", s.Items, depth+1)...)
	}
	return all
}

// kind returns the type of a value, with links to named objects.
func (w *tagWriter) kind(s *schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return w.refer(named(s.Ref))
	case s.Const != nil:
		return code(s.Const)
	case len(s.Enum) > 0:
		return list(s.Enum, code, ", ")
	case len(s.AnyOf)+len(s.OneOf) > 0:
		return list(slices.Concat(s.AnyOf, s.OneOf), w.kind, " or ")
	case len(s.AllOf) > 0:
		return list(s.AllOf, w.kind, " and ")
	}
	return list(s.Type, func(name string) string { return w.simple(name, s) }, " or ")
}

// simple returns a type of JSON in words.
func (w *tagWriter) simple(name string, s *schema) string {
	switch {
	case name == "array" && s.Items != nil:
		return "list of " + w.kind(s.Items)
	case name == "object" && len(s.Properties) == 0:
		var values schema
		if json.Unmarshal(s.AdditionalProperties, &values) == nil && w.kind(&values) != "" {
			return "object of " + w.kind(&values)
		}
	case name == "string" && s.Format != "":
		return s.Format
	}
	return name
}

// refer returns a link to a named schema, which is written at the end of the page.
func (w *tagWriter) refer(name string) string {
	if w.Components.Schemas[name] == nil {
		return name
	}
	if !slices.Contains(w.objects, name) {
		w.objects = append(w.objects, name)
	}
	return fmt.Sprintf("[%s](#%s)", name, slug(name))
}

// list joins the distinct texts of values.
func list[T any](values []T, text func(T) string, separator string) string {
	var all []string
	for _, v := range values {
		if t := text(v); t != "" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return strings.Join(all, separator)
}

// bounds returns the permitted values of a schema, and its default.
func bounds(s *schema) string {
	if s == nil {
		return ""
	}
	var all []string
	add := func(value json.Number, format string) {
		if value != "" {
			all = append(all, fmt.Sprintf(format, value))
		}
	}
	switch {
	case s.Minimum != "" && s.Maximum != "":
		all = append(all, fmt.Sprintf("%s to %s", s.Minimum, s.Maximum))
	default:
		add(s.Minimum, "at least %s")
		add(s.Maximum, "at most %s")
	}
	add(s.ExclusiveMinimum, "above %s")
	add(s.MaxLength, "at most %s characters")
	add(s.MaxItems, "at most %s entries")
	if s.Default != nil {
		all = append(all, "default "+code(s.Default))
	}
	if s.Deprecated {
		all = append(all, "deprecated")
	}
	text := strings.Join(all, ", ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func required(is bool) string {
	if is {
		return "Required"
	}
	return ""
}

// sentence joins parts as sentences.
func sentence(parts ...string) string {
	var out strings.Builder
	for _, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(p)
		if !strings.HasSuffix(p, ".") {
			out.WriteByte('.')
		}
	}
	return out.String()
}

// code returns a JSON value as code.
func code(value json.RawMessage) string {
	return "`" + strings.ReplaceAll(string(value), "|", `\|`) + "`"
}

// cell returns a text for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
