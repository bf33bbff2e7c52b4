package responses

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

// SearchTool returns the tool for a wish of another format's client. OpenAI excludes domains by the filter
// blocked_domains (https://github.com/vercel/ai/pull/18035, 2026-07-28), xAI by excluded_domains, and xAI accepts only
// one of the lists (https://docs.x.ai/developers/tools/web-search, undated copy of 2026).
func SearchTool(s *llm.WebSearch, q *llm.Quirks) []byte {
	w := compose.Writer{Dst: []byte(`{"type":"web_search"`)}
	if allowed, blocked := lists(s, q); len(allowed)+len(blocked) > 0 {
		w.Dst = append(w.Dst, `,"filters":{`...)
		w.Domains("allowed_domains", allowed)
		w.Domains(q.SearchBlocks, blocked)
		w.Dst = append(w.Dst, '}')
	}
	if s.HasPlace() {
		w.Dst = compose.Place(append(w.Dst, `,"user_location":`...), s)
	}
	if s.Context != "" {
		w.Inner("search_context_size", s.Context)
	}
	return append(w.Dst, '}')
}

// lists returns the only domains to search and the domains to exclude, as far as the provider accepts them.
func lists(s *llm.WebSearch, q *llm.Quirks) (allowed, blocked []string) {
	if q.SearchOneList && len(s.Allowed) > 0 {
		return compose.Allowed(s), nil
	}
	if q.SearchBlocks == "" {
		return s.Allowed, nil
	}
	return s.Allowed, s.Blocked
}

// search writes the tool for a wish of another format's client.
func (e *requestEncoder) search(s *llm.WebSearch) {
	if e.Quirks.SearchBlocks == "" {
		e.NoDomains(s, s.Blocked, "blocked")
	}
	e.Dst = append(e.Dst, SearchTool(s, e.Quirks)...)
}

// searchesAtMost writes the most searches of the provider: the field bounds the calls of all its own tools, and there
// are no others.
func (e *requestEncoder) searchesAtMost(tools []llm.Tool) {
	for i := range tools {
		if s := tools[i].Search; s != nil && s.MaxUses > 0 && !e.Own {
			e.Integer("max_tool_calls", &s.MaxUses)
			return
		}
	}
}

// included returns the values of include for other formats' clients: thinking for later requests, and the pages that
// searches found (https://developers.openai.com/api/docs/guides/tools-web-search, undated copy of 2026), because they
// cost nothing.
func (e *requestEncoder) included(tools []llm.Tool) []string {
	isSearch := func(t llm.Tool) bool { return t.Search != nil }
	if e.Quirks.SearchSources && slices.ContainsFunc(tools, isSearch) {
		return []string{"reasoning.encrypted_content", "web_search_call.action.sources"}
	}
	return []string{"reasoning.encrypted_content"}
}
