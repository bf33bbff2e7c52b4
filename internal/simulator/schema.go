package simulator

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// structured returns the answer of the base model "json": a value of the request's schema, or an object with one
// member.
func structured(req *llm.Request, h uint64) string {
	if req.Format == nil || len(req.Format.Schema) == 0 {
		return `{"answer":` + string(rawjson.AppendString(nil, strings.TrimSpace(word(plainWords, h, 0)))) + `}`
	}
	return fromSchema(req.Format.Schema, h)
}

// fromSchema makes a JSON value that a JSON Schema (draft 2020-12) accepts. It supports type, const, enum, properties,
// items, minItems, minimum, maximum, multipleOf, minLength, maxLength, format, $ref within the schema, anyOf, oneOf,
// and the first of allOf; not pattern. It sets every property. It cuts off a schema that nests without end.
func fromSchema(schema []byte, h uint64) string {
	if rawjson.KindOf(schema) != rawjson.Object {
		return "{}"
	}
	w := &schemaWriter{root: schema, hash: h, left: maxSchemaValues}
	return string(w.value(nil, schema, 0))
}

type schemaWriter struct {
	root []byte
	hash uint64
	n    int64 // words used
	left int   // remaining values
}

const (
	maxSchemaValues = 1000
	maxSchemaDepth  = 32
	maxSchemaString = 4096
)

func (w *schemaWriter) value(dst, schema []byte, depth int) []byte {
	w.left--
	if depth > maxSchemaDepth || w.left < 0 {
		return append(dst, "null"...)
	}
	if v := rawjson.Get(schema, "const"); v != nil {
		return append(dst, v...)
	}
	for _, v := range rawjson.Elements(rawjson.Get(schema, "enum")) {
		return append(dst, v...)
	}
	if sub := w.instead(schema); sub != nil {
		return w.value(dst, sub, depth+1)
	}
	switch schemaType(schema) {
	case "object":
		return w.object(dst, schema, depth)
	case "array":
		return w.array(dst, schema, depth)
	case "integer", "number":
		return w.number(dst, schema)
	case "boolean":
		return append(dst, "true"...)
	case "null":
		return append(dst, "null"...)
	}
	return w.text(dst, schema)
}

// instead returns the schema in place of this one: of $ref, or the first of a combination that is not null.
func (w *schemaWriter) instead(schema []byte) []byte {
	if ref, ok := rawjson.AsString(rawjson.Get(schema, "$ref")); ok {
		return w.resolve(ref)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		for _, sub := range rawjson.Elements(rawjson.Get(schema, name)) {
			if rawjson.Text(rawjson.Get(sub, "type")) != "null" {
				return sub
			}
		}
	}
	return nil
}

// resolve follows a JSON Pointer (RFC 6901) into the schema; a pointer to nothing is the schema {}.
func (w *schemaWriter) resolve(ref string) []byte {
	at := w.root
	path, inside := strings.CutPrefix(ref, "#")
	if !inside {
		return []byte("{}")
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step != "" {
			at = rawjson.Get(at, unescape.Replace(step))
		}
	}
	if at == nil {
		return []byte("{}")
	}
	return at
}

// schemaType returns the type of a schema, the first that is not null; it derives a missing one from other keywords.
func schemaType(schema []byte) string {
	t := rawjson.Get(schema, "type")
	if name, ok := rawjson.AsString(t); ok {
		return name
	}
	for _, v := range rawjson.Elements(t) {
		if name := rawjson.Text(v); name != "null" {
			return name
		}
	}
	switch {
	case rawjson.Get(schema, "properties") != nil:
		return "object"
	case rawjson.Get(schema, "items") != nil:
		return "array"
	}
	return "string"
}

func (w *schemaWriter) object(dst, schema []byte, depth int) []byte {
	dst = append(dst, '{')
	first := true
	for m := range rawjson.Members(rawjson.Get(schema, "properties")) {
		if w.left <= 0 {
			break
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(rawjson.AppendString(dst, m.Name()), ':')
		dst = w.value(dst, m.Value, depth+1)
	}
	return append(dst, '}')
}

func (w *schemaWriter) array(dst, schema []byte, depth int) []byte {
	n, given := rawjson.AsInt(rawjson.Get(schema, "minItems"))
	if !given || n < 1 {
		n = 1
	}
	if most, ok := rawjson.AsInt(rawjson.Get(schema, "maxItems")); ok {
		n = min(n, most)
	}
	items := rawjson.Get(schema, "items")
	if !given && depth >= maxSchemaDepth/2 {
		n = 0 // a recursive schema ends here
	}
	dst = append(dst, '[')
	for i := int64(0); i < n && w.left > 0; i++ {
		dst = w.value(rawjson.AppendComma(dst), items, depth+1)
	}
	return append(dst, ']')
}

// number writes 1, or the number nearest to it within the bounds.
func (w *schemaWriter) number(dst, schema []byte) []byte {
	bound := func(name string) (float64, bool) {
		v, err := strconv.ParseFloat(string(rawjson.Get(schema, name)), 64)
		return v, err == nil
	}
	v, step := 1.0, 1.0
	if m, ok := bound("multipleOf"); ok && m > 0 {
		v, step = m, m
	}
	if low, ok := bound("minimum"); ok && v < low {
		v = math.Ceil(low/step) * step
	}
	if low, ok := bound("exclusiveMinimum"); ok && v <= low {
		v = (math.Floor(low/step) + 1) * step
	}
	if high, ok := bound("maximum"); ok && v > high {
		v = math.Floor(high/step) * step
	}
	if high, ok := bound("exclusiveMaximum"); ok && v >= high {
		v = (math.Ceil(high/step) - 1) * step
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// textFormats are the formats of strings in JSON Schema.
var textFormats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "PT1H",
	"email": "demo@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uuid": "01234567-89ab-7def-8123-456789abcdef",
}

func (w *schemaWriter) text(dst, schema []byte) []byte {
	if s, ok := textFormats[rawjson.Text(rawjson.Get(schema, "format"))]; ok {
		return rawjson.AppendString(dst, s)
	}
	s := word(plainWords, w.hash, w.n)[1:]
	w.n++
	if n, ok := rawjson.AsInt(rawjson.Get(schema, "minLength")); ok {
		for int64(len(s)) < min(n, maxSchemaString) {
			s += word(plainWords, w.hash, w.n)
			w.n++
		}
	}
	if n, ok := rawjson.AsInt(rawjson.Get(schema, "maxLength")); ok && n >= 0 {
		s = s[:min(int64(len(s)), n)]
	}
	return rawjson.AppendString(dst, s)
}
