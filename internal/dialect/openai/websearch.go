package openai

import (
	"slices"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const searchOptions = "web_search_options"

// readSearch is the wish of a request's options for a search of the web
// (https://platform.openai.com/docs/api-reference/chat/create, undated copy of 2026; the domains are Perplexity's,
// https://docs.perplexity.ai/guides/search-domain-filters, undated copy).
func readSearch(options []byte) *llm.WebSearch {
	s := &llm.WebSearch{At: searchOptions, Fields: []string{searchOptions}, Context: rawjson.Text(rawjson.Get(options, "search_context_size"))}
	place := rawjson.Get(options, "user_location")
	if inner := rawjson.Get(place, "approximate"); rawjson.Present(inner) {
		place = inner
	}
	parse.ReadPlace(s, place)
	return s
}

// searching are pieces of the names of models that search the web for each answer.
var searching = []string{"search-preview", "search-api", "sonar"}

// searches reports whether a model searches the web, which in this format is for the model to do alone.
func searches(model string) bool {
	return slices.ContainsFunc(searching, func(piece string) bool { return strings.Contains(strings.ToLower(model), piece) })
}

// searched is the request without the tool that is a search, which has options of its own.
func (e *requestEncoder) searched(r *llm.Request) *llm.Request {
	isSearch := func(t llm.Tool) bool { return t.Search != nil }
	i := slices.IndexFunc(r.Tools, isSearch)
	if i < 0 {
		return r
	}
	e.search(r, r.Tools[i].Search)
	without := *r
	without.Tools = slices.DeleteFunc(slices.Clone(r.Tools), isSearch)
	return &without
}

// search writes the options for a wish of another format's client.
func (e *requestEncoder) search(r *llm.Request, s *llm.WebSearch) {
	if !searches(r.Model) {
		e.RefuseSearch(s)
		return
	}
	e.NoDomains(s, s.Allowed, "allowed")
	e.NoDomains(s, s.Blocked, "blocked")
	if s.MaxUses > 0 {
		e.Drop("max_uses")
	}
	if !e.Key(searchOptions) {
		return
	}
	e.Dst = append(e.Dst, '{')
	if s.Context != "" {
		e.Inner("search_context_size", s.Context)
	}
	if s.HasPlace() {
		e.Name("user_location")
		e.Dst = append(e.Dst, `{"type":"approximate","approximate":`...)
		e.Dst = append(compose.Place(e.Dst, s), '}')
	}
	e.Dst = append(e.Dst, '}')
}
