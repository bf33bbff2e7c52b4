package openai

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxListed bounds the sources that an answer lists, and maxMarkers the places that name them. Further ones are
	// ignored.
	maxListed  = 1000
	maxMarkers = 4096
	// maxListedBytes bounds these sources in bytes.
	maxListedBytes = 4 << 20
)

// listed holds the sources that an answer lists next to its choices, and the places of the text that name one by its
// number, such as [2], counted from 1: Perplexity's search_results
// (https://docs.perplexity.ai/api-reference/chat-completions-post, undated copy), and the plain URLs in the citations
// of Perplexity and xAI.
type listed struct {
	sources []llm.Source
	results bool // from search_results, which have more details than citations
	length  int  // of the last list, in bytes: each piece repeats the list
	markers []marker
	open    marker // an incomplete marker at the end of the text so far; length 0 for none
	read    int    // bytes of text
}

// marker is a place of a text that names a source by its number.
type marker struct{ start, end, number int }

// add reads a member of the answer that lists sources. Pieces of a stream repeat the list, later ones with more
// sources.
func (l *listed) add(name string, v []byte) {
	isResults := name == searchResults
	if l.results && !isResults || len(v) == l.length {
		return
	}
	l.length = len(v)
	var sources []llm.Source
	size := 0
	for _, e := range rawjson.Elements(v) {
		s := listedSource(e)
		if size += s.Size(); len(sources) == maxListed || size > maxListedBytes {
			break
		}
		if s.URL != "" {
			sources = append(sources, s)
		}
	}
	if len(sources) >= len(l.sources) || isResults && !l.results {
		l.sources, l.results = sources, isResults
	}
}

// searchResults is the member with the search results.
const searchResults = "search_results"

// listedSource reads a source: an object or a URL.
func listedSource(v []byte) llm.Source {
	if url, is := rawjson.AsString(v); is {
		return llm.Source{URL: url}
	}
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	return llm.Source{URL: get("url"), Title: get("title"), Quote: get("snippet"), Date: get("date")}
}

// text finds markers in a piece of the text.
func (l *listed) text(s string) {
	at := 0
	for at < len(s) {
		if l.open.end == l.open.start { // outside
			i := strings.IndexByte(s[at:], '[')
			if i < 0 {
				break
			}
			at += i
			l.open = marker{start: l.read + at, end: l.read + at + 1}
			at++
			continue
		}
		switch c := s[at]; {
		case c >= '0' && c <= '9' && l.open.number <= maxListed:
			l.open.number = l.open.number*10 + int(c-'0')
			l.open.end++
			at++
		case c == ']' && l.open.number > 0:
			l.open.end++
			at++
			if len(l.markers) < maxMarkers {
				l.markers = append(l.markers, l.open)
			}
			l.open = marker{}
		default:
			l.open = marker{} // the byte may begin another marker
		}
	}
	l.read += len(s)
}

// citations returns the citations of the whole text: at the markers, and at its end the sources without a marker.
func (l *listed) citations() []llm.Claim {
	if len(l.sources) == 0 {
		return nil
	}
	var all []llm.Claim
	named := make([]bool, len(l.sources))
	for _, m := range l.markers {
		if m.number <= len(l.sources) {
			named[m.number-1] = true
			all = append(all, llm.Claim{Start: m.start, End: m.end, Source: l.sources[m.number-1]})
		}
	}
	for i := range l.sources {
		if !named[i] {
			all = append(all, llm.Claim{Start: l.read, End: l.read, Source: l.sources[i]})
		}
	}
	return all
}

// listedIn adds the sources that an answer lists to its first choice, because its text refers to them.
func listedIn(r *llm.Reply) {
	var l listed
	for _, f := range r.Extra {
		if f.Name == searchResults || f.Name == "citations" {
			l.add(f.Name, f.Value)
		}
	}
	if len(l.sources) == 0 || len(r.Choices) == 0 {
		return
	}
	m := &r.Choices[0].Message
	if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Claims() != nil }) {
		return
	}
	for i := range m.Parts {
		if m.Parts[i].Kind == llm.PartText {
			l.text(m.Parts[i].Text)
		}
	}
	m.Cite(l.citations()...)
}
