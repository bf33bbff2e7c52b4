package llm

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Source is a page or a document on which an answer rests.
type Source struct {
	URL   string // http or https; empty for a document that has none
	Title string
	Quote string // the words of it that support the answer; empty where the provider tells none
	Date  string // of the page, in the provider's words
	File  string // the id of a file that the provider keeps, or of a document of the request
	// Document counts the documents of the request from 1; 0 for a source that is none of them, or not known to be.
	Document int
	Place    Place // in the document
}

// Name is what the source is called: its title, else its file.
func (s *Source) Name() string { return cmp.Or(s.Title, s.File) }

// Size is how many bytes of text the source has.
func (s *Source) Size() int {
	return len(s.URL) + len(s.Title) + len(s.Quote) + len(s.Date) + len(s.File)
}

// Claim is a part of a text that a source supports.
type Claim struct {
	// Start and End are bytes of the text: the part begins with Start and ends before End. Where they are equal, the
	// source supports what is before them.
	Start, End int
	Source     Source
}

// Search is a search that the provider made for an answer.
type Search struct {
	ID      string // the provider's; empty for none
	Queries []string
	Results []Source // empty where the provider tells none
	Failed  string   // the provider's word for a search that failed; empty for one that did not
}

// Size is how many bytes of text the search has.
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

// Sources are what a part of an answer rests on.
type Sources struct {
	Claims []Claim // of a text, by place
	Search *Search // that a PartOther tells of, whose Raw may be nil then
}

// Claims are those of a text.
func (p *Part) Claims() []Claim {
	if p.Sources == nil {
		return nil
	}
	return p.Sources.Claims
}

// Search is the search that a part tells of; nil for none.
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

// Searched is the part that tells of a search; raw is the part in the words of its wire format, nil for none.
func Searched(s *Search, raw json.RawMessage) Part {
	p := Part{Kind: PartOther, Raw: raw}
	if s != nil {
		p.Sources = &Sources{Search: s}
	}
	return p
}

// maxSpread is over how many parts a claim goes, in the mean of a message; what is behind them is left out.
const maxSpread = 4

// Cite adds claims of the text of all parts together to the parts that they are of.
func (m *Message) Cite(claims ...Claim) {
	var texts, starts []int // places of the texts among the parts, and in the text of all of them
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
		i, _ := slices.BinarySearch(starts, c.Start+1) // behind the last that begins there
		if c.Start == c.End {                          // of what is before it
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
