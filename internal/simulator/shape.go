package simulator

import (
	"bytes"

	"weir/internal/sse"
)

const byteOrderMark = "\xef\xbb\xbf"

// shape applies the fault and the options to events; piece is their number, above the last one for the end, unset for
// an event that is not a piece.
func (p *player) shape(b []byte, piece int64) []byte {
	if p.edit != nil {
		b = editEvents(&p.d.Framing, b, func(data []byte, _ bool) []byte { return p.edit(data) })
	}
	if p.spoil != nil && piece != unset && piece >= min(p.spec.at, p.answer.pieces()-1) && len(b) > 0 {
		b, p.spoil = p.spoil(b), nil
	}
	if p.spec.comments {
		b = addComments(b)
	}
	if p.spec.eol != "" && p.spec.eol != "lf" {
		b = p.lineEnds(b)
	}
	if p.spec.bom && p.written == 0 {
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
func (p *player) lineEnds(b []byte) []byte {
	ends := eolKinds[p.spec.eol]
	out := make([]byte, 0, len(b)+8)
	for _, char := range b {
		if char != '\n' {
			out = append(out, char)
			continue
		}
		out = append(out, ends[p.lines%len(ends)]...)
		p.lines++
	}
	return out
}
