package simulator

import (
	"bytes"

	"weir/internal/sse"
)

const byteOrderMark = "\xef\xbb\xbf"

// shape applies the fault and the options to events; piece is their number, above the last one for the end, unset for
// an event that is not a piece.
func (c *call) shape(b []byte, piece int64) []byte {
	if c.edit != nil {
		b = editEvents(&c.d.Framing, b, func(data []byte, _ bool) []byte { return c.edit(data) })
	}
	if c.spoil != nil && piece != unset && piece >= min(c.spec.at, c.answer.pieces()-1) && len(b) > 0 {
		b, c.spoil = c.spoil(b), nil
	}
	if c.spec.comments {
		b = addComments(b)
	}
	if c.spec.eol != "" && c.spec.eol != "lf" {
		b = c.lineEnds(b)
	}
	if c.spec.bom && c.written == 0 {
		b = append([]byte(byteOrderMark), b...)
	}
	return b
}

// addComments puts a comment before every event.
func addComments(b []byte) []byte {
	out := sse.AppendComment(nil, "keep-alive")
	for i, block := range bytes.SplitAfter(b, []byte("\n\n")) {
		if i > 0 && len(block) > 0 {
			out = sse.AppendComment(out, "keep-alive")
		}
		out = append(out, block...)
	}
	return out
}

// eolKinds are the line ends that alternate. A mixture alternates CR, CR LF, LF, so that no LF follows a CR, which
// would make them one line end.
var eolKinds = map[string][]string{"crlf": {"\r\n"}, "cr": {"\r"}, "mixed": {"\r", "\r\n", "\n"}}

// lineEnds replaces every LF.
func (c *call) lineEnds(b []byte) []byte {
	ends := eolKinds[c.spec.eol]
	out := make([]byte, 0, len(b)+8)
	for _, char := range b {
		if char != '\n' {
			out = append(out, char)
			continue
		}
		out = append(out, ends[c.lines%len(ends)]...)
		c.lines++
	}
	return out
}
