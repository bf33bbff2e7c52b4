package native

import (
	"unicode/utf8"

	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// cited are the citations of a message while its content is put together.
type cited struct {
	citations, searches []byte
	characters          int // of the content so far
}

// part takes note of a part of the content, which has that text there.
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

func comma(dst []byte) []byte {
	if len(dst) > 0 {
		return append(dst, ',')
	}
	return dst
}

// append writes the citations and the searches, if there are any.
func (c *cited) append(dst []byte) []byte {
	if c.citations != nil {
		dst = append(append(append(dst, `,"citations":[`...), c.citations...), ']')
	}
	if c.searches != nil {
		dst = append(append(append(dst, `,"searches":[`...), c.searches...), ']')
	}
	return dst
}

// appendCitation writes a source with the characters of the content that it supports.
func appendCitation(dst []byte, s *llm.Source, start, end int) []byte {
	dst = rawjson.AppendCount(append(dst, '{'), `"start":`, int64(start))
	dst = rawjson.AppendCount(dst, `,"end":`, int64(end))
	for _, m := range []struct{ name, value string }{
		{"url", s.URL}, {"title", s.Title}, {"quote", s.Quote}, {"date", s.Date}, {"file", s.File},
	} {
		if m.value != "" {
			dst = append(append(append(dst, `,"`...), m.name...), `":`...)
			dst = rawjson.AppendString(dst, m.value)
		}
	}
	if s.Document > 0 {
		dst = rawjson.AppendCount(dst, `,"document":`, int64(s.Document))
	}
	return append(dst, '}')
}

// appendSearch writes the queries of a search.
func appendSearch(dst []byte, s *llm.Search) []byte {
	return append(rawjson.AppendStrings(append(dst, `{"queries":`...), s.Queries), '}')
}
