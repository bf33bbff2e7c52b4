package manual

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// index holds all places at which words begin, sorted by the text there, so that a search only reads the places that
// begin with a word of the query.
type index struct {
	texts  []string // titles, headings and texts of sections, in lower case: three per section
	places []spot
}

// spot is the place of a word: the text and the byte in it.
type spot struct{ text, at uint32 }

// found is a section that has all words of the query.
type found struct {
	section int
	score   int
	first   int // byte of the first hit in its text; beyond the end if there is none
	words   int // found words, one bit each
	hits    int // hits of the current word in the text
}

const (
	textsEach = 3 // texts per section: title, heading, text
	nowhere   = 1 << 30
)

// newIndex indexes the sections.
func newIndex(sections []section) *index {
	x := &index{}
	for i := range sections {
		s := &sections[i]
		x.add(lower(s.page.Title))
		x.add(lower(s.heading.Text))
		x.add(s.lower)
	}
	slices.SortFunc(x.places, func(a, b spot) int {
		return cmp.Or(strings.Compare(x.from(a), x.from(b)), cmp.Compare(a.text, b.text))
	})
	return x
}

// add adds a text. A word begins after a space, and inside compounds such as "X-Request-Id" where letters begin or
// end.
func (x *index) add(text string) {
	n := uint32(len(x.texts)) //nolint:gosec // a few thousand
	x.texts = append(x.texts, text)
	before := ' '
	for at, c := range text {
		if c != ' ' && (before == ' ' || isWord(c) != isWord(before)) {
			x.places = append(x.places, spot{n, uint32(at)}) //nolint:gosec // documents are short
		}
		before = c
	}
}

// from returns the text at a place, at most as long as the longest query.
func (x *index) from(s spot) string {
	text := x.texts[s.text][s.at:]
	return text[:min(len(text), mostQuery*utf8.UTFMax)]
}

// find returns the sections that have words with all the given prefixes, best first, at most mostResults.
func (x *index) find(words []string) []found {
	all := make([]found, len(x.texts)/textsEach)
	for i, word := range words {
		for j := range all {
			all[j].hits = 0
		}
		first, _ := slices.BinarySearchFunc(x.places, word, func(s spot, word string) int {
			return strings.Compare(x.from(s), word)
		})
		behind, _ := slices.BinarySearchFunc(x.places, word+"\xff", func(s spot, word string) int {
			return strings.Compare(x.from(s), word)
		})
		for _, s := range x.places[first:behind] {
			all[s.text/textsEach].note(i, s)
		}
	}
	for i := range all {
		all[i].section = i
	}
	best := slices.DeleteFunc(all, func(f found) bool { return f.words != 1<<len(words)-1 })
	slices.SortFunc(best, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.section, b.section))
	})
	return best[:min(len(best), mostResults)]
}

// note counts a hit of a word.
func (f *found) note(word int, s spot) {
	if f.words == 0 {
		f.first = nowhere
	}
	f.words |= 1 << word
	switch s.text % textsEach {
	case 0:
		f.score += inTitle
	case 1:
		f.score += inHeading
	default:
		f.first = min(f.first, int(s.at))
		if f.hits++; f.hits <= mostHits {
			f.score += inText
		}
	}
}
