package parse

import (
	"strings"

	"weir/internal/rawjson"
)

// Object returns the arguments of a tool call as a JSON object, which most wire formats require, and reports whether
// they are one. Empty arguments, null and an empty list become an empty object; so do invalid arguments.
func Object(arguments string) (string, bool) {
	switch arguments = strings.TrimSpace(arguments); {
	case arguments == "", arguments == "null", arguments == "[]":
		return "{}", true
	case arguments[0] != '{' || rawjson.Validate([]byte(arguments), MaxDepth) != nil:
		return "{}", false
	}
	return arguments, true
}

// ObjectEnd finds the end of a JSON object that arrives in pieces. Its zero value is ready.
type ObjectEnd struct {
	depth                           int
	begun, other, inString, escaped bool
}

// Add reads a piece and reports whether the text is an object so far.
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

// Ended reports whether the object has ended, or the text is not an object.
func (o *ObjectEnd) Ended() bool { return o.begun && (o.other || o.depth <= 0 && !o.inString) }
