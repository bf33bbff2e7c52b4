package manual

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// index holds all places at which words begin, sorted by the text there, so that a search only reads the places that
// begin with a word of the query.
type index struct {
	texts      []string // titles, headings and texts of sections, in lower case: three per section
	weights    []int    // of the sections
	places     []spot
	vocabulary rawjson.Names // all words of letters, the most frequent first
}

// spot is the place of a word: the text and the byte in it.
type spot struct{ text, at uint32 }

// found is a section that has words of the query.
type found struct {
	section int
	score   int
	first   int  // byte of the first hit in its text; beyond the end if there is none
	words   uint // found words, one bit each
	hits    int  // hits of the current word in the text
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
		x.weights = append(x.weights, s.page.weight)
	}
	slices.SortFunc(x.places, func(a, b spot) int {
		return cmp.Or(strings.Compare(x.from(a), x.from(b)), cmp.Compare(a.text, b.text))
	})
	x.collect()
	return x
}

// collect fills the vocabulary from the sorted places.
func (x *index) collect() {
	counts := map[string]int{}
	for _, s := range x.places {
		text := x.from(s)
		word := text[:wordEnd(text)]
		if n := utf8.RuneCountInString(word); n >= leastMisspelt && n <= mostMisspelt {
			counts[word]++
		}
	}
	x.vocabulary = slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// wordEnd returns the length of the letters and digits at the start of a text.
func wordEnd(text string) int {
	if end := strings.IndexFunc(text, func(c rune) bool { return !isWord(c) }); end >= 0 {
		return end
	}
	return len(text)
}

// correct replaces each word that nothing begins with by the most similar word of the documents. It reports whether
// there was one.
func (x *index) correct(words []string) (corrected bool) {
	for i, word := range words {
		length := utf8.RuneCountInString(word)
		if length < leastMisspelt || length > mostMisspelt || len(x.spots(word)) > 0 {
			continue
		}
		near := make(rawjson.Names, 0, len(x.vocabulary))
		for _, other := range x.vocabulary {
			if d := utf8.RuneCountInString(other) - length; d >= -1 && d <= 1 {
				near = append(near, other)
			}
		}
		if other, ok := near.Nearest(word); ok {
			words[i], corrected = other, true
		}
	}
	return corrected
}

// spots returns the places at which words begin with a prefix.
func (x *index) spots(prefix string) []spot {
	compare := func(s spot, word string) int { return strings.Compare(x.from(s), word) }
	first, _ := slices.BinarySearchFunc(x.places, prefix, compare)
	behind, _ := slices.BinarySearchFunc(x.places, prefix+"\xff", compare)
	return x.places[first:behind]
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

// find returns the sections that have words with the most of the given prefixes, best first, at most mostResults. It
// reports whether these are all prefixes.
func (x *index) find(words []string) (best []found, complete bool) {
	all := make([]found, len(x.texts)/textsEach)
	for i, word := range words {
		for j := range all {
			all[j].hits = 0
		}
		for _, s := range x.spots(word) {
			points := partOfWord
			text := x.from(s)
			if rest := text[len(word):max(len(word), wordEnd(text))]; rest == "" || rest == "s" {
				points = wholeWord
			}
			all[s.text/textsEach].note(i, s, points)
		}
	}
	most := 1
	for i := range all {
		all[i].section = i
		all[i].score *= x.weights[i]
		most = max(most, bits.OnesCount(all[i].words))
	}
	best = slices.DeleteFunc(all, func(f found) bool { return bits.OnesCount(f.words) < most })
	slices.SortFunc(best, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(x.headingLength(a), x.headingLength(b)),
			cmp.Compare(a.section, b.section))
	})
	return best[:min(len(best), mostResults)], most == len(words)
}

// headingLength returns the length of the section's heading: of equal results, the heading with fewer other words wins.
func (x *index) headingLength(f found) int { return len(x.texts[f.section*textsEach+1]) }

// note counts a hit of a word, with points.
func (f *found) note(word int, s spot, points int) {
	if f.words == 0 {
		f.first = nowhere
	}
	f.words |= 1 << word
	switch s.text % textsEach {
	case 0:
		f.score += inTitle * points
	case 1:
		f.score += inHeading * points
	default:
		f.first = min(f.first, int(s.at))
		if f.hits++; f.hits <= mostHits {
			f.score += inText * points
		}
	}
}
