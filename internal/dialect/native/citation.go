package native

import (
	"unicode/utf8"

	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// cited collects the citations of a message while its content is built.
type cited struct {
	citations, searches []byte
	characters          int // of the content so far
}

// part adds a part of the content with its text.
func (c *cited) part(p *llm.Part, text string) {
	if claims := p.Claims(); len(claims) > 0 {
		var at position.Text
		at.Add(text)
		for i := range claims {
			claim := &claims[i]
			start, end := c.characters+at.ToCharacters(claim.Start), c.characters+at.ToCharacters(claim.End)
			c.citations = appendCitation(comma(c.citations), &claim.Source, start, end)
		}
	}
	c.characters += utf8.RuneCountInString(text)
}

// comma appends a comma, unless it would be the first element of a list or object.
func comma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '[' && dst[n-1] != '{' {
		return append(dst, ',')
	}
	return dst
}

// append appends the citations and the searches, if any.
func (c *cited) append(dst []byte) []byte {
	if c.citations != nil {
		dst = append(append(append(dst, `,"citations":[`...), c.citations...), ']')
	}
	if c.searches != nil {
		dst = append(append(append(dst, `,"searches":[`...), c.searches...), ']')
	}
	return dst
}

// appendCitation appends a source with the range of characters that it supports.
func appendCitation(dst []byte, s *llm.Source, start, end int) []byte {
	dst = rawjson.AppendCount(append(dst, '{'), `"start":`, int64(start))
	dst = rawjson.AppendCount(dst, `,"end":`, int64(end))
	dst = appendSource(dst, s)
	if s.Document > 0 {
		dst = rawjson.AppendCount(dst, `,"document":`, int64(s.Document))
	}
	return append(dst, '}')
}

// appendSource appends the known fields of a source.
func appendSource(dst []byte, s *llm.Source) []byte {
	for _, m := range []struct{ name, value string }{
		{"url", s.URL}, {"title", s.Title}, {"quote", s.Quote}, {"date", s.Date}, {"file", s.File},
	} {
		if m.value != "" {
			dst = append(append(append(comma(dst), '"'), m.name...), `":`...)
			dst = rawjson.AppendString(dst, m.value)
		}
	}
	return dst
}

// appendSearch appends the queries of a search and its results, if known.
func appendSearch(dst []byte, s *llm.Search) []byte {
	dst = rawjson.AppendStrings(append(dst, `{"queries":`...), s.Queries)
	if len(s.Results) > 0 {
		dst = append(dst, `,"results":[`...)
		for i := range s.Results {
			dst = append(appendSource(append(comma(dst), '{'), &s.Results[i]), '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
