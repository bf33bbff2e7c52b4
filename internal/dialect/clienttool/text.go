package clienttool

import (
	"bytes"
	"strings"

	"weir/internal/rawjson"
)

// Arguments returns the arguments of the function for a tool with a text as input.
func Arguments(text string) string {
	return string(append(rawjson.AppendString([]byte(`{"`+textMember+`":`), text), '}'))
}

// Text returns the text in such arguments.
func Text(arguments string) string {
	var r Reader
	text := r.Add(arguments)
	return text + r.End()
}

// maxUnread bounds the stored bytes of arguments before their text: if there is no text, they are the text.
const maxUnread = 1 << 20

// Reader extracts the text from arguments that arrive in pieces. Arguments that are not an object are the text
// themselves.
type Reader struct {
	at      place
	unread  []byte // all bytes before the text
	name    []byte // the name of the current member
	depth   int    // of a skipped value
	quoted  bool   // within a string of a skipped value
	escaped bool   // after a backslash
	rest    []byte // an incomplete escape of the text
	half    string // an incomplete surrogate pair
}

// place is the state of a Reader.
type place uint8

const (
	atStart place = iota
	atMember
	atName
	atColon
	atValue
	atOther // a skipped value
	atText
	atEnd
	atPlain // the arguments are the text
)

// Size returns the number of stored bytes.
func (r *Reader) Size() int { return len(r.unread) + len(r.rest) }

// Add returns the text in a piece.
func (r *Reader) Add(piece string) string {
	if r.at < atText && len(r.unread)+len(piece) <= maxUnread {
		r.unread = append(r.unread, piece...)
	}
	for i := 0; i < len(piece); i++ {
		switch r.at {
		case atText:
			return r.text(piece[i:])
		case atPlain:
			return piece[i:]
		case atEnd:
			return ""
		}
		r.step(piece[i])
		if r.at == atPlain {
			i--
		}
	}
	return ""
}

// End returns the arguments as the text if they had no text.
func (r *Reader) End() string {
	if r.at >= atText {
		return ""
	}
	unread := string(bytes.TrimSpace(r.unread))
	r.unread = nil
	if unread == "{}" {
		return ""
	}
	return unread
}

// found starts the text.
func (r *Reader) found(at place) { r.at, r.unread = at, nil }

// step reads one byte before the text.
func (r *Reader) step(c byte) {
	space := c == ' ' || c == '\t' || c == '\n' || c == '\r'
	switch r.at {
	case atStart:
		r.start(c, space)
	case atMember:
		if c == '"' {
			r.at, r.name, r.escaped = atName, r.name[:0], false
		}
	case atName:
		r.readName(c)
	case atColon:
		if c == ':' {
			r.at = atValue
		}
	case atValue:
		if !space {
			r.value(c)
		}
	case atOther:
		r.other(c)
	}
}

func (r *Reader) start(c byte, space bool) {
	switch {
	case c == '{':
		r.at = atMember
	case c == '"':
		r.found(atText)
	case !space:
		r.found(atPlain)
	}
}

func (r *Reader) readName(c byte) {
	switch {
	case c == '"' && !r.escaped:
		r.at = atColon
	case len(r.name) <= len(textMember):
		r.name = append(r.name, c)
	}
	r.escaped = c == '\\' && !r.escaped
}

func (r *Reader) value(c byte) {
	if c == '"' && string(r.name) == textMember {
		r.found(atText)
		return
	}
	r.at, r.depth, r.quoted, r.escaped = atOther, 0, false, false
	r.other(c)
}

// other skips a value up to the comma after it.
func (r *Reader) other(c byte) {
	switch {
	case r.escaped:
		r.escaped = false
	case r.quoted && c == '\\':
		r.escaped = true
	case c == '"':
		r.quoted = !r.quoted
	case r.quoted:
	case c == '{' || c == '[':
		r.depth++
	case c == '}' || c == ']':
		r.depth--
	case c == ',' && r.depth == 0:
		r.at = atMember
	}
}

// text reads text up to its end or to an incomplete escape.
func (r *Reader) text(piece string) string {
	raw := append(r.rest, piece...)
	end, escape := len(raw), -1
	for i := 0; i < len(raw) && escape < 0; i++ {
		switch {
		case raw[i] == '"':
			end, r.at = i, atEnd
		case raw[i] == '\\' && i+1 == len(raw), raw[i] == '\\' && raw[i+1] == 'u' && i+6 > len(raw):
			end, escape = i, i
		case raw[i] == '\\':
			i++
		}
		if r.at == atEnd {
			break
		}
	}
	quoted := make([]byte, 0, end+2)
	quoted = append(append(append(quoted, '"'), raw[:end]...), '"')
	text, half, _ := rawjson.AsPiece(r.half, quoted)
	r.half, r.rest = half, nil
	if escape >= 0 {
		r.rest = append(r.rest, raw[escape:]...)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
