// Package sse reads and writes server-sent events, as the HTML Standard
// defines them (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// The reader is bounded: it holds one event at most, and refuses one that is
// longer than it was told.
package sse

import "bytes"

// Event is one event of a stream. Its slices are valid until the next call of
// Reader.Next.
type Event struct {
	Name []byte // the event field; empty for the default, "message"
	Data []byte // the data lines joined with a newline
	Raw  []byte // the event as it came, up to and with its blank line
}

// Append writes one event to dst. The name is left out when empty. Data with
// line feeds becomes as many data lines; it must not hold a carriage return,
// which JSON text never needs.
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

// AppendComment writes a comment, which clients pass over, to dst.
func AppendComment(dst []byte, text string) []byte {
	return append(append(append(dst, ": "...), text...), "\n\n"...)
}
