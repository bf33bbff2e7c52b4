package parse

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Essential is a field that changes the meaning of a request: it adds to the content or the tools that the model
// sees, specifies the answer, or bounds the work.
type Essential struct {
	Instead string   // an alternative for the client: a sentence without its full stop
	Usual   []string // values with the same effect as no field
}

// Essentials maps the names of a wire format's fields to such fields.
type Essentials map[string]Essential

// Note records in the request the first of its essential fields.
func (e Essentials) Note(r *llm.Request, name string, value []byte) {
	if r.Essential == nil {
		r.Essential = e.Of(name, value)
	}
}

// Of returns the field if it is essential and has an effect; else nil.
func (e Essentials) Of(name string, value []byte) *llm.Essential {
	if field, is := e[name]; is && field.asks(value) {
		return &llm.Essential{Param: name, Instead: field.Instead}
	}
	return nil
}

// asks reports whether a value has an effect: empty texts and lists, and false, have none.
func (f *Essential) asks(v []byte) bool {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		word := rawjson.Text(v)
		return word != "" && !slices.Contains(f.Usual, word)
	case rawjson.Array:
		for _, e := range rawjson.Elements(v) {
			if f.asks(e) {
				return true
			}
		}
		return false
	case rawjson.Bool:
		on, _ := rawjson.AsBool(v)
		return on
	}
	return rawjson.Present(v)
}

// NoteAllowed records as essential a choice among functions that are not among the tools.
func NoteAllowed(r *llm.Request, name string) {
	if r.Essential != nil || r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return
	}
	there := make(map[string]bool, len(r.Tools))
	for i := range r.Tools {
		there[r.Tools[i].Name] = true
	}
	if slices.ContainsFunc(r.ToolChoice.Allowed, func(name string) bool { return !there[name] }) {
		r.Essential = &llm.Essential{Param: name, Instead: "Allow only functions that are among the tools"}
	}
}
