package parse

// ObjectEnd finds where a JSON object ends that comes in pieces. Its zero value has seen nothing.
type ObjectEnd struct {
	depth                    int
	begun, inString, escaped bool
}

// Add takes note of a piece.
func (o *ObjectEnd) Add(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case o.escaped:
			o.escaped = false
		case o.inString:
			o.escaped, o.inString = c == '\\', c != '"'
		case c == '"':
			o.inString = true
		case c == '{' || c == '[':
			o.depth++
			o.begun = true
		case c == '}' || c == ']':
			o.depth--
		}
	}
}

// Ended reports whether the object has come to its end.
func (o *ObjectEnd) Ended() bool { return o.begun && o.depth <= 0 && !o.inString }
