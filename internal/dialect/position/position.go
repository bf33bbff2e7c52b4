// Package position converts places in a text that grows between bytes and characters, without keeping the text. Wire
// formats count differently: Google counts the bytes of UTF-8, OpenAI and Cohere count characters. Recorded answers of
// OpenAI's with characters of three bytes show that (https://github.com/vercel/ai,
// packages/openai/src/responses/__fixtures__ at ed857f50). None has a character beyond the BMP; such a character counts
// once here, as in Python, the language of its examples.
package position

import (
	"sort"
	"unicode/utf8"
)

// maxRuns bounds the runs of a text. Places behind more are not known.
const maxRuns = 1 << 16

// Text is a text by the number of bytes that its characters take. The zero Text is empty. A character is a code point.
type Text struct {
	bytes, characters int
	width             int // of the characters of the last run, in bytes; 0 before the first
	runs              []run
	first             [1]run // the only one of an English text
	full              bool
}

// run is where characters of another width begin. Characters of no width are in the text that is written and not in the
// one that places are told of.
type run struct{ bytes, characters, width int }

// Add adds a piece to the end of the text.
func (t *Text) Add(s string) {
	for len(s) > 0 {
		n, width := alike(s)
		t.begin(width)
		t.bytes += n
		t.characters += n / width
		s = s[n:]
	}
}

// Insert adds characters of which places know nothing.
func (t *Text) Insert(s string) {
	if s != "" {
		t.begin(0)
		t.characters += utf8.RuneCountInString(s)
		t.width = -1 // the next run is a new one
	}
}

// alike is the length of the characters of one width with which the text begins, and that width. A byte that is not
// UTF-8 is a character.
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

// Bytes is the length of the text in bytes.
func (t *Text) Bytes() int { return t.bytes }

// Characters is the length of the text in characters, of those that were inserted too.
func (t *Text) Characters() int { return t.characters }

// ToCharacters is the number of characters before that many bytes, which are at most those of the text.
func (t *Text) ToCharacters(bytes int) int {
	i := sort.Search(len(t.runs), func(i int) bool { return t.runs[i].bytes > bytes }) - 1
	if i < 0 || bytes >= t.bytes {
		return t.characters
	}
	r := t.runs[i]
	return r.characters + (bytes-r.bytes)/max(r.width, 1)
}

// ToBytes is the number of bytes before that many characters, which are at most those of the text.
func (t *Text) ToBytes(characters int) int {
	i := sort.Search(len(t.runs), func(i int) bool { return t.runs[i].characters > characters }) - 1
	if i < 0 || characters >= t.characters {
		return t.bytes
	}
	r := t.runs[i]
	return r.bytes + (characters-r.characters)*r.width
}

// Texts are the texts of an answer's choices. The zero Texts are empty.
type Texts struct {
	first Text
	more  map[int]*Text
}

// Of is the text of a choice, of which there are as many as the wire format bounds them to.
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
