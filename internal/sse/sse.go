// Package sse reads and writes server-sent events, as the HTML Standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). The reader is bounded: it buffers at most one
// event, and refuses events that exceed its bound.
package sse

import "bytes"

// Event is one event of a stream. Its slices are valid until the next call of Reader.Next.
type Event struct {
	Name []byte // the event field; empty means the default, "message"
	Data []byte // the data lines, joined by newlines
	Raw  []byte // the event as received, including its blank line
}

// Append appends one event to dst. It omits an empty name. Data with line feeds becomes several data lines; it must not
// contain a carriage return, which JSON text never needs.
func Append(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	for {
		line, rest, more := bytes.Cut(data, []byte{'\n'})
		dst = append(append(append(dst, "data: "...), line...), '\n')
		if !more {
			return append(dst, '\n')
		}
		data = rest
	}
}

// AppendComment appends a comment, which clients ignore, to dst.
func AppendComment(dst []byte, text string) []byte {
	return append(append(append(dst, ": "...), text...), "\n\n"...)
}
