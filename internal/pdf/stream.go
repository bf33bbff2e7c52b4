package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
)

const (
	// mostHead is the maximum size in bytes of a dictionary of a stream or a font that is read.
	mostHead = 4 << 10
	// mostStreams is the maximum number of streams in a file that is read.
	mostStreams = 20_000
)

// readStreams finds the streams of a file by their keyword at any place, because the cross-reference table may point
// anywhere.
func (f *file) readStreams(b []byte) bool {
	if !f.readDefinitions(b) {
		return false
	}
	for at, found := 0, 0; ; {
		i := bytes.Index(b[at:], []byte("stream"))
		if i < 0 {
			return true
		}
		start := at + i
		at = start + len("stream")
		if !isStream(b, start) {
			continue
		}
		n, dict, ok := headOf(b[:start])
		if found++; !ok || found > mostStreams {
			return false
		}
		s := stream{dict: unescaped(dict), body: b[at:]}
		f.streams[n] = append(f.streams[n], s)
		if count(s.dict, "/ObjStm") > 0 || count(s.dict, "/First") > 0 {
			if !f.readPacked(&s) {
				return false
			}
		}
	}
}

// isStream reports whether the keyword at start may begin a stream: it follows a dictionary, possibly after white space
// and comments.
func isStream(b []byte, start int) bool {
	after := start + len("stream")
	return bytes.HasSuffix(b[:start], []byte(">>")) ||
		start > 0 && isSpace(b[start-1]) && (after == len(b) || !isRegular(b[after])) ||
		bytes.HasSuffix(bytes.TrimRight(b[max(0, start-64):start], " \n\r\t\f\x00"), []byte(">>"))
}

// readDefinitions counts the definitions of each object. It returns false for a definition with an unreadable number.
func (f *file) readDefinitions(b []byte) bool {
	f.defined = map[int64]int{}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("obj"))
		if i < 0 {
			return true
		}
		start := at + i
		at = start + len("obj")
		if start > 0 && isRegular(b[start-1]) && (b[start-1] < '0' || b[start-1] > '9') {
			continue // endobj
		}
		n, ok := numberBefore(b[:start])
		if !ok {
			return false
		}
		if f.defined[n]++; len(f.defined) > mostObjects {
			return false
		}
	}
}

// numberBefore reads the object number and the generation before the keyword.
func numberBefore(b []byte) (n int64, ok bool) {
	back := func() []byte {
		b = bytes.TrimRight(b, " \n\r\t\f\x00")
		end := len(b)
		for len(b) > 0 && b[len(b)-1] >= '0' && b[len(b)-1] <= '9' {
			b = b[:len(b)-1]
		}
		return b[len(b):end]
	}
	b = b[max(0, len(b)-64):]
	generation := back()
	n, rest, ok := number(back())
	return n, ok && len(generation) > 0 && len(rest) == 0
}

// headOf returns the object number and the dictionary of a stream.
func headOf(b []byte) (n int64, dict []byte, ok bool) {
	near := b[max(0, len(b)-mostHead):]
	i := bytes.LastIndex(near, []byte("obj"))
	if i < 0 {
		return 0, nil, false
	}
	dict = trim(near[i+len("obj"):])
	line := near[bytes.LastIndexAny(near[:i], "\r\n")+1 : i]
	n, ok = numberBefore(near[:i])
	return n, dict, ok && bytes.IndexByte(line, '%') < 0 && isDictionary(dict)
}

// isDictionary reports whether a text is one complete dictionary, optionally followed by comments. It detects a part of
// a dictionary that looks complete because a string or a comment ends in it.
func isDictionary(b []byte) bool {
	for depth := 0; ; {
		switch {
		case bytes.HasPrefix(b, []byte("<<")):
			depth, b = depth+1, b[2:]
		case bytes.HasPrefix(b, []byte(">>")):
			depth, b = depth-1, b[2:]
		case len(b) == 0, depth == 0, bytes.IndexByte([]byte(")>%\\"), b[0]) >= 0:
			return false
		case b[0] == '(':
			_, b = literal(b[1:])
		case b[0] == '<':
			if _, rest, closed := bytes.Cut(b, []byte(">")); closed {
				b = rest
				continue
			}
			return false
		default:
			b = b[1:]
		}
		if depth == 0 {
			return isComments(b)
		}
	}
}

// isComments reports whether a text has only white space and comments.
func isComments(b []byte) bool {
	for b = trim(b); len(b) > 0; b = trim(b) {
		end := bytes.IndexAny(b, "\r\n")
		if b[0] != '%' || end < 0 {
			return false
		}
		b = b[end:]
	}
	return true
}

// readPacked reads an object stream: the numbers of its objects, and their contents.
func (f *file) readPacked(s *stream) bool {
	text, ok := f.inflate(s)
	if !ok {
		return false
	}
	for head := trim(text); ; {
		n, rest, ok := number(head)
		if !ok {
			break
		}
		_, rest, ok = number(trim(rest))
		if !ok {
			break
		}
		if f.packed[n], head = true, trim(rest); len(f.packed) > mostObjects {
			return false
		}
	}
	f.objects = append(f.objects, unescaped(text))
	return true
}

// inflate returns the content of a stream. It returns false if the content is uncertain or too large.
func (f *file) inflate(s *stream) ([]byte, bool) {
	filters := count(s.dict, "/Filter")
	if count(s.dict, "/DecodeParms")+count(s.dict, "/DP")+count(s.dict, "/F") > 0 {
		return nil, false
	}
	body := trim(s.body)
	if filters == 0 {
		return f.plain(s)
	}
	if filters > 1 || count(s.dict, "/FlateDecode") != 1 || count(s.dict, "/DCTDecode") > 0 {
		return nil, false
	}
	in := bytes.NewReader(body)
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, false
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(*f.left)))
	// A stream may begin within another one and be empty.
	if more := f.take(max(len(out), len(body)-in.Len())); !more {
		return nil, false
	}
	if err != nil && !errors.Is(err, zlib.ErrChecksum) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false
	}
	return out, true
}

// take consumes room for n bytes, and reports whether any is left.
func (f *file) take(n int) bool {
	*f.left -= min(*f.left, Room(n))
	return *f.left > 0
}

// plain returns the content of a stream without a filter: the length in its dictionary, extended to the keyword that
// ends it.
func (f *file) plain(s *stream) (body []byte, ok bool) {
	length := int64(-1)
	direct := each(s.dict, "/Length", func(value []byte) bool {
		n, _, isNumber := number(value)
		_, _, isReference := reference(value)
		length = max(length, n)
		return isNumber && !isReference
	})
	if !direct || length < 0 || length > int64(len(s.body)) {
		return nil, false
	}
	end := bytes.Index(s.body[length:min(len(s.body), int(length)+int(*f.left))], []byte("endstream"))
	if end < 0 {
		return nil, false
	}
	body = s.body[:int(length)+end]
	return body, f.take(len(body))
}
