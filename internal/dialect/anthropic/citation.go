package anthropic

import (
	"strconv"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	serverToolUse    = "server_tool_use"
	webSearch        = "web_search"
	webSearchResult  = "web_search_tool_result"
	maxSearches      = 1000     // of an answer that are stored
	maxSearchInput   = 64 << 10 // bytes
	maxCitations     = 4096     // of a block of a stream
	maxSourceBytes   = 4 << 20  // of the stored citations and queries of a stream
	webSearchFailure = "web_search_tool_result_error"
)

// searches holds the queries of an answer's searches that have begun, by id.
type searches map[string]string

// begin stores the query of a search.
func (s *searches) begin(id string, input []byte) {
	if *s == nil {
		*s = searches{}
	}
	if len(*s) < maxSearches {
		(*s)[id] = ""
		if rawjson.Validate(input, maxDepth) == nil {
			(*s)[id] = rawjson.Text(rawjson.Get(input, "query"))
		}
	}
}

// block returns the search that a block reports; nil for none.
func (s *searches) block(v []byte) *llm.Search {
	get := func(name string) []byte { return rawjson.Get(v, name) }
	switch rawjson.Text(get("type")) {
	case serverToolUse:
		if rawjson.Text(get("name")) == webSearch {
			s.begin(rawjson.Text(get("id")), get("input"))
		}
	case webSearchResult:
		search := &llm.Search{ID: rawjson.Text(get("tool_use_id"))}
		if query := (*s)[search.ID]; query != "" {
			search.Queries = []string{query}
		}
		if rawjson.Text(rawjson.Get(get("content"), "type")) == webSearchFailure {
			search.Failed = rawjson.Text(rawjson.Get(get("content"), "error_code"))
		}
		search.Results = parse.Sources(get("content"), parse.MaxSources, func(v []byte) llm.Source {
			in := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
			return llm.Source{URL: in("url"), Title: in("title"), Date: in("page_age")}
		})
		return search
	}
	return nil
}

// appendSearchUse writes a search with its input; nil if the input follows in pieces.
func appendSearchUse(dst []byte, id string, input []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":"server_tool_use","id":`...), id)
	dst = append(dst, `,"name":"web_search","input":`...)
	if input == nil {
		input = []byte("{}")
	}
	return append(append(dst, input...), '}')
}

// appendQuery writes the input of a search.
func appendQuery(dst []byte, query string) []byte {
	return append(rawjson.AppendString(append(dst, `{"query":`...), query), '}')
}

// appendSearchResult writes the results of a search.
func appendSearchResult(dst []byte, id string, s *llm.Search, results []llm.Source) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":"web_search_tool_result","tool_use_id":`...), id)
	dst = append(dst, `,"content":`...)
	if s.Failed != "" {
		return append(dst, `{"type":"web_search_tool_result_error","error_code":"unavailable"}}`...)
	}
	dst = append(dst, '[')
	empty := len(dst)
	for i := range results {
		r := &results[i]
		if r.URL == "" {
			continue // a file
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(append(dst, `{"type":"web_search_result","url":`...), r.URL)
		dst = rawjson.AppendString(append(dst, `,"title":`...), r.Title)
		dst = append(dst, `,"encrypted_content":"`+sourceMark+`","page_age":`...)
		if r.Date == "" {
			dst = append(dst, "null}"...)
		} else {
			dst = append(rawjson.AppendString(dst, r.Date), '}')
		}
	}
	return append(dst, "]}"...)
}

// searchBlocks returns the blocks of another vendor's search: two for each query; the last block has the results.
func searchBlocks(s *llm.Search, answer string, number int) (blocks []llm.Part) {
	for i, query := range queriesOf(s) {
		id := searchID(answer, number, i)
		blocks = append(blocks, other(appendSearchUse(nil, id, appendQuery(nil, query))),
			other(appendSearchResult(nil, id, s, resultsAt(s, i))))
	}
	return blocks
}

// queriesOf returns the queries of a search; an empty one if none is reported.
func queriesOf(s *llm.Search) []string {
	if len(s.Queries) == 0 {
		return []string{""}
	}
	return s.Queries
}

// resultsAt returns the results of a query by its number: the last query has all results.
func resultsAt(s *llm.Search, query int) []llm.Source {
	if query == len(queriesOf(s))-1 {
		return s.Results
	}
	return nil
}

// searchID returns the id of a query of an answer's search. The vendor's ids consist of letters, digits and
// underscores.
func searchID(answer string, search, query int) string {
	word := func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}
	return searchPrefix + strings.Map(word, strings.TrimPrefix(answer, "msg_")) + "_" +
		strconv.Itoa(search) + "_" + strconv.Itoa(query)
}

// cites stores a citation of a block.
func (d *Decoder) cites(b *openBlock, citation []byte) {
	s := readSource(citation)
	if size := s.Size(); s != (llm.Source{}) && len(b.sources) < maxCitations && d.kept+size <= maxSourceBytes {
		b.sources = append(b.sources, s)
		d.kept += size
	}
}

// asks stores a piece of the input of a search.
func (d *Decoder) asks(b *openBlock, delta []byte) {
	if b.search == "" {
		return
	}
	s := rawjson.Text(rawjson.Get(delta, "partial_json"))
	if len(b.input)+len(s) <= maxSearchInput && d.kept+len(s) <= maxSourceBytes {
		b.input = append(b.input, s...)
		d.kept += len(s)
	}
}

// Size returns the stored bytes of citations and queries.
func (d *Decoder) Size() int { return d.kept }

// claims appends the citations of a block that has ended; if the block is a search, it stores the query.
func (d *Decoder) claims(dst []llm.Event, b *openBlock) []llm.Event {
	if b.search != "" && len(b.input) > 0 {
		d.searches.begin(b.search, b.input)
	}
	for i := range b.sources {
		d.kept -= b.sources[i].Size()
		dst = append(dst, llm.Event{Kind: llm.EventClaim, RawOf: Name, Claim: &llm.Claim{
			Start: b.start, End: d.told, Source: b.sources[i],
		}})
	}
	return dst
}
