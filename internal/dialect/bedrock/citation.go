package bedrock

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxDocuments bounds the number of a document, and maxSources the sources of a block of a stream.
	maxDocuments = 10_000
	maxSources   = 4096
	maxKept      = 4 << 20 // bytes of these
)

// location names a member of a citation's location
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CitationLocation.html, undated copy). Pages
// count from 1, all others from 0, as with Claude; the end is exclusive.
type location struct {
	kind         llm.PlaceKind
	name, number string
}

func locations() [4]location {
	return [4]location{
		{llm.PlaceCharacters, "documentChar", "documentIndex"},
		{llm.PlacePages, "documentPage", "documentIndex"},
		{llm.PlaceChunks, "documentChunk", "documentIndex"},
		{llm.PlaceResult, "searchResultLocation", "searchResultIndex"},
	}
}

// readSource reads the source that a citation names
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html, undated copy).
func readSource(v []byte) llm.Source {
	s := llm.Source{Title: rawjson.Text(rawjson.Get(v, "title"))}
	var quote llm.Joined
	for _, e := range rawjson.Elements(rawjson.Get(v, "sourceContent")) {
		quote.Add(rawjson.Text(rawjson.Get(e, "text")))
	}
	s.Quote = quote.String()
	s.URL, s.File = llm.Address(rawjson.Text(rawjson.Get(v, "source")))
	name, place, _ := OnlyMember(rawjson.Get(v, "location"))
	if url := rawjson.Text(rawjson.Get(place, "url")); url != "" {
		s.URL = url
	}
	for _, l := range locations() {
		if l.name == name {
			s.Document = parse.Index(rawjson.Get(place, l.number), maxDocuments) + 1
			s.Place = parse.DocumentPlace(l.kind, rawjson.Get(place, "start"), rawjson.Get(place, "end"))
		}
	}
	return s
}

// AppendCitation writes another vendor's citation.
func AppendCitation(dst []byte, s *llm.Source) []byte {
	dst = rawjson.AppendString(append(dst, `{"title":`...), s.Name())
	if source := cmp.Or(s.URL, s.File); source != "" {
		dst = rawjson.AppendString(append(dst, `,"source":`...), source)
	}
	if s.Quote != "" {
		dst = append(rawjson.AppendString(append(dst, `,"sourceContent":[{"text":`...), s.Quote), "}]"...)
	}
	if s.Document == 0 {
		if s.URL != "" {
			dst = append(rawjson.AppendString(append(dst, `,"location":{"web":{"url":`...), s.URL), "}}"...)
		}
		return append(dst, '}')
	}
	all := locations()
	l := &all[0]
	for i := range all {
		if all[i].kind == s.Place.Kind {
			l = &all[i]
		}
	}
	dst = append(append(append(dst, `,"location":{"`...), l.name...), `":{"`...)
	dst = rawjson.AppendCount(append(append(dst, l.number...), `":`...), "", int64(s.Document-1))
	if s.Place.Kind != 0 {
		dst = rawjson.AppendCount(dst, `,"start":`, int64(s.Place.From))
		dst = rawjson.AppendCount(dst, `,"end":`, int64(s.Place.To))
	}
	return append(dst, "}}}"...)
}

// carries reports whether the citations of a text can be written: all pieces of it must have words, because Converse
// refuses blank ones.
func (e *messageEncoder) carries(p *llm.Part) bool {
	if !e.cites || p.Kind != llm.PartText || len(p.Claims()) == 0 {
		return false
	}
	return e.Own || !slices.ContainsFunc(p.Cut(),
		func(piece llm.Part) bool { return strings.TrimSpace(piece.Text) == "" })
}

// claims writes a text with its citations, each of a whole block.
func (e *messageEncoder) claims(p *llm.Part) {
	for _, piece := range p.Cut() {
		e.Dst = rawjson.AppendComma(e.Dst)
		claims := piece.Claims()
		if claims == nil {
			e.Dst = append(rawjson.AppendString(append(e.Dst, `{"text":`...), piece.Text), '}')
			continue
		}
		e.Dst = rawjson.AppendString(append(e.Dst, `{"citationsContent":{"content":[{"text":`...), piece.Text)
		e.Dst = append(e.Dst, `}],"citations":[`...)
		for j := range claims {
			e.Dst = AppendCitation(rawjson.AppendComma(e.Dst), &claims[j].Source)
		}
		e.Dst = append(e.Dst, "]}}"...)
	}
}

// citeBlock reads the citations of a block: of its text, or of the text before it if it has none, as with Nova.
func citeBlock(before []llm.Part, p *llm.Part) {
	if p.Text == "" {
		for i := len(before) - 1; i >= 0; i-- {
			if before[i].Kind == llm.PartText && before[i].Text != "" {
				before[i].Cite(parse.BlockClaims(before[i].Text, p.Annotations, readSource)...)
				return
			}
		}
	}
	p.Cite(parse.BlockClaims(p.Text, p.Annotations, readSource)...)
}

// cited holds the citations of a block of a stream. They precede its text.
type cited struct {
	block   int64
	begin   int // bytes of text before it
	sources []llm.Source
	size    int // bytes of the sources
}

// cite stores a citation of a block.
func (d *Decoder) cite(block int64, v []byte) {
	if d.cited == nil || d.cited.block != block {
		d.cited = &cited{block: block, begin: d.before}
	}
	s := readSource(v)
	if size := s.Size(); s != (llm.Source{}) && len(d.cited.sources) < maxSources && d.cited.size+size <= maxKept {
		d.cited.sources = append(d.cited.sources, s)
		d.cited.size += size
	}
}

// claims appends the citations of the block that has ended: of its text, or of the text of the last block if it has
// none.
func (d *Decoder) claims(dst []llm.Event) []llm.Event {
	if d.told > d.before {
		d.spoke = d.before
	}
	if d.cited != nil {
		if d.cited.begin == d.told {
			d.cited.begin = d.spoke
		}
		for _, s := range d.cited.sources {
			dst = append(dst, llm.Event{Kind: llm.EventClaim, RawOf: Name, Claim: &llm.Claim{
				Start: d.cited.begin, End: d.told, Source: s,
			}})
		}
	}
	d.cited, d.before = nil, d.told
	return dst
}
