package llm

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Source is a page or a document that an answer cites.
type Source struct {
	URL   string // http or https; empty for a document that has none
	Title string
	Quote string // the quoted text that supports the answer; empty if the provider sends none
	Date  string // of the page, in the provider's format
	File  string // the id of a file that the provider stores, or of a document of the request
	// Document is the number of the request's document, counted from 1; 0 if the source is none of them or its number
	// is unknown.
	Document int
	Place    Place // in the document
}

// Name returns the title of the source, or its file if it has no title.
func (s *Source) Name() string { return cmp.Or(s.Title, s.File) }

// Size returns the number of bytes of text in the source.
func (s *Source) Size() int {
	return len(s.URL) + len(s.Title) + len(s.Quote) + len(s.Date) + len(s.File)
}

// Claim is a part of a text with the source that supports it.
type Claim struct {
	// Start and End are byte offsets in the text: Start is included, End is not. If they are equal, the source
	// supports the text before them.
	Start, End int
	Source     Source
}

// Search is a search that the provider ran for an answer.
type Search struct {
	ID      string // the provider's; empty for none
	Queries []string
	Results []Source // empty if the provider sends none
	Failed  string   // the provider's reason for a failed search; empty for success
}

// Size returns the number of bytes of text in the search.
func (s *Search) Size() int {
	n := len(s.ID) + len(s.Failed)
	for _, query := range s.Queries {
		n += len(query)
	}
	for i := range s.Results {
		n += s.Results[i].Size()
	}
	return n
}

// Sources holds the claims and the search of an answer's part.
type Sources struct {
	Claims []Claim // of a text, in order of position
	Search *Search // of a PartOther, whose Raw may be nil then
}

// Claims returns the claims of a text.
func (p *Part) Claims() []Claim {
	if p.Sources == nil {
		return nil
	}
	return p.Sources.Claims
}

// Search returns the search of a part; nil for none.
func (p *Part) Search() *Search {
	if p.Sources == nil {
		return nil
	}
	return p.Sources.Search
}

// Cite adds claims to a text.
func (p *Part) Cite(claims ...Claim) {
	if len(claims) == 0 {
		return
	}
	if p.Sources == nil {
		p.Sources = &Sources{}
	}
	p.Sources.Claims = append(p.Sources.Claims, claims...)
}

// Searched returns the part for a search; raw is the part in its wire format, nil for none.
func Searched(s *Search, raw json.RawMessage) Part {
	p := Part{Kind: PartOther, Raw: raw}
	if s != nil {
		p.Sources = &Sources{Search: s}
	}
	return p
}

// maxSpread bounds the average number of parts that a message's claims span; further ones are dropped.
const maxSpread = 4

// Cite distributes claims about the joined text of the message to its parts.
func (m *Message) Cite(claims ...Claim) {
	if len(claims) == 0 {
		return
	}
	var texts, starts []int // indexes of the text parts, and their offsets in the joined text
	length := 0
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText {
			texts, starts = append(texts, i), append(starts, length)
			length += len(p.Text)
		}
	}
	if len(texts) == 0 {
		return
	}
	left := maxSpread * len(claims)
	for _, c := range claims {
		c.Start, c.End = min(c.Start, length), min(c.End, length)
		i, _ := slices.BinarySearch(starts, c.Start+1) // after the last part that starts there
		if c.Start == c.End {                          // supports the text before it
			i, _ = slices.BinarySearch(starts, c.Start)
		}
		for i = max(i-1, 0); i < len(starts) && left > 0; i++ {
			p, at := &m.Parts[texts[i]], starts[i]
			p.Cite(Claim{Start: max(c.Start-at, 0), End: min(c.End-at, len(p.Text)), Source: c.Source})
			if left--; c.End <= at+len(p.Text) {
				break
			}
		}
	}
}
