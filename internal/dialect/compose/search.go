package compose

import (
	"fmt"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// RefuseSearch refuses a request for a web search if the provider has none.
func (u *Unsent) RefuseSearch(s *llm.WebSearch) {
	u.Refuse(s.At, fmt.Sprintf("The provider of this model cannot search the web, which %s requests. "+
		"Remove the field, or choose a model that can search.", s.At))
}

// NoDomains refuses a search restricted by allowed or blocked domains if the provider does not accept such a list.
func (u *Unsent) NoDomains(s *llm.WebSearch, domains []string, what string) {
	if len(domains) > 0 {
		u.Refuse(s.At, fmt.Sprintf("The provider of this model does not accept %s domains for a search. "+
			"Remove them from %s, or choose a model whose provider accepts them.", what, s.At))
	}
}

// NoOptions refuses a search with domains, and drops its other options, for a search that accepts none.
func (u *Unsent) NoOptions(s *llm.WebSearch) {
	u.NoDomains(s, s.Allowed, "allowed")
	u.NoDomains(s, s.Blocked, "blocked")
	u.DropIf(s.MaxUses > 0, "max_uses")
	u.DropIf(s.HasPlace(), "user_location")
	u.DropIf(s.Context != "", "search_context_size")
}

// DropIf drops an option that is set.
func (u *Unsent) DropIf(is bool, what string) {
	if is {
		u.Drop(what)
	}
}

// Domains writes a list of domains as a member of an object within the body, unless it is empty.
func (w *Writer) Domains(name string, domains []string) {
	if len(domains) > 0 {
		w.Name(name)
		w.Dst = rawjson.AppendStrings(w.Dst, domains)
	}
}

// Allowed returns the allowed domains without the blocked ones, for a search that accepts only one of the lists.
func Allowed(s *llm.WebSearch) []string {
	blocked := make(map[string]bool, len(s.Blocked))
	for _, d := range s.Blocked {
		blocked[d] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Allowed), func(d string) bool { return blocked[d] })
}

// Place appends the user's location as an object that Anthropic and OpenAI share.
func Place(dst []byte, s *llm.WebSearch) []byte {
	dst = append(dst, `{"type":"approximate"`...)
	for _, m := range []struct{ name, value string }{
		{"city", s.City}, {"region", s.Region}, {"country", s.Country}, {"timezone", s.Timezone},
	} {
		if m.value != "" {
			dst = rawjson.AppendName(dst, m.name)
			dst = rawjson.AppendString(dst, m.value)
		}
	}
	return append(dst, '}')
}
