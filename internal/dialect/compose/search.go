package compose

import (
	"fmt"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// RefuseSearch refuses the wish for a search of the web that the provider cannot make.
func (w *Writer) RefuseSearch(s *llm.WebSearch) {
	w.Refuse(s.At, fmt.Sprintf("The provider of this model cannot search the web, as %s asks for. Leave the field out, or "+
		"choose a model that searches.", s.At))
}

// NoDomains refuses a search that is held to domains, or keeps from some, where the provider takes no such list.
func (w *Writer) NoDomains(s *llm.WebSearch, domains []string, what string) {
	if len(domains) > 0 {
		w.Refuse(s.At, fmt.Sprintf("The provider of this model takes no %s domains for a search. Leave them out of %s, or "+
			"choose a model whose provider does.", what, s.At))
	}
}

// Place writes where the user is as an object that Anthropic and OpenAI share.
func Place(dst []byte, s *llm.WebSearch) []byte {
	dst = append(dst, `{"type":"approximate"`...)
	for _, m := range []struct{ name, value string }{
		{"city", s.City}, {"region", s.Region}, {"country", s.Country}, {"timezone", s.Timezone},
	} {
		if m.value != "" {
			dst = append(rawjson.AppendString(append(dst, ','), m.name), ':')
			dst = rawjson.AppendString(dst, m.value)
		}
	}
	return append(dst, '}')
}
