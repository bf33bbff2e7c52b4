package rules

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// StrictSchema restricts the keywords of schemas for answers and for arguments of strict tools, and requires closed
// objects.
type StrictSchema struct{}

// schemaWords are the accepted keywords without schemas in them, and schemaFormats the accepted values of "format".
var (
	schemaWords   = []string{"type", "enum", "const", "required", "title", "default"}
	schemaFormats = []string{
		"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
	}
)

// Broken returns the first keyword that is not accepted.
func (a StrictSchema) Broken(r *llm.Request, _ []byte) string {
	for schema := range strictSchemas(r) {
		if word := brokenWord(*schema, 0); word != "" {
			return quoted(word)
		}
	}
	return ""
}

// Fit moves refused keywords into the description, as the vendor's own SDKs do.
func (a StrictSchema) Fit(f *Fitting) error {
	if f.Format != nil {
		f.Format = new(*f.Format)
	}
	for schema := range strictSchemas(f.Request) {
		if brokenWord(*schema, 0) != "" {
			*schema = closed(nil, *schema, 0)
			f.Drop("schema keywords")
		}
	}
	return nil
}

// strictSchemas iterates over the schemas of a request to which the rule applies.
func strictSchemas(r *llm.Request) func(yield func(*[]byte) bool) {
	return func(yield func(*[]byte) bool) {
		if f := r.Format; f != nil && len(f.Schema) > 0 && !yield((*[]byte)(&f.Schema)) {
			return
		}
		for i := range r.Tools {
			if t := &r.Tools[i]; isFunction(t) && t.Strict != nil && *t.Strict && !yield((*[]byte)(&t.Parameters)) {
				return
			}
		}
	}
}

// kind says how the vendor treats a keyword of a schema.
type kind int

const (
	refused kind = iota // moved into the description
	kept
	left   // dropped, or written separately
	one    // holds a schema
	listed // holds a list of schemas
	named  // holds schemas by name
)

func kindOf(word string, value []byte) kind {
	switch word {
	case "$schema", "$id", "$comment", "additionalProperties", "description":
		return left
	case "items":
		return one
	case "anyOf", "oneOf", "allOf":
		return listed
	case "$defs", "definitions", "properties":
		return named
	case "format":
		if slices.Contains(schemaFormats, rawjson.Text(value)) {
			return kept
		}
	case "minItems":
		if s := string(value); s == "0" || s == "1" {
			return kept
		}
	case "$ref":
		return kept
	default:
		if slices.Contains(schemaWords, word) {
			return kept
		}
	}
	return refused
}

// mostNested bounds the depth to which schemas are checked. Deeper schemas are sent unchanged.
const mostNested = 64

// brokenWord returns the first keyword of a schema that is not accepted. A missing schema counts as broken, because
// encoders write an open object for it.
func brokenWord(schema []byte, depth int) string {
	switch {
	case rawjson.KindOf(schema) != rawjson.Object && depth == 0:
		return "additionalProperties"
	case rawjson.KindOf(schema) != rawjson.Object, depth > mostNested:
		return ""
	}
	if isObject(schema) && string(rawjson.Get(schema, "additionalProperties")) != "false" {
		return "additionalProperties"
	}
	for m := range rawjson.Members(schema) {
		word := m.Name()
		switch kindOf(word, m.Value) {
		case refused:
			return word
		case listed:
			if word == "oneOf" {
				return word
			}
			for _, v := range rawjson.Elements(m.Value) {
				if inner := brokenWord(v, depth+1); inner != "" {
					return inner
				}
			}
		case named:
			for inner := range rawjson.Members(m.Value) {
				if word := brokenWord(inner.Value, depth+1); word != "" {
					return word
				}
			}
		case one:
			if inner := brokenWord(m.Value, depth+1); inner != "" {
				return inner
			}
		}
	}
	return ""
}

func isObject(schema []byte) bool {
	return rawjson.Text(rawjson.Get(schema, "type")) == "object" || rawjson.Get(schema, "properties") != nil
}

// closed appends a schema that keeps the rule; for a missing schema, one without arguments.
func closed(dst, schema []byte, depth int) []byte {
	switch {
	case rawjson.KindOf(schema) != rawjson.Object && depth == 0:
		return append(dst, `{"type":"object","properties":{},"additionalProperties":false}`...)
	case rawjson.KindOf(schema) != rawjson.Object, depth > mostNested:
		return append(dst, schema...)
	}
	dst = append(dst, '{')
	begin := len(dst)
	member := func(name string) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, name), ':')
	}
	var said []string
	for m := range rawjson.Members(schema) {
		word := m.Name()
		switch kindOf(word, m.Value) {
		case kept:
			member(word)
			dst = append(dst, m.Value...)
		case one:
			member(word)
			dst = closed(dst, m.Value, depth+1)
		case listed:
			if word == "oneOf" {
				word = "anyOf"
			}
			member(word)
			dst = closedList(dst, m.Value, depth)
		case named:
			member(word)
			dst = closedNames(dst, m.Value, depth)
		case refused:
			said = append(said, word+": "+string(m.Value))
		}
	}
	if isObject(schema) {
		member("additionalProperties")
		dst = append(dst, "false"...)
	}
	if text := description(schema, said); text != "" {
		member("description")
		dst = rawjson.AppendString(dst, text)
	}
	return append(dst, '}')
}

func closedList(dst, list []byte, depth int) []byte {
	dst = append(dst, '[')
	for _, v := range rawjson.Elements(list) {
		dst = closed(rawjson.AppendComma(dst), v, depth+1)
	}
	return append(dst, ']')
}

func closedNames(dst, object []byte, depth int) []byte {
	dst = append(dst, '{')
	begin := len(dst)
	for m := range rawjson.Members(object) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, m.Name()), ':')
		dst = closed(dst, m.Value, depth+1)
	}
	return append(dst, '}')
}

// description returns the description of a schema, followed by its refused keywords.
func description(schema []byte, said []string) string {
	text := rawjson.Text(rawjson.Get(schema, "description"))
	if len(said) == 0 {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "{" + strings.Join(said, ", ") + "}"
}

func (a StrictSchema) String() string {
	return "Schemas of answers and of strict tools have closed objects and no keywords for ranges or lengths"
}
