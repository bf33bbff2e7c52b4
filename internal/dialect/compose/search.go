package compose

import (
	"fmt"
	"slices"

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

// NoOptions refuses a search with domains, and names what else of the wish is left out, where the search takes no options.
func (w *Writer) NoOptions(s *llm.WebSearch) {
	w.NoDomains(s, s.Allowed, "allowed")
	w.NoDomains(s, s.Blocked, "blocked")
	w.DropIf(s.MaxUses > 0, "max_uses")
	w.DropIf(s.HasPlace(), "user_location")
	w.DropIf(s.Context != "", "search_context_size")
}

// DropIf names what is left out, where there is any.
func (w *Writer) DropIf(is bool, what string) {
	if is {
		w.Drop(what)
	}
}

// Domains writes a list of domains as a member of an object within the body, where there are any.
func (w *Writer) Domains(name string, domains []string) {
	if len(domains) > 0 {
		w.Name(name)
		w.Dst = rawjson.AppendStrings(w.Dst, domains)
	}
}

// Allowed are the domains to search alone but those to leave out, for a search that takes one of both lists.
func Allowed(s *llm.WebSearch) []string {
	blocked := make(map[string]bool, len(s.Blocked))
	for _, d := range s.Blocked {
		blocked[d] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Allowed), func(d string) bool { return blocked[d] })
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
