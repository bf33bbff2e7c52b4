// Package position converts positions in a growing text between bytes and characters, without storing the text. Wire
// formats count differently: Google counts bytes of UTF-8, OpenAI and Cohere count characters. Recorded answers of
// OpenAI with characters of three bytes show that (https://github.com/vercel/ai,
// packages/openai/src/responses/__fixtures__ at ed857f50). None has a character beyond the BMP; such a character
// counts as one here, as in Python, the language of its examples.
package position

import (
	"sort"
	"unicode/utf8"
)

// maxRuns bounds the runs of a text. Positions after more runs are unknown.
const maxRuns = 1 << 16

// Text stores the widths of a text's characters, that is, code points, in bytes. The zero Text is empty.
type Text struct {
	bytes, characters int
	width             int // of the characters of the last run, in bytes; 0 before the first
	runs              []run
	first             [1]run // the only run of an English text
	full              bool
}

// run is the start of characters of another width. Characters of width 0 are in the written text but not in the one
// to which positions refer.
type run struct{ bytes, characters, width int }

// Add appends a piece to the text.
func (t *Text) Add(s string) {
	for len(s) > 0 {
		n, width := alike(s)
		t.begin(width)
		t.bytes += n
		t.characters += n / width
		s = s[n:]
	}
}

// Insert appends characters that positions do not count.
func (t *Text) Insert(s string) {
	if s != "" {
		t.begin(0)
		t.characters += utf8.RuneCountInString(s)
		t.width = -1 // the next run is a new one
	}
}

// alike returns the length and the width of the leading characters of one width. A byte that is not UTF-8 counts as a
// character.
func alike(s string) (n, width int) {
	for n < len(s) {
		size := 1
		if s[n] >= utf8.RuneSelf {
			_, size = utf8.DecodeRuneInString(s[n:])
		}
		if width != 0 && size != width {
			break
		}
		width = size
		n += size
	}
	return n, width
}

// begin begins a run, unless the last one has that width.
func (t *Text) begin(width int) {
	switch {
	case t.full || t.runs != nil && t.width == width:
		return
	case len(t.runs) == maxRuns:
		t.full = true
		return
	case t.runs == nil:
		t.runs = t.first[:0]
	}
	t.width = width
	t.runs = append(t.runs, run{t.bytes, t.characters, width})
}

// Bytes returns the length of the text in bytes.
func (t *Text) Bytes() int { return t.bytes }

// Characters returns the length of the text in characters, including inserted ones.
func (t *Text) Characters() int { return t.characters }

// ToCharacters returns the number of characters in that many bytes, at most all of them.
func (t *Text) ToCharacters(bytes int) int {
	i := sort.Search(len(t.runs), func(i int) bool { return t.runs[i].bytes > bytes }) - 1
	if i < 0 || bytes >= t.bytes {
		return t.characters
	}
	r := t.runs[i]
	return r.characters + (bytes-r.bytes)/max(r.width, 1)
}

// ToBytes returns the number of bytes in that many characters, at most all of them.
func (t *Text) ToBytes(characters int) int {
	i := sort.Search(len(t.runs), func(i int) bool { return t.runs[i].characters > characters }) - 1
	if i < 0 || characters >= t.characters {
		return t.bytes
	}
	r := t.runs[i]
	return r.bytes + (characters-r.characters)*r.width
}

// Texts holds the texts of an answer's choices. The zero Texts are empty.
type Texts struct {
	first Text
	more  map[int]*Text
}

// Of returns the text of a choice. The wire format bounds the number of choices.
func (t *Texts) Of(choice int) *Text {
	if choice == 0 {
		return &t.first
	}
	text := t.more[choice]
	if text == nil {
		if t.more == nil {
			t.more = map[int]*Text{}
		}
		text = &Text{}
		t.more[choice] = text
	}
	return text
}
