// Package compose is what the request encoders of all wire formats stand on: the
// bytes written so far, the provider's quirks, and the account of what is left
// out or refused.
package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Writer writes the body of a request as one JSON object. An encoder embeds it
// and begins with New, which refuses what the wire format has no word for. One without quirks, of Dst and Own alone, writes parts of
// messages, as replies have them, too: Takes and what asks it are for New's.
type Writer struct {
	Dst     []byte      // the body so far
	Own     bool        // the request's extra fields are in this wire format's words
	Quirks  *llm.Quirks // set by New, then never nil
	Err     error       // the first thing that can neither be carried nor left out
	dropped []string
	carried []string // extra fields of another API that are in the body in other words
}

// New is a writer for the request r in the wire format of that name, with the
// body's opening brace written. Nil quirks are none. What is essential in another
// wire format's words is refused.
func New(format string, r *llm.Request, q *llm.Quirks) Writer {
	if q == nil {
		q = &llm.Quirks{}
	}
	w := Writer{Dst: append(make([]byte, 0, sizeOf(r)), '{'), Own: r.ExtraOf == format, Quirks: q}
	if d := r.Essential; d != nil && !w.Own {
		w.Refuse(d.Param, fmt.Sprintf("The field %s changes the answer, and cannot be carried to the provider of this "+
			"model, which does not speak %q. %s, or choose a model whose provider does.", d.Param, r.ExtraOf, d.Instead))
	}
	w.elsewhere(r)
	return w
}

// sizeOf guesses the length of the body, in bytes, so that it is allocated once.
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

// Close is the whole body and the names of what was left out, or the error of
// what was refused.
func (w *Writer) Close() (body []byte, dropped []string, err error) {
	if w.Err != nil {
		return nil, nil, w.Err
	}
	return append(w.Dst, '}'), w.dropped, nil
}

// Refuse notes what cannot be carried and would change the answer if it were
// left out: an *llm.Error of that parameter, of which the first counts.
func (w *Writer) Refuse(param, message string) {
	if w.Err == nil {
		w.Err = llm.Invalid(param, message)
	}
}

// Takes reports whether the provider takes the field of that name, and drops it
// where the quirks say that it does not.
func (w *Writer) Takes(name string) bool {
	if slices.Contains(w.Quirks.Drop, name) {
		w.Drop(name)
		return false
	}
	return true
}

// Extends reports whether the provider takes something of that name that its wire format does not have, or the request is
// in this format's own words.
func (w *Writer) Extends(name string) bool { return w.Own || slices.Contains(w.Quirks.Takes, name) }

// Key begins a field of the body by the name that the provider has for it, and
// reports whether the provider takes it at all.
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

// Raw writes a field of the body whose value is JSON.
func (w *Writer) Raw(name string, value []byte) {
	if w.Key(name) {
		w.Dst = append(w.Dst, value...)
	}
}

// Integer writes a field of the body, where there is a value.
func (w *Writer) Integer(name string, n *int64) {
	if n != nil && w.Key(name) {
		w.Dst = strconv.AppendInt(w.Dst, *n, 10)
	}
}

// Number writes a field of the body, where there is a value, as the client
// wrote it.
func (w *Writer) Number(name string, n *json.Number) {
	if n != nil && w.Key(name) {
		w.Dst = append(w.Dst, *n...)
	}
}

// Truth writes a field of the body, where there is a value.
func (w *Writer) Truth(name string, b *bool) {
	if b != nil && w.Key(name) {
		w.Dst = strconv.AppendBool(w.Dst, *b)
	}
}

// Extras writes the fields of the body that nobody modelled, and drops each of
// them where they are in another wire format's words.
func (w *Writer) Extras(fields []llm.Field) {
	for _, f := range fields {
		if w.Own {
			w.Raw(f.Name, f.Value)
		} else {
			w.DropExtra(f.Name)
		}
	}
}

// DropExtra drops a field that nobody modelled, of another API, unless something else carries what it says.
func (w *Writer) DropExtra(name string) {
	if !slices.Contains(w.carried, name) {
		w.Drop(name)
	}
}

// Name begins a member of the object that is open, with the comma that it
// needs. The provider's quirks do not reach here, nor what the next three write.
func (w *Writer) Name(name string) {
	if w.Dst[len(w.Dst)-1] != '{' {
		w.Dst = append(w.Dst, ',')
	}
	w.Dst = append(rawjson.AppendString(w.Dst, name), ':')
}

// Inner writes a member of an object within the body.
func (w *Writer) Inner(name, value string) {
	w.Name(name)
	w.Dst = rawjson.AppendString(w.Dst, value)
}

// InnerRaw writes a member of an object within the body whose value is JSON.
func (w *Writer) InnerRaw(name string, value []byte) {
	w.Name(name)
	w.Dst = append(w.Dst, value...)
}

// InnerExtras writes the members of an object within the body that nobody
// modelled. In another wire format's words they are dropped, all as what.
func (w *Writer) InnerExtras(fields []llm.Field, what string) {
	if len(fields) > 0 && !w.Own {
		w.Drop(what)
		return
	}
	for _, f := range fields {
		w.InnerRaw(f.Name, f.Value)
	}
}

// Element begins an element of the array that is open: with a comma, unless it
// is the first.
func (w *Writer) Element() {
	if w.Dst[len(w.Dst)-1] != '[' {
		w.Dst = append(w.Dst, ',')
	}
}
