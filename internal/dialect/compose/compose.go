// Package compose provides the base of all request encoders: the bytes written so far, the provider's quirks, and the
// list of dropped and refused fields.
package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Writer writes the body of a request as one JSON object. Encoders embed it and create it with New, which refuses
// fields that the wire format cannot express. A Writer with only Dst and Own also writes parts of messages for
// replies; Takes and the methods that call it need New.
type Writer struct {
	Unsent
	Dst    []byte      // the body so far
	Quirks *llm.Quirks // set by New, then never nil
}

// New returns a writer for the request r in a wire format, with the body's opening brace written. Nil quirks are
// empty. It refuses a request with an essential field of another wire format.
func New(format string, r *llm.Request, q *llm.Quirks) Writer {
	if q == nil {
		q = &llm.Quirks{}
	}
	w := Writer{
		Unsent: Unsent{Own: r.ExtraOf == format}, Dst: append(make([]byte, 0, sizeOf(r)), '{'), Quirks: q,
	}
	if d := r.Essential; d != nil && !w.Own {
		w.Refuse(d.Param, fmt.Sprintf("The field %s cannot be sent to the provider of this model, "+
			"which does not speak %q, and the answer would change without it. "+
			"%s, or choose a model whose provider speaks it.", d.Param, r.ExtraOf, d.Instead))
	}
	w.elsewhere(r)
	return w
}

// sizeOf estimates the length of the body, in bytes, so that it is allocated once.
func sizeOf(r *llm.Request) int {
	n := 256 + len(r.Model)
	for i := range r.Messages {
		n += 64
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			n += 64 + len(p.Text) + len(p.Text)/16 + len(p.Raw) + len(p.Signature) + len(p.Redacted)
			if p.Media != nil {
				n += len(p.Media.Data)
			}
		}
	}
	for i := range r.Tools {
		n += 96 + len(r.Tools[i].Description) + len(r.Tools[i].Parameters)
	}
	return n
}

// Close returns the whole body and the names of dropped fields, or the error of a refused field.
func (w *Writer) Close() (body []byte, dropped []string, err error) {
	if w.Err != nil {
		return nil, nil, w.Err
	}
	return append(w.Dst, '}'), w.dropped, nil
}

// Takes reports whether the provider accepts the named field; it drops the field if the quirks exclude it.
func (w *Writer) Takes(name string) bool {
	if slices.Contains(w.Quirks.Drop, name) {
		w.Drop(name)
		return false
	}
	return true
}

// Extends reports whether the provider accepts the named field beyond its wire format, or the request is in this wire
// format.
func (w *Writer) Extends(name string) bool { return w.Own || slices.Contains(w.Quirks.Takes, name) }

// Key begins a field of the body under the provider's name for it, and reports whether the provider accepts it.
func (w *Writer) Key(name string) bool {
	if !w.Takes(name) {
		return false
	}
	if other, ok := w.Quirks.Rename[name]; ok {
		name = other
	}
	w.Name(name)
	return true
}

// Text writes a field of the body.
func (w *Writer) Text(name, value string) {
	if w.Key(name) {
		w.Dst = rawjson.AppendString(w.Dst, value)
	}
}

// Raw writes a field of the body with a JSON value.
func (w *Writer) Raw(name string, value []byte) {
	if w.Key(name) {
		w.Dst = append(w.Dst, value...)
	}
}

// Integer writes a field of the body if it has a value.
func (w *Writer) Integer(name string, n *int64) {
	if n != nil && w.Key(name) {
		w.Dst = strconv.AppendInt(w.Dst, *n, 10)
	}
}

// Number writes a field of the body in the client's digits if it has a value.
func (w *Writer) Number(name string, n *json.Number) {
	if n != nil && w.Key(name) {
		w.Dst = append(w.Dst, *n...)
	}
}

// Truth writes a field of the body if it has a value.
func (w *Writer) Truth(name string, b *bool) {
	if b != nil && w.Key(name) {
		w.Dst = strconv.AppendBool(w.Dst, *b)
	}
}

// Extras writes the extra fields of the body, or drops them if they are in another wire format.
func (w *Writer) Extras(fields []llm.Field) {
	for _, f := range fields {
		if w.Own {
			w.Raw(f.Name, f.Value)
		} else {
			w.DropExtra(f.Name)
		}
	}
}

// Name begins a member of the open object, with a comma if needed. It and the next three methods ignore the
// provider's quirks.
func (w *Writer) Name(name string) {
	w.Dst = rawjson.AppendName(w.Dst, name)
}

// Inner writes a member of an object within the body.
func (w *Writer) Inner(name, value string) {
	w.Name(name)
	w.Dst = rawjson.AppendString(w.Dst, value)
}

// InnerRaw writes a member of an object within the body with a JSON value.
func (w *Writer) InnerRaw(name string, value []byte) {
	w.Dst = rawjson.AppendMember(w.Dst, name, value)
}

// InnerExtras writes the extra members of an object within the body, or drops them under one name if they are in
// another wire format.
func (w *Writer) InnerExtras(fields []llm.Field, what string) {
	if len(fields) > 0 && !w.Own {
		w.Drop(what)
		return
	}
	for _, f := range fields {
		w.InnerRaw(f.Name, f.Value)
	}
}

// Element begins an element of the open array, with a comma unless it is the first.
func (w *Writer) Element() { w.Dst = rawjson.AppendComma(w.Dst) }

// AppendFields appends the extra members of an object of a reply, except those in written.
func AppendFields(dst []byte, extra []llm.Field, written rawjson.Names) []byte {
	for _, f := range extra {
		if !written.Has(f.Name) {
			dst = rawjson.AppendMember(dst, f.Name, f.Value)
		}
	}
	return dst
}
