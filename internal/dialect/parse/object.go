package parse

import (
	"strings"

	"weir/internal/rawjson"
)

// Object is the arguments of a call as the object that most wire formats want, and whether they are one. None at all,
// null and an empty list are an empty object; so is what is none.
func Object(arguments string) (string, bool) {
	switch arguments = strings.TrimSpace(arguments); {
	case arguments == "", arguments == "null", arguments == "[]":
		return "{}", true
	case arguments[0] != '{' || rawjson.Validate([]byte(arguments), MaxDepth) != nil:
		return "{}", false
	}
	return arguments, true
}

// ObjectEnd finds where an object ends that comes in pieces. Its zero value has seen nothing.
type ObjectEnd struct {
	depth                           int
	begun, other, inString, escaped bool
}

// Add takes note of a piece, and reports whether it is one of an object.
func (o *ObjectEnd) Add(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case !o.begun:
			space := c == ' ' || c == '\t' || c == '\r' || c == '\n'
			o.begun, o.other = !space, !space && c != '{'
			o.depth = 1
		case o.escaped:
			o.escaped = false
		case o.inString:
			o.escaped, o.inString = c == '\\', c != '"'
		case c == '"':
			o.inString = true
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			o.depth--
		}
	}
	return o.begun && !o.other
}

// Ended reports whether the object has come to its end, or there is none.
func (o *ObjectEnd) Ended() bool { return o.begun && (o.other || o.depth <= 0 && !o.inString) }
