package anthropic

import (
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// searchKind is the version of the tool that all models with web search support
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool, undated copy of 2026).
const searchKind = "web_search_20250305"

// readSearch reads the wish of a tool that is a web search; nil for other tools.
func readSearch(v []byte, at string) *llm.WebSearch {
	if !strings.HasPrefix(rawjson.Text(rawjson.Get(v, "type")), webSearch) {
		return nil
	}
	s := &llm.WebSearch{
		At:      at,
		Allowed: parse.StringsIn(rawjson.Get(v, "allowed_domains")),
		Blocked: parse.StringsIn(rawjson.Get(v, "blocked_domains")),
	}
	if n, ok := rawjson.AsInt(rawjson.Get(v, "max_uses")); ok && n > 0 {
		s.MaxUses = n
	}
	parse.ReadPlace(s, rawjson.Get(v, "user_location"))
	return s
}

// SearchTool returns the tool for a wish of another format's client. The vendor accepts either a list of the only
// domains to search, or a list of domains to exclude.
func SearchTool(s *llm.WebSearch, _ *llm.Quirks) []byte {
	dst := append([]byte(`{"type":"`+searchKind+`","name":"`+webSearch), '"')
	if s.MaxUses > 0 {
		dst = strconv.AppendInt(append(dst, `,"max_uses":`...), s.MaxUses, 10)
	}
	switch {
	case len(s.Allowed) > 0:
		dst = rawjson.AppendStrings(append(dst, `,"allowed_domains":`...), compose.Allowed(s))
	case len(s.Blocked) > 0:
		dst = rawjson.AppendStrings(append(dst, `,"blocked_domains":`...), s.Blocked)
	}
	if s.HasPlace() {
		dst = compose.Place(append(dst, `,"user_location":`...), s)
	}
	return append(dst, '}')
}

// search writes the tool for a wish of another format's client.
func (e *requestEncoder) search(s *llm.WebSearch) {
	e.DropIf(s.Context != "", "search_context_size")
	e.Dst = append(e.Dst, SearchTool(s, e.Quirks)...)
}
