package pdf

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// usual is the maximum number of bytes that is assumed for a character of an unknown mapping.
	usual = 3
	// mostMapped is the maximum number of codes that are read in all fonts, counting repetitions.
	mostMapped = 1 << 17
	// mostFonts is the maximum number of fonts in a file that is read.
	mostFonts = 1000
)

// fonts bounds the bytes of text per code of a string, in any of the file's fonts.
type fonts struct {
	simple, composite int64 // number of fonts with one-byte and with two-byte codes
	mapped            int64 // number of these with a mapping of codes to characters
	plain             int64 // number of simple fonts with a standard encoding

	codes int                // number of codes read
	one   [256]meaning       // meaning of one-byte codes
	two   map[uint16]meaning // of two-byte codes
}

// read counts the fonts among objects, and reads their encodings. It returns false if a code may have another length
// than its kind of font implies.
func (f *fonts) read(text []byte) bool {
	for _, kind := range []string{"/Type1", "/TrueType", "/Type3", "/MMType1"} {
		f.simple += f.readKind(text, kind)
	}
	f.composite += f.readKind(text, "/Type0")
	own := false
	named := each(text, "/Encoding", func(value []byte) bool {
		_, _, isReference := reference(value)
		own = own || isReference
		return isReference || bytes.HasPrefix(value, []byte("<<")) || isOne(value, plainEncodings()) ||
			isOne(value, []string{"/Identity-H", "/Identity-V"})
	})
	return named && (!own || f.composite == 0) && f.simple+f.composite <= mostFonts && !hasLongGlyph(text)
}

// plainEncodings returns the encodings that map an ASCII code to that character (ISO 32000-1, annex D).
func plainEncodings() []string {
	return []string{"/WinAnsiEncoding", "/MacRomanEncoding", "/StandardEncoding"}
}

// isOne reports whether a value is one of the names.
func isOne(value []byte, names []string) bool {
	for _, name := range names {
		if rest, ok := bytes.CutPrefix(value, []byte(name)); ok && (len(rest) == 0 || !isRegular(rest[0])) {
			return true
		}
	}
	return false
}

// readKind counts the fonts of a kind. It believes a font's entry only if it appears once and not in a string.
func (f *fonts) readKind(text []byte, kind string) (n int64) {
	for at := 0; f.simple+f.composite+n <= mostFonts; {
		i := bytes.Index(text[at:], []byte(kind))
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(kind)
		if at < len(text) && isRegular(text[at]) {
			continue
		}
		n++
		before, after := text[max(0, start-mostHead):start], text[at:min(len(text), at+mostHead)]
		open, end := bytes.LastIndex(before, []byte("<<")), bytes.Index(after, []byte(">>"))
		if open < 0 || end < 0 {
			continue
		}
		dict := bytes.Join([][]byte{before[open:], after[:end]}, nil)
		if bytes.ContainsAny(dict, "(%") {
			continue
		}
		if count(dict, "/ToUnicode") == 1 {
			f.mapped++
		}
		if count(dict, "/Encoding") == 1 {
			each(dict, "/Encoding", func(value []byte) bool {
				if isOne(value, plainEncodings()) {
					f.plain++
				}
				return true
			})
		}
	}
	return n
}

// hasLongGlyph reports whether the name of a glyph stands for several characters by number, such as "uni00410042".
func hasLongGlyph(text []byte) bool {
	for {
		_, rest, found := bytes.Cut(text, []byte("uni"))
		if !found {
			return false
		}
		digits := 0
		for digits < len(rest) && bytes.IndexByte([]byte("0123456789ABCDEF"), rest[digits]) >= 0 {
			digits++
		}
		if digits >= 8 {
			return true
		}
		text = rest
	}
}

// textOf returns the maximum number of bytes of text that content shows. It adds one byte per string for a space or
// line end that a reader may insert between two strings, except before an ASCII letter on the same line, because there
// a space makes no separate token in any vocabulary.
func (f *fonts) textOf(content []byte) (n int64) {
	shown(content, func(before, s []byte) {
		one, two := int64(0), int64(0)
		for _, c := range s {
			one += f.ofOne(c).bytes
		}
		for i := 0; i < len(s); i += 2 {
			two += f.ofTwo(s[i:min(len(s), i+2)]).bytes
		}
		letter := len(s) > 0 && (f.simple == 0 || f.ofOne(s[0]).letter) &&
			(f.composite == 0 || f.ofTwo(s[:min(len(s), 2)]).letter)
		if !letter || !isOneLine(before) {
			n++
		}
		switch {
		case f.composite == 0:
			n += one
		case f.simple == 0:
			n += two
		default:
			n += max(one, two)
		}
	})
	return n
}

// ofOne returns the meaning of a one-byte code. If all fonts have a standard encoding, an ASCII code means that
// character.
func (f *fonts) ofOne(c byte) meaning {
	known := f.one[c]
	if f.plain == f.simple && c < utf8.RuneSelf {
		letter := isLetter(rune(c)) && (known.bytes == 0 || known.letter)
		return meaning{bytes: max(1, known.bytes), letter: letter}
	}
	return f.certain(known)
}

// ofTwo returns the meaning of a two-byte code.
func (f *fonts) ofTwo(code []byte) (known meaning) {
	if len(code) == 2 {
		known = f.two[uint16(code[0])<<8|uint16(code[1])]
	}
	return f.certain(known)
}

// certain returns the meaning of a code with a known mapping, raised to the default, because the code may mean another
// character in a font without a mapping.
func (f *fonts) certain(known meaning) meaning {
	if f.mapped < f.simple+f.composite || known.bytes == 0 {
		return meaning{bytes: max(usual, known.bytes)}
	}
	return known
}

// meaning bounds the text of a code in all fonts.
type meaning struct {
	bytes  int64 // maximum; 0 if unknown
	letter bool  // an ASCII letter
}

func (m meaning) or(another meaning) meaning {
	if m.bytes == 0 {
		return another
	}
	return meaning{bytes: max(m.bytes, another.bytes), letter: m.letter && another.letter}
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

// readMapping reads the mapping of codes to characters (Adobe Technical Note 5411). It returns false for a character
// that Unicode normalization lengthens, because its bytes then do not bound its tokens.
func (f *fonts) readMapping(text []byte) bool {
	for _, kind := range []string{"bfchar", "bfrange"} {
		for rest := text; ; {
			var section []byte
			var found bool
			_, rest, found = bytes.Cut(rest, []byte("begin"+kind))
			if !found {
				break
			}
			section, rest, found = bytes.Cut(rest, []byte("end"+kind))
			if !found || !f.readSection(section, kind == "bfrange") {
				return false
			}
		}
	}
	return true
}

// readSection reads entries of a code, or of a range with its first and last code, and their text.
func (f *fonts) readSection(section []byte, ranges bool) bool {
	for {
		from, rest, ok := hexString(section)
		if !ok {
			return len(trim(section)) == 0
		}
		to := from
		if ranges {
			if to, rest, ok = hexString(rest); !ok {
				return false
			}
		}
		codes := codesOf(from, to)
		var longest meaning
		if rest = trim(rest); len(rest) > 0 && rest[0] == '[' {
			longest, rest = meaningOfList(rest[1:])
		} else if value, after, ok := hexString(rest); ok {
			longest, rest = meaningOf(value, codes), after
		}
		if longest.bytes == 0 || !f.set(from, codes, longest) {
			return false
		}
		section = rest
	}
}

// codesOf returns the number of codes in a range; 0 for an unsupported range.
func codesOf(from, to []byte) int {
	switch {
	case len(from) != len(to) || len(from) == 0 || len(from) > 2 || len(from) == 2 && from[0] != to[0]:
		return 0
	default:
		return max(0, 1+int(to[len(to)-1])-int(from[len(from)-1]))
	}
}

// meaningOfList returns a meaning that covers all texts of a list.
func meaningOfList(b []byte) (all meaning, rest []byte) {
	for {
		value, after, ok := hexString(b)
		if !ok {
			b = trim(b)
			return all, b[min(len(b), 1):] // its closing bracket
		}
		m := meaningOf(value, 1)
		if m.bytes == 0 {
			return m, b
		}
		all, b = all.or(m), after
	}
}

// hexString reads a hexadecimal string at the start of b.
func hexString(b []byte) (s, rest []byte, ok bool) {
	b = trim(b)
	if len(b) == 0 || b[0] != '<' {
		return nil, b, false
	}
	digits, rest, ok := bytes.Cut(b[1:], []byte(">"))
	return unhexed(digits), rest, ok
}

// set records the meaning of a number of consecutive codes.
func (f *fonts) set(from []byte, codes int, m meaning) bool {
	first := int(from[0])
	if len(from) == 2 {
		first = first<<8 | int(from[1])
	}
	if f.codes += codes; codes == 0 || f.codes > mostMapped {
		return false
	}
	for code := first; code < first+codes; code++ {
		if len(from) == 1 {
			f.one[code] = f.one[code].or(m)
		} else {
			f.two[uint16(code)] = f.two[uint16(code)].or(m)
		}
	}
	return true
}

// meaningOf returns a meaning that covers a UTF-16 text and the following texts with consecutive last units. It has 0
// bytes for an invalid text and for one that Unicode normalization lengthens.
func meaningOf(b []byte, texts int) (all meaning) {
	if len(b)%2 == 1 || len(b) == 0 {
		return meaning{}
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i < len(b); i += 2 {
		units = append(units, uint16(b[i])<<8|uint16(b[i+1]))
	}
	if slices.ContainsFunc(units, isLengthened) {
		return meaning{}
	}
	first, head := rune(units[len(units)-1]), int64(len(string(utf16.Decode(units[:len(units)-1]))))
	for r := first; r < first+rune(texts); r++ {
		if r > 0xffff || isLengthened(uint16(r)) {
			return meaning{}
		}
		all = all.or(meaning{bytes: head + int64(utf8.RuneLen(r)), letter: head == 0 && isLetter(r)})
	}
	return all
}

// isLengthened reports whether a character's block has compatibility forms that are much longer than the character:
// Arabic ligatures, squared words, and musical symbols beyond the basic plane.
func isLengthened(u uint16) bool {
	return u >= 0xfb13 && u <= 0xfdff || u >= 0xfe70 && u <= 0xfeff || u >= 0x3200 && u <= 0x33ff ||
		u >= 0xd800 && u <= 0xdfff
}
