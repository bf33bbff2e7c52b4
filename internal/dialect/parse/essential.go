package parse

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Essential is a field without which a request means something else: it adds to what the model sees or may call, says
// what the answer has to be, or bounds the work.
type Essential struct {
	Instead string   // what a client can do without the field, a sentence without its full stop
	Usual   []string // the words that ask for nothing else than leaving it out
}

// Essentials are such fields of a wire format, by their names.
type Essentials map[string]Essential

// Note notes in the request the first of its fields that cannot be left out.
func (e Essentials) Note(r *llm.Request, name string, value []byte) {
	if r.Essential == nil {
		r.Essential = e.Of(name, value)
	}
}

// Of is the field, if it cannot be left out; else nil.
func (e Essentials) Of(name string, value []byte) *llm.Essential {
	if field, is := e[name]; is && field.asks(value) {
		return &llm.Essential{Param: name, Instead: field.Instead}
	}
	return nil
}

// asks reports whether a value asks for something: an empty text or list, and false, do not.
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

// NoteAllowed notes a choice, in the field of that name, of functions that are not among the tools.
func NoteAllowed(r *llm.Request, name string) {
	if r.Essential != nil || r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return
	}
	there := make(map[string]bool, len(r.Tools))
	for i := range r.Tools {
		there[r.Tools[i].Name] = true
	}
	if slices.ContainsFunc(r.ToolChoice.Allowed, func(name string) bool { return !there[name] }) {
		r.Essential = &llm.Essential{Param: name, Instead: "Allow functions alone that are among the tools"}
	}
}
