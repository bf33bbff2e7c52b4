package bedrock

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxDocuments bounds the number of a document that is believed, and maxSources the sources of a block of a stream.
	maxDocuments = 10_000
	maxSources   = 4096
	maxKept      = 4 << 20 // bytes of these
)

// readSource is the source that a citation names
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html, undated copy).
func readSource(v []byte) llm.Source {
	s := llm.Source{Title: rawjson.Text(rawjson.Get(v, "title"))}
	var quote llm.Joined
	for _, e := range rawjson.Elements(rawjson.Get(v, "sourceContent")) {
		quote.Add(rawjson.Text(rawjson.Get(e, "text")))
	}
	s.Quote = quote.String()
	if source := rawjson.Text(rawjson.Get(v, "source")); strings.HasPrefix(source, "http") {
		s.URL = source
	} else {
		s.File = source
	}
	_, place, _ := onlyMember(rawjson.Get(v, "location"))
	if url := rawjson.Text(rawjson.Get(place, "url")); url != "" {
		s.URL = url
	}
	if n, ok := rawjson.AsInt(rawjson.Get(place, "documentIndex")); ok && n >= 0 && n < maxDocuments {
		s.Document = int(n) + 1
	}
	return s
}

// citeBlock reads the citations of a block: of its text, or, where it has none, of the text before it, as Nova has it.
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

// cited is the block of a stream that has citations. They come before its text.
type cited struct {
	block   int64
	begin   int // bytes of text before it
	sources []llm.Source
	size    int // bytes of them
}

// cite takes note of a citation of a block.
func (d *Decoder) cite(block int64, v []byte) {
	if d.cited == nil || d.cited.block != block {
		d.cited = &cited{block: block, begin: d.before}
	}
	s := readSource(v)
	if size := s.Size(); len(d.cited.sources) < maxSources && d.cited.size+size <= maxKept {
		d.cited.sources = append(d.cited.sources, s)
		d.cited.size += size
	}
}

// claims appends the citations of the block that has ended: of its text, or, where it has none, of that of the last block.
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
