package gemini

import (
	"cmp"
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxSources bounds the sources of an answer, and maxClaims its claims. Further ones are ignored.
	maxSources = 1000
	maxClaims  = 4096
	maxKept    = 4 << 20 // bytes of sources and queries
)

// sources holds the sources of a candidate, over all pieces of a stream. Places count bytes of UTF-8
// (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/nodejs/1.4.1/vertexai/groundingsupportsegment,
// 2025-09-04), from the beginning of a part if they name one.
type sources struct {
	all     []llm.Source
	places  map[llm.Source]int
	named   []bool // by a claim
	queries []string
	claims  []llm.Claim // reported so far
	seen    map[llm.Claim]bool
	kept    int // in bytes
}

// keeps reserves space for size bytes, and reports whether it is available.
func (s *sources) keeps(size int) bool {
	if s.kept+size > maxKept {
		return false
	}
	s.kept += size
	return true
}

// read reads the grounding of a candidate, and returns the claims that it has not returned yet. Before holds the bytes
// of text before each part; nil for pieces, with places from the beginning of the answer.
func (s *sources) read(c *candidate, before []int) []llm.Claim {
	from := len(s.claims)
	for _, q := range rawjson.Elements(get(c.grounding, "webSearchQueries")) {
		query := rawjson.Text(q)
		if len(s.queries) < maxSources && !slices.Contains(s.queries, query) && s.keeps(len(query)) {
			s.queries = append(s.queries, query)
		}
	}
	var chunks []int // of this piece, by their positions among all
	for _, v := range rawjson.Elements(get(c.grounding, "groundingChunks")) {
		chunks = append(chunks, s.add(chunkSource(v)))
	}
	for _, v := range rawjson.Elements(get(c.grounding, "groundingSupports")) {
		start, end := segment(get(v, "segment"), before)
		for _, n := range rawjson.Elements(get(v, "groundingChunkIndices")) {
			if i, ok := rawjson.AsInt(n); ok && i >= 0 && i < int64(len(chunks)) && chunks[i] >= 0 {
				s.named[chunks[i]] = true
				s.claim(llm.Claim{Start: start, End: end, Source: s.all[chunks[i]]})
			}
		}
	}
	for _, name := range []string{"citationSources", "citations"} { // the Gemini API's, Vertex AI's
		for _, v := range rawjson.Elements(get(c.recited, name)) {
			start, end := segment(v, nil)
			if source := chunkOf(v); s.keeps(source.Size()) {
				s.claim(llm.Claim{Start: start, End: end, Source: source})
			}
		}
	}
	return s.claims[from:]
}

// add returns the position of a source among all; -1 for an empty source or one too many.
func (s *sources) add(source llm.Source) int {
	if source == (llm.Source{}) {
		return -1
	}
	if i, is := s.places[source]; is {
		return i
	}
	if len(s.all) == maxSources || !s.keeps(source.Size()) {
		return -1
	}
	if s.places == nil {
		s.places = map[llm.Source]int{}
	}
	s.places[source] = len(s.all)
	s.all, s.named = append(s.all, source), append(s.named, false)
	return len(s.all) - 1
}

// claim adds a claim, once.
func (s *sources) claim(c llm.Claim) {
	if s.seen == nil {
		s.seen = map[llm.Claim]bool{}
	}
	if len(s.claims) < maxClaims && !s.seen[c] {
		s.seen[c] = true
		s.claims = append(s.claims, c)
	}
}

// rest returns the search that the candidate reports, or nil, and the sources without a claim: they apply to the whole
// text of the given length in bytes.
func (s *sources) rest(text int) (*llm.Search, []llm.Claim) {
	var claims []llm.Claim
	for i, named := range s.named {
		if !named {
			claims = append(claims, llm.Claim{Start: text, End: text, Source: s.all[i]})
		}
	}
	if len(s.queries) == 0 {
		return nil, claims
	}
	return &llm.Search{Queries: s.queries, Results: s.all}, claims
}

// chunkSource reads the source of a chunk: a page, a file or a place.
func chunkSource(v []byte) llm.Source {
	for _, kind := range []string{"web", "retrievedContext", "maps"} {
		if inner := get(v, kind); rawjson.KindOf(inner) == rawjson.Object {
			return chunkOf(inner)
		}
	}
	return llm.Source{}
}

func chunkOf(v []byte) llm.Source {
	in := func(name string) string { return rawjson.Text(get(v, name)) }
	s := llm.Source{Title: in("title"), Quote: in("text")}
	s.URL, s.File = llm.Address(in("uri")) // a name for a file in a bucket
	s.File = cmp.Or(in("documentName"), s.File)
	if n := parse.Index(get(v, "pageNumber"), parse.MaxPlace); n > 0 {
		s.Place = llm.Place{Kind: llm.PlacePages, From: n, To: n + 1}
	}
	return s
}

// segment reads a place in the text, in bytes. Protocol buffers omit zeros.
func segment(v []byte, before []int) (start, end int) {
	const most = 1 << 30
	read := func(name string) int {
		n, _ := rawjson.AsInt(get(v, name))
		return int(max(0, min(n, most)))
	}
	start, end = read("startIndex"), read("endIndex")
	if part := read("partIndex"); part < len(before) {
		start, end = start+before[part], end+before[part]
	}
	return start, max(start, end)
}

// sourced adds the sources of a candidate to its message, with a text of the given length in bytes.
func (s *sources) sourced(m *llm.Message, claims []llm.Claim, text int) {
	search, rest := s.rest(text)
	m.Cite(slices.Concat(claims, rest)...)
	if search != nil {
		m.Parts = append(m.Parts, llm.Searched(search, nil))
	}
}

// grounded holds the sources of another vendor's answer while they are written.
type grounded struct {
	queries []string
	claims  []placed
}

// placed is a claim of a part; in a stream of the first part, with places from the beginning of the answer.
type placed struct {
	llm.Claim
	part int
	text string // of the claim; empty in a stream
}

// part adds the claims of a part of an answer, by its number.
func (g *grounded) part(p *llm.Part, number int) {
	for _, c := range p.Claims() {
		g.claim(placed{Claim: c, part: number, text: p.Text[c.Start:c.End]})
	}
}

// search adds a search.
func (g *grounded) search(s *llm.Search) {
	g.queries = append(g.queries, s.Queries...)
}

// claim adds a claim.
func (g *grounded) claim(c placed) {
	g.claims = append(g.claims, c)
}

// append writes the groundingMetadata, if there is any.
func (g *grounded) append(dst []byte) []byte {
	if len(g.queries) == 0 && len(g.claims) == 0 {
		return dst
	}
	dst = rawjson.AppendStrings(append(dst, `,"groundingMetadata":{"webSearchQueries":`...), g.queries)
	dst = append(dst, `,"groundingChunks":[`...)
	numbers := map[llm.Source]int{}
	for i := range g.claims {
		s := g.claims[i].Source
		if _, ok := numbers[s]; ok {
			continue
		}
		if len(numbers) > 0 {
			dst = append(dst, ',')
		}
		numbers[s] = len(numbers)
		dst = appendChunk(dst, &s)
	}
	dst = append(dst, `],"groundingSupports":[`...)
	empty := len(dst)
	for i := range g.claims {
		c := &g.claims[i]
		if c.Start == c.End { // without a text, only the chunk is written
			continue
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = appendSupport(dst, c, numbers[c.Source])
	}
	return append(dst, "]}"...)
}

func appendChunk(dst []byte, s *llm.Source) []byte {
	if s.URL == "" {
		dst = rawjson.AppendString(append(dst, `{"retrievedContext":{"title":`...), s.Name())
		dst = rawjson.AppendString(append(dst, `,"text":`...), s.Quote)
		return append(dst, "}}"...)
	}
	dst = rawjson.AppendString(append(dst, `{"web":{"uri":`...), s.URL)
	dst = rawjson.AppendString(append(dst, `,"title":`...), s.Title)
	return append(dst, "}}"...)
}

func appendSupport(dst []byte, c *placed, chunk int) []byte {
	dst = append(dst, `{"segment":{`...)
	if c.part > 0 {
		dst = append(rawjson.AppendCount(dst, `"partIndex":`, int64(c.part)), ',')
	}
	dst = rawjson.AppendCount(dst, `"startIndex":`, int64(c.Start))
	dst = rawjson.AppendCount(dst, `,"endIndex":`, int64(c.End))
	if c.text != "" {
		dst = rawjson.AppendString(append(dst, `,"text":`...), c.text)
	}
	dst = rawjson.AppendCount(dst, `},"groundingChunkIndices":[`, int64(chunk))
	return append(dst, "]}"...)
}
