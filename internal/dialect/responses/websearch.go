package responses

import (
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// readSearch is the wish of a tool, if it is the search of the web; else nil
// (https://platform.openai.com/docs/guides/tools-web-search, undated copy of 2026).
func readSearch(v []byte, at string) *llm.WebSearch {
	if !strings.HasPrefix(rawjson.Text(rawjson.Get(v, "type")), "web_search") {
		return nil
	}
	filters := rawjson.Get(v, "filters")
	s := &llm.WebSearch{
		At: at, Context: rawjson.Text(rawjson.Get(v, "search_context_size")),
		Allowed: parse.Domains(rawjson.Get(filters, "allowed_domains")),
		Blocked: append(parse.Domains(rawjson.Get(filters, "blocked_domains")), parse.Domains(rawjson.Get(filters, "excluded_domains"))...),
	}
	parse.ReadPlace(s, rawjson.Get(v, "user_location"))
	return s
}

// SearchTool is the tool for a wish of another format's client.
func SearchTool(s *llm.WebSearch) []byte {
	dst := []byte(`{"type":"web_search"`)
	if len(s.Allowed) > 0 {
		dst = append(rawjson.AppendStrings(append(dst, `,"filters":{"allowed_domains":`...), s.Allowed), '}')
	}
	if s.HasPlace() {
		dst = compose.Place(append(dst, `,"user_location":`...), s)
	}
	if s.Context != "" {
		dst = rawjson.AppendString(append(dst, `,"search_context_size":`...), s.Context)
	}
	return append(dst, '}')
}

// search writes the tool for a wish of another format's client.
func (e *requestEncoder) search(s *llm.WebSearch) {
	e.NoDomains(s, s.Blocked, "blocked")
	e.Dst = append(e.Dst, SearchTool(s)...)
}

// searchesAtMost writes how often the provider may search: the field bounds the calls of all its own tools, of which there
// is no other.
func (e *requestEncoder) searchesAtMost(tools []llm.Tool) {
	for i := range tools {
		if s := tools[i].Search; s != nil && s.MaxUses > 0 && !e.Own {
			e.Integer("max_tool_calls", &s.MaxUses)
			return
		}
	}
}
