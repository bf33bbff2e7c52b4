package manual

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// Bounds of a search: characters of a query, its significant words and their shortest length, results, and the bytes
// of text around a hit.
const (
	mostQuery   = 100
	mostWords   = 5
	leastWord   = 2
	mostResults = 20
	snippet     = 200
)

// Scores of a word by its place, for a whole word or its plural and for the beginning of one, and the most hits that
// count in a text.
const (
	inTitle    = 12
	inHeading  = 8
	inText     = 1
	wholeWord  = 2
	partOfWord = 1
	mostHits   = 4
)

// Lengths of the words that a search corrects.
const (
	leastMisspelt = 4
	mostMisspelt  = 32
)

// Weights of pages in the order of results: pages of groups for readers, pages below them, the other groups, and the
// list of changes.
const (
	weightGuide   = 6
	weightBelow   = 4
	weightOther   = 3
	weightChanges = 1
)

// guides has the groups of pages for people who use and run the gateway.
var guides = []string{"Use", "Operate", "Administer"}

// fillers are words of questions, which a search ignores next to others.
var fillers = strings.Fields("an and are can do does for from how in is it my not of on or the to what when where " +
	"why with")

// section is a heading of a page and the text up to the next heading. It is the unit of search results.
type section struct {
	page    *page
	heading heading // empty before the first heading
	text    string
	lower   string // the text in lower case
}

// sections splits the document into sections.
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
	return section{page: p, heading: at, text: text, lower: lower(text)}
}

// lower converts only ASCII letters to lower case, so that byte positions stay the same.
func lower(text string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf {
			return unicode.ToLower(c)
		}
		return c
	}, text)
}

// search returns the page of results for a query: sections that have words with the query's words as prefixes, guides
// and those with hits in their titles first.
func (l *library) search(query string) view {
	query = strings.TrimSpace(strings.ToValidUTF8(query, ""))
	v := view{Title: "Search", Searched: query != "", status: http.StatusOK}
	if utf8.RuneCountInString(query) > mostQuery {
		v.TooLong, v.status = true, http.StatusBadRequest
		return v
	}
	v.Query = query
	words, dropped := wordsOf(query)
	v.Dropped = dropped
	if len(words) == 0 {
		return v
	}
	if l.index.correct(words) {
		v.Corrected = strings.Join(words, " ")
	}
	var out strings.Builder
	best, complete := l.index.find(words)
	v.Partial = !complete
	for i := range best {
		l.sections[best[i].section].write(&out, best[i].first, words)
	}
	v.Count, v.Results = len(best), template.HTML(out.String()) //nolint:gosec // write escapes all
	return v
}

// wordsOf returns the distinct words of a query, and whether some were dropped. A compound such as "weir.yaml" or
// "X-Request-Id" is one word.
func wordsOf(query string) (words []string, dropped bool) {
	all := strings.Fields(lower(query))
	significant := slices.DeleteFunc(slices.Clone(all), func(word string) bool {
		return slices.Contains(fillers, trim(word)) || utf8.RuneCountInString(trim(word)) < leastWord
	})
	if len(significant) == 0 {
		significant = all
	}
	dropped = len(significant) < len(all)
	for _, word := range significant {
		word = trim(word)
		switch {
		case slices.Contains(words, word):
		case utf8.RuneCountInString(word) < leastWord || len(words) == mostWords:
			dropped = true
		default:
			words = append(words, word)
		}
	}
	return words, dropped
}

// trim removes punctuation around a word.
func trim(word string) string {
	return strings.TrimFunc(word, func(c rune) bool { return strings.ContainsRune(`"'.,;:!?()`+"`", c) })
}

// write writes the section as a result, with the text around a place. A template would take ten times as long.
func (s *section) write(out *strings.Builder, first int, words []string) {
	href, heading := s.page.Path, s.heading.Text
	if heading == s.page.Title {
		heading = ""
	} else if s.heading.ID != "" {
		href += "#" + s.heading.ID
	}
	out.WriteString(`<li><a href="` + template.HTMLEscapeString(href) + `">` + template.HTMLEscapeString(s.page.Title))
	if heading != "" {
		out.WriteString(" › " + template.HTMLEscapeString(heading))
	}
	out.WriteString("</a>\n<p>")
	s.cut(out, first, words)
	out.WriteString("</p></li>")
}

func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// cut writes the text around a place, with all words marked.
func (s *section) cut(out *strings.Builder, first int, words []string) {
	text := s.text
	from := 0
	if first < len(text) && first > snippet/3 {
		from = nextSpace(text, first-snippet/3)
	}
	to := len(text)
	if to-from > snippet {
		to = nextSpace(text, from+snippet)
	}
	if from > 0 {
		out.WriteString("… ")
	}
	mark(out, text[from:to], s.lower[from:to], words)
	if to < len(text) {
		out.WriteString(" …")
	}
}

// nextSpace returns the end of the word at a place, so that no character is cut.
func nextSpace(text string, at int) int {
	if i := strings.IndexByte(text[at:], ' '); i >= 0 {
		return at + i
	}
	return len(text)
}

// mark writes an escaped text with the searched words marked. Low is the text in lower case.
func mark(out *strings.Builder, text, low string, words []string) {
	next := make([]int, len(words)) // next place of each word
	for at := 0; at < len(text); {
		hit, length := len(text), 0
		for i, word := range words {
			if next[i] < at || at == 0 {
				next[i] = indexFrom(low, word, at)
			}
			if next[i] < hit || next[i] == hit && len(word) > length && hit < len(text) {
				hit, length = next[i], len(word)
			}
		}
		out.WriteString(template.HTMLEscapeString(text[at:hit]))
		if length > 0 {
			out.WriteString("<mark>" + template.HTMLEscapeString(text[hit:hit+length]) + "</mark>")
		}
		at = hit + length
	}
}

// indexFrom returns the place of a word at or after from, or the length of the text if there is none.
func indexFrom(text, word string, from int) int {
	if i := strings.Index(text[from:], word); i >= 0 {
		return from + i
	}
	return len(text)
}
