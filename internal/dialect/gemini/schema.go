package gemini

import (
	"slices"
	"strings"

	"weir/internal/rawjson"
)

// appendJSONSchema converts an OpenAPI 3.0 schema, as in Google's Schema object
// (https://ai.google.dev/api/caching#Schema), to JSON Schema: types in lower case, the type null instead of "nullable",
// and counts as numbers, which protocol buffers write as strings.
func appendJSONSchema(dst, v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Object {
		return append(dst, v...)
	}
	dst = append(dst, '{')
	nullable := false
	var kind struct{ from, to int } // place of the type in dst
	for m := range rawjson.Members(v) {
		name := string(spelled(m.Key()))
		if name == "nullable" {
			nullable, _ = rawjson.AsBool(m.Value)
			continue
		}
		if name == "type" && typeOf(m.Value) == "" {
			continue
		}
		dst = rawjson.AppendName(dst, name)
		from := len(dst)
		dst = appendKeyword(dst, name, m.Value)
		if name == "type" {
			kind.from, kind.to = from, len(dst)
		}
	}
	if t := string(dst[kind.from:kind.to]); nullable && t != "" && t != `"null"` {
		dst = slices.Replace(dst, kind.from, kind.to, []byte("["+t+`,"null"]`)...)
	}
	return append(dst, '}')
}

func appendKeyword(dst []byte, name string, v []byte) []byte {
	switch name {
	case "type":
		return rawjson.AppendString(dst, typeOf(v))
	case "properties", "$defs", "defs":
		return appendSchemas(dst, v)
	case "items", "additionalProperties":
		return appendJSONSchema(dst, v)
	case "anyOf", "oneOf", "prefixItems":
		return appendSchemaList(dst, v)
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
		return append(dst, unquoted(v)...)
	}
	return append(dst, v...)
}

// typeOf returns JSON Schema's name of the type; empty for none.
func typeOf(v []byte) string {
	s := strings.ToLower(rawjson.Text(v))
	if s == "type_unspecified" {
		return ""
	}
	return s
}

// appendSchemas writes an object of schemas by the client's names.
func appendSchemas(dst, v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Object {
		return append(dst, v...)
	}
	dst = append(dst, '{')
	for m := range rawjson.Members(v) {
		dst = rawjson.AppendName(dst, m.Name())
		dst = appendJSONSchema(dst, m.Value)
	}
	return append(dst, '}')
}

func appendSchemaList(dst, v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Array {
		return append(dst, v...)
	}
	dst = append(dst, '[')
	for _, e := range rawjson.Elements(v) {
		dst = appendJSONSchema(rawjson.AppendComma(dst), e)
	}
	return append(dst, ']')
}

// unquoted returns the number in a string of digits, otherwise v.
func unquoted(v []byte) []byte {
	s := rawjson.Text(v)
	if s == "" || len(s) > 18 || strings.Trim(s, "0123456789") != "" || s[0] == '0' && s != "0" {
		return v
	}
	return []byte(s)
}
