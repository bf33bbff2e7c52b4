package manual

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// Bounds of a search: characters of a query, words of it that count, results, and the bytes
// of text around a hit. With them a search reads each document a bounded number of times.
const (
	mostQuery   = 200
	mostWords   = 8
	mostResults = 30
	snippet     = 200
)

// What a word is worth by where it is, and how often it counts in a text.
const (
	inTitle   = 12
	inHeading = 8
	inText    = 1
	mostHits  = 4
	asWhole   = 2 // times as much for a word that begins there
)

// section is a heading of a page and what is below it up to the next one: what a search
// finds.
type section struct {
	page    *page
	heading heading // empty before the first one
	text    string
	lower   struct{ title, heading, text string }
}

// result is a section that was found.
type result struct {
	Title, Heading, Href string
	Pieces               []piece
	text                 string
	score                int
}

// piece is a part of the text of a result; Hit says that it was searched for.
type piece struct {
	Text string
	Hit  bool
}

// sections are the document in the parts that a search finds.
func (t *tree) sections(p *page) []section {
	var all []section
	var out strings.Builder
	var at heading
	end := func() {
		if text := strings.Join(strings.Fields(out.String()), " "); text != "" || at.Text != "" {
			all = append(all, newSection(p, at, text))
		}
		out.Reset()
	}
	for n := t.document.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			end()
			at = heading{plain(h, t.source), id(h)}
			continue
		}
		writePlain(&out, n, t.source)
	}
	end()
	return all
}

func newSection(p *page, at heading, text string) section {
	s := section{page: p, heading: at, text: text}
	s.lower.title, s.lower.heading, s.lower.text = lower(p.Title), lower(at.Text), lower(text)
	return s
}

// lower puts letters of ASCII into lower case, so that the text keeps its places.
func lower(text string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf {
			return unicode.ToLower(c)
		}
		return c
	}, text)
}

// search is the page of what is found for a query: sections that have all its words, those
// first that have them in their titles.
func (l *library) search(query string) view {
	query = strings.TrimSpace(strings.ToValidUTF8(query, ""))
	v := view{Title: "Search", Searched: query != "", status: http.StatusOK}
	if utf8.RuneCountInString(query) > mostQuery {
		v.TooLong, v.status = true, http.StatusBadRequest
		return v
	}
	v.Query = query
	words := wordsOf(query)
	if len(words) == 0 {
		return v
	}
	for i := range l.sections {
		if r, ok := l.sections[i].match(words); ok {
			v.Results = append(v.Results, r)
		}
	}
	slices.SortStableFunc(v.Results, func(a, b result) int { return cmp.Compare(b.score, a.score) })
	v.Results = v.Results[:min(len(v.Results), mostResults)]
	for i := range v.Results {
		v.Results[i].Pieces = cut(v.Results[i].text, words)
	}
	return v
}

// wordsOf are the words of a query, each once. What is written together, as in "weir.yaml" or
// "X-Request-Id", is one.
func wordsOf(query string) []string {
	var words []string
	for _, word := range strings.Fields(lower(query)) {
		word = strings.TrimFunc(word, func(c rune) bool { return strings.ContainsRune(`"'.,;:!?()`+"`", c) })
		if word != "" && !slices.Contains(words, word) && len(words) < mostWords {
			words = append(words, word)
		}
	}
	return words
}

// match is the section as a result, if it has all words.
func (s *section) match(words []string) (result, bool) {
	score := 0
	for _, word := range words {
		n := worth(s.lower.title, word, inTitle, 1) + worth(s.lower.heading, word, inHeading, 1) +
			worth(s.lower.text, word, inText, mostHits)
		if n == 0 {
			return result{}, false
		}
		score += n
	}
	r := result{
		Title: s.page.Title, Heading: s.heading.Text, Href: s.page.Path, text: s.text, score: score,
	}
	if r.Heading == r.Title {
		r.Heading = ""
	} else if s.heading.ID != "" {
		r.Href += "#" + s.heading.ID
	}
	return r, true
}

// worth is what a word counts for in a text, up to so many times.
func worth(text, word string, points, most int) int {
	sum := 0
	for from := 0; most > 0; most-- {
		i := strings.Index(text[from:], word)
		if i < 0 {
			break
		}
		at := from + i
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); at == 0 || !isWord(before) {
			sum += points * asWhole
		} else {
			sum += points
		}
		from = at + len(word)
	}
	return sum
}

func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// cut is the text around the first word in it, with all words marked.
func cut(text string, words []string) []piece {
	low := lower(text)
	first := len(text)
	for _, word := range words {
		if i := strings.Index(low, word); i >= 0 {
			first = min(first, i)
		}
	}
	from := 0
	if first < len(text) && first > snippet/3 {
		from = nextSpace(text, first-snippet/3)
	}
	to := len(text)
	if to-from > snippet {
		to = nextSpace(text, from+snippet)
	}
	pieces := mark(text[from:to], words)
	if from > 0 {
		pieces = append([]piece{{Text: "… "}}, pieces...)
	}
	if to < len(text) {
		pieces = append(pieces, piece{Text: " …"})
	}
	return pieces
}

// nextSpace is where the next word ends, so that no character is cut through.
func nextSpace(text string, at int) int {
	if i := strings.IndexByte(text[at:], ' '); i >= 0 {
		return at + i
	}
	return len(text)
}

// mark cuts a text into what was searched for and what is around that.
func mark(text string, words []string) []piece {
	var pieces []piece
	low := lower(text)
	for text != "" {
		at, length := len(text), 0
		for _, word := range words {
			if i := strings.Index(low, word); i >= 0 && (i < at || i == at && len(word) > length) {
				at, length = i, len(word)
			}
		}
		if at > 0 {
			pieces = append(pieces, piece{Text: text[:at]})
		}
		if length > 0 {
			pieces = append(pieces, piece{text[at : at+length], true})
		}
		text, low = text[at+length:], low[at+length:]
	}
	return pieces
}
