package ollama

import "weir/internal/rawjson"

// appendParameters appends the schema of a tool's arguments without schemas that are true or false at places where
// Ollama only reads objects: each property, and each alternative of one (api.ToolProperty of github.com/ollama/ollama
// v0.17.4 and of 2026-08-21).
func appendParameters(dst, schema []byte) []byte {
	b := booleans{schema: schema}
	b.within(schema)
	return rawjson.Splice(dst, schema, b.edits...)
}

// booleans finds the schemas that are true or false.
type booleans struct {
	schema []byte
	edits  []rawjson.Edit
}

// within searches the members of a schema.
func (b *booleans) within(schema []byte) {
	if rawjson.KindOf(schema) != rawjson.Object {
		return
	}
	for m := range rawjson.Members(schema) {
		switch kind := rawjson.KindOf(m.Value); {
		case m.Name() == "properties" && kind == rawjson.Object:
			for property := range rawjson.Members(m.Value) {
				b.property(property.Value)
			}
		case m.Name() == "anyOf" && kind == rawjson.Array:
			for _, e := range rawjson.Elements(m.Value) {
				b.property(e)
			}
		}
	}
}

func (b *booleans) property(v []byte) {
	object := map[string]string{"true": "{}", "false": `{"not":{}}`}[string(v)]
	if object == "" {
		b.within(v)
		return
	}
	start := cap(b.schema) - cap(v)
	b.edits = append(b.edits, rawjson.Edit{Start: start, End: start + len(v), Text: []byte(object)})
}
