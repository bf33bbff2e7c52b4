package simulator

import (
	"bytes"
	"fmt"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// form is the separation of a stream's events, as far as faults need to know it.
type form uint8

const (
	formEvents form = iota // server-sent events
	formLines              // a JSON text in each line
	formBinary             // frames with lengths and checksums; the checksum is last
)

// formOf determines a framing's form by its output.
func formOf(f *dialect.Framing) form {
	switch string(f.Append(nil, "", []byte("{}"))) {
	case "data: {}\n\n":
		return formEvents
	case "{}\n":
		return formLines
	}
	return formBinary
}

// suits refuses options that the streams of a form cannot have.
func (s *spec) suits(f form) error {
	option, why := "", "a binary one has no lines"
	switch {
	case f == formEvents:
	case s.comments:
		option, why = "comments", "only server-sent events have comments"
	case s.bom:
		option, why = "bom", "only server-sent events may begin with one"
	case s.eol == "" || s.eol == "lf":
	case f == formBinary:
		option = "eol=" + s.eol
	case s.eol != "crlf":
		option, why = "eol="+s.eol, "a line of JSON ends in LF or CR LF"
	}
	if option == "" {
		return nil
	}
	return llm.Invalidf("model", "The option %s does not apply to streams of this wire format: %s. Leave it out.",
		option, why)
}

// frame is one event of a stream.
type frame struct {
	name string
	data []byte
	raw  []byte // its bytes in the stream; nil if the framing does not provide them
}

// splitEvents reads the whole events that an encoder wrote.
func splitEvents(f *dialect.Framing, b []byte) []frame {
	frames := make([]frame, 0, 4)
	r := f.NewReader(bytes.NewReader(b), len(b)+1)
	for {
		ev, err := r.Next()
		if err != nil {
			return frames
		}
		frames = append(frames, frame{string(ev.Name), bytes.Clone(ev.Data), bytes.Clone(ev.Raw)})
	}
}

// appendEvent appends the event with other data, or unchanged if the data are equal, because a frame may have more than
// a name.
func appendEvent(dst []byte, f *dialect.Framing, fr *frame, data []byte) []byte {
	if fr.raw != nil && bytes.Equal(data, fr.data) {
		return append(dst, fr.raw...)
	}
	return f.Append(dst, fr.name, data)
}

// editEvents changes the data of every event in b.
func editEvents(f *dialect.Framing, b []byte, edit func(data []byte, last bool) []byte) []byte {
	var out []byte
	frames := splitEvents(f, b)
	for i := range frames {
		out = appendEvent(out, f, &frames[i], edit(frames[i].data, i == len(frames)-1))
	}
	return out
}

// pad writes the fault's padding before the answer: an event of one long string, or white space before a whole body.
func (p *player) pad() error {
	switch {
	case p.padding == 0:
		return nil
	case !p.stream:
		return p.fill(nil, ' ', nil)
	case p.form == formBinary: // its length and checksum need the whole frame
		text := bytes.Repeat([]byte{'x'}, int(min(p.padding, defaultPadding)))
		return p.write(p.d.Framing.Append(nil, "", fmt.Appendf(nil, `{"padding":"%s"}`, text)))
	}
	b := p.d.Framing.Append(nil, "", []byte(`{"padding":""}`))
	at := bytes.Index(b, []byte(`""`)) + 1
	return p.fill(b[:at], 'x', b[at:])
}

// fill writes the padding's number of bytes of one kind, between two texts.
func (p *player) fill(before []byte, with byte, after []byte) error {
	if err := p.write(before); err != nil {
		return err
	}
	block := bytes.Repeat([]byte{with}, 64<<10)
	for left := p.padding; left > 0; left -= int64(len(block)) {
		block = block[:min(left, int64(len(block)))]
		if err := p.write(block); err != nil {
			return err
		}
	}
	return p.write(after)
}
