package anthropic

import (
	"cmp"
	"strconv"
	"unicode/utf8"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// location is a type of citation of a document: the members that say which it is, and where in it.
type location struct {
	kind                                llm.PlaceKind
	name, title, document, start, until string
}

// locations are the types of citation of the client's own documents, the first of one whose kind is not known
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

// readSource is the source that a citation names.
func readSource(v []byte) llm.Source {
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	s := llm.Source{URL: get("url"), Title: get("title"), Quote: get("cited_text"), File: get("file_id")}
	number := func(name string, most int64) int {
		n, ok := rawjson.AsInt(rawjson.Get(v, name))
		if !ok || n < 0 || n >= most {
			return -1
		}
		return int(n)
	}
	kind := get("type")
	for _, l := range locations() {
		if l.name != kind {
			continue
		}
		s.Title, s.Document = get(l.title), number(l.document, maxSearches)+1
		if from, to := number(l.start, maxPlace), number(l.until, maxPlace); from >= 0 && to >= from {
			s.Place = llm.Place{Kind: l.kind, From: from, To: to}
		}
	}
	if kind == resultLocation {
		s.URL, s.File = llm.Address(get("source"))
	}
	return s
}

// appendCitation writes a citation of an answer of another vendor. One that tells the place in a document is as the
// vendor itself would write it; others have a mark.
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

// placeOf is the place of a source in the client's document, and whether it was told. What was not is the beginning.
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

// appendTitle writes a title, which is null where the client gave its document none.
func appendTitle(dst []byte, title string) []byte {
	if title != "" {
		return rawjson.AppendString(dst, title)
	}
	return append(dst, "null"...)
}
