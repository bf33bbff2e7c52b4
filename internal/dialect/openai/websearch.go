package openai

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// searching are parts of the names of models that search the web for each answer.
var searching = []string{"search-preview", "search-api", "sonar"}

// searches reports whether a model searches the web; in this format only such models do.
func searches(model string) bool {
	return slices.ContainsFunc(searching,
		func(piece string) bool { return strings.Contains(strings.ToLower(model), piece) })
}

// compound is a part of the names of Groq's systems, which decide themselves to search, like those in searching.
const compound = "groq/compound"

// SearchTool writes a provider's search tool for the wish of another format's client; it returns nil if the provider
// has none. OpenRouter's accepts options (https://openrouter.ai/docs/guides/features/server-tools/web-search, undated
// copy of 2026), Groq's none (https://console.groq.com/docs/browser-search, undated copy of 2026).
func SearchTool(s *llm.WebSearch, q *llm.Quirks) []byte {
	if q.SearchTool == "" {
		return nil
	}
	w := compose.Writer{Dst: rawjson.AppendString([]byte(`{"type":`), q.SearchTool)}
	if !takesOptions(q) {
		return append(w.Dst, '}')
	}
	w.Dst = append(w.Dst, `,"parameters":{`...)
	if s.MaxUses > 0 {
		w.Name("max_uses")
		w.Dst = strconv.AppendInt(w.Dst, s.MaxUses, 10)
	}
	w.Domains("allowed_domains", s.Allowed)
	w.Domains("excluded_domains", s.Blocked)
	if s.Context != "" {
		w.Inner("search_context_size", s.Context)
	}
	if s.HasPlace() {
		w.Name("user_location")
		w.Dst = compose.Place(w.Dst, s)
	}
	return append(w.Dst, "}}"...)
}

// takesOptions reports whether a provider's tool accepts the options of a wish: those of routers do, and their types
// begin with the router's name.
func takesOptions(q *llm.Quirks) bool { return strings.Contains(q.SearchTool, ":") }

// hasSearchTool reports whether a model supports the provider's search tool.
func hasSearchTool(model string, q *llm.Quirks) bool {
	isOf := func(piece string) bool { return strings.Contains(model, piece) }
	return q.SearchTool != "" && (q.SearchModels == nil || slices.ContainsFunc(q.SearchModels, isOf))
}

// searched returns the request without its search tool if the provider has no tool for it.
func (e *requestEncoder) searched(r *llm.Request) *llm.Request {
	isSearch := func(t llm.Tool) bool { return t.Search != nil }
	i := slices.IndexFunc(r.Tools, isSearch)
	if i < 0 {
		return r
	}
	s := r.Tools[i].Search
	switch {
	case strings.Contains(r.Model, compound):
		e.searchSettings(s)
	case searches(r.Model):
		e.searchOptions(s)
	case !hasSearchTool(r.Model, e.Quirks):
		e.RefuseSearch(s)
	default:
		if !takesOptions(e.Quirks) {
			e.NoOptions(s)
		}
		return r
	}
	without := *r
	without.Tools = slices.DeleteFunc(slices.Clone(r.Tools), isSearch)
	return &without
}

// searchSettings writes Groq's settings for a wish of another format's client (search_settings of groq-sdk 1.6.0, and
// https://console.groq.com/docs/compound/built-in-tools, undated copy of 2026).
func (e *requestEncoder) searchSettings(s *llm.WebSearch) {
	domains := *s
	domains.Allowed, domains.Blocked = nil, nil
	e.NoOptions(&domains)
	if len(s.Allowed)+len(s.Blocked) > 0 && e.Key("search_settings") {
		e.Dst = append(e.Dst, '{')
		e.Domains("include_domains", s.Allowed)
		e.Domains("exclude_domains", s.Blocked)
		e.Dst = append(e.Dst, '}')
	}
}

// searchOptions writes the search options for a wish of another format's client.
func (e *requestEncoder) searchOptions(s *llm.WebSearch) {
	switch {
	case !slices.Contains(e.Quirks.Takes, domainFilter):
		e.NoDomains(s, s.Allowed, "allowed")
		e.NoDomains(s, s.Blocked, "blocked")
	case len(s.Allowed) > 0 && e.Key(domainFilter): // it accepts one of both
		e.Dst = rawjson.AppendStrings(e.Dst, compose.Allowed(s))
	case len(s.Blocked) > 0 && e.Key(domainFilter):
		var blocked []string
		for _, d := range s.Blocked {
			blocked = append(blocked, "-"+d)
		}
		e.Dst = rawjson.AppendStrings(e.Dst, blocked)
	}
	e.DropIf(s.MaxUses > 0, "max_uses")
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
