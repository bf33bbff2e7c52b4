package anthropic

import (
	"cmp"
	"strconv"
	"unicode/utf8"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// location names the members of a citation with the cited document and the place in it.
type location struct {
	kind                                llm.PlaceKind
	name, title, document, start, until string
}

// locations returns the types of citations of the client's own documents, first the one for unknown places
// (https://platform.claude.com/docs/en/build-with-claude/citations, undated copy,
// https://platform.claude.com/docs/en/build-with-claude/search-results, undated copy).
func locations() [4]location {
	const (
		title, document      = "document_title", "document_index"
		startBlock, endBlock = "start_block_index", "end_block_index"
	)
	return [4]location{
		{llm.PlaceCharacters, "char_location", title, document, "start_char_index", "end_char_index"},
		{llm.PlacePages, "page_location", title, document, "start_page_number", "end_page_number"},
		{llm.PlaceChunks, "content_block_location", title, document, startBlock, endBlock},
		{llm.PlaceResult, resultLocation, "title", "search_result_index", startBlock, endBlock},
	}
}

const resultLocation = "search_result_location"

// readSource reads the source that a citation names.
func readSource(v []byte) llm.Source {
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	s := llm.Source{URL: get("url"), Title: get("title"), Quote: get("cited_text"), File: get("file_id")}
	kind := get("type")
	for _, l := range locations() {
		if l.name == kind {
			s.Title, s.Document = get(l.title), parse.Index(rawjson.Get(v, l.document), maxSearches)+1
			s.Place = parse.DocumentPlace(l.kind, rawjson.Get(v, l.start), rawjson.Get(v, l.until))
		}
	}
	if kind == resultLocation {
		s.URL, s.File = llm.Address(get("source"))
	}
	return s
}

// appendCitation writes a citation of another vendor's answer. If the place in a document is known, it writes
// Anthropic's own form, otherwise one with a mark.
func appendCitation(dst []byte, s *llm.Source) []byte {
	if s.URL != "" && s.Place.Kind != llm.PlaceResult {
		dst = rawjson.AppendString(append(dst, `{"type":"web_search_result_location","url":`...), s.URL)
		dst = rawjson.AppendString(append(dst, `,"title":`...), s.Title)
		dst = rawjson.AppendString(append(dst, `,"cited_text":`...), s.Quote)
		return append(dst, `,"encrypted_index":"`+sourceMark+`"}`...)
	}
	all := locations()
	l := &all[0]
	for i := range all {
		if all[i].kind == s.Place.Kind {
			l = &all[i]
		}
	}
	dst = append(append(append(dst, `{"type":"`...), l.name...), `","cited_text":`...)
	dst = rawjson.AppendString(dst, s.Quote)
	dst = appendNumber(dst, l.document, max(s.Document-1, 0))
	dst = append(append(append(dst, `,"`...), l.title...), `":`...)
	if l.name == resultLocation {
		dst = appendTitle(dst, s.Title)
	} else {
		dst = appendTitle(dst, s.Name())
	}
	place, known := placeOf(s)
	dst = appendNumber(appendNumber(dst, l.start, place.From), l.until, place.To)
	if l.name == resultLocation {
		dst = rawjson.AppendString(append(dst, `,"source":`...), cmp.Or(s.URL, s.File))
		return append(dst, '}')
	}
	if known {
		return append(dst, `,"file_id":null}`...)
	}
	return append(dst, `,"file_id":"`+sourceMark+`"}`...)
}

// placeOf returns the place of a source in the client's document, or else its beginning, and reports whether the
// provider named the place.
func placeOf(s *llm.Source) (p llm.Place, known bool) {
	switch p = s.Place; {
	case p.To > p.From:
		return p, s.Document > 0
	case p.Kind == llm.PlacePages:
		p.From, p.To = 1, 2
	case p.Kind == llm.PlaceChunks, p.Kind == llm.PlaceResult:
		p.From, p.To = 0, 1
	default:
		p.From, p.To = 0, utf8.RuneCountInString(s.Quote)
	}
	return p, false
}

func appendNumber(dst []byte, name string, n int) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, int64(n), 10)
}

// appendTitle writes a title, or null if the client's document has none.
func appendTitle(dst []byte, title string) []byte {
	if title != "" {
		return rawjson.AppendString(dst, title)
	}
	return append(dst, "null"...)
}
