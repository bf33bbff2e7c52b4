package openai

import (
	"slices"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The fields by which clients request a web search: OpenAI's options
// (https://platform.openai.com/docs/api-reference/chat/create), OpenRouter's plugin
// (https://openrouter.ai/docs/guides/features/plugins/web-search), Perplexity's list of the only domains to search or,
// with a hyphen, of domains to exclude (https://docs.perplexity.ai/guides/search-domain-filters; undated copies of
// 2026), and xAI's parameters, which xAI itself now answers with 410 (https://github.com/vercel/ai/pull/15713,
// 2026-05-29).
const (
	searchOptions    = "web_search_options"
	domainFilter     = "search_domain_filter"
	searchParameters = "search_parameters"
	searchPlugins    = "plugins"
)

// AsksSearch reports whether a field only controls web search: it requests one or switches it off.
func AsksSearch(name string, v []byte) bool {
	switch name {
	case searchOptions:
		return rawjson.KindOf(v) == rawjson.Object
	case domainFilter:
		return rawjson.HasElement(v)
	case searchPlugins:
		for _, p := range rawjson.Elements(v) {
			if isOn(p) && rawjson.Text(rawjson.Get(p, "id")) != "web" {
				return false
			}
		}
		return rawjson.HasElement(v)
	case searchParameters:
		sources := rawjson.Get(v, "sources")
		for _, s := range rawjson.Elements(sources) {
			if isWebSource(s) {
				return true
			}
		}
		return rawjson.KindOf(v) == rawjson.Object && (!rawjson.HasElement(sources) || isOff(v))
	}
	return false
}

func isOn(plugin []byte) bool {
	on, is := rawjson.AsBool(rawjson.Get(plugin, "enabled"))
	return on || !is
}

// isOff reports whether xAI's parameters switch the search off.
func isOff(parameters []byte) bool { return rawjson.Text(rawjson.Get(parameters, "mode")) == "off" }

// isWebSource reports whether a source of xAI's search is the web; others are posts and feeds.
func isWebSource(v []byte) bool {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	return kind == "web" || kind == "news"
}

// AddWish adds the web search that fields of a request ask for, if any, to the request's tools for other wire formats.
// A search tool takes precedence.
func AddWish(r *llm.Request) {
	s := wish(r.Extra)
	if s == nil {
		return
	}
	if r.Elsewhere == nil {
		r.Elsewhere = &llm.Elsewhere{Tools: r.Tools, ToolChoice: r.ToolChoice}
	}
	e := r.Elsewhere
	if !slices.ContainsFunc(e.Tools, func(t llm.Tool) bool { return t.Search != nil }) {
		e.Tools = append(slices.Clip(e.Tools), llm.Tool{Search: s})
	}
}

// wish reads the web search that fields of a request ask for; nil for none.
func wish(extra []llm.Field) *llm.WebSearch {
	s := &llm.WebSearch{}
	for _, f := range extra {
		if !AsksSearch(f.Name, f.Value) || !addWish(s, f.Name, f.Value) {
			continue
		}
		s.Fields = append(s.Fields, f.Name)
		if s.At == "" {
			s.At = f.Name
		}
	}
	if s.At == "" {
		return nil
	}
	return s
}

// addWish adds a field to a wish, and reports whether the field requests a search.
func addWish(s *llm.WebSearch, name string, v []byte) (is bool) {
	switch name {
	case searchOptions:
		readOptions(s, v)
		return true
	case domainFilter:
		for _, d := range parse.StringsIn(v) {
			if blocked, is := strings.CutPrefix(d, "-"); is {
				s.Blocked = append(s.Blocked, blocked)
			} else {
				s.Allowed = append(s.Allowed, d)
			}
		}
		return true
	case searchPlugins:
		for _, p := range rawjson.Elements(v) {
			if isOn(p) {
				readOptions(s, p)
				leaveOut(s, name, p, "id", "enabled", "include_domains", "exclude_domains", "max_uses", "user_location")
				is = true
			}
		}
		return is
	}
	if isOff(v) {
		return false
	}
	leaveOut(s, name, v, "mode", "sources", "return_citations")
	for _, source := range rawjson.Elements(rawjson.Get(v, "sources")) {
		if !isWebSource(source) {
			s.Lost = append(s.Lost, name+".sources")
			continue
		}
		readOptions(s, source)
		leaveOut(s, name+".sources", source, "type", "country", "allowed_websites", "excluded_websites")
	}
	return true
}

// leaveOut records members of an object that other vendors do not accept.
func leaveOut(s *llm.WebSearch, name string, v []byte, taken ...string) {
	for m := range rawjson.Members(v) {
		if rawjson.Present(m.Value) && !slices.Contains(taken, m.Name()) {
			s.Lost = append(s.Lost, name+"."+m.Name())
		}
	}
}

// readOptions adds the options of an object to a wish, by all vendors' names.
func readOptions(s *llm.WebSearch, v []byte) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "allowed_domains", "include_domains", "allowed_websites":
			s.Allowed = append(s.Allowed, parse.StringsIn(m.Value)...)
		case "blocked_domains", "excluded_domains", "exclude_domains", "excluded_websites":
			s.Blocked = append(s.Blocked, parse.StringsIn(m.Value)...)
		case "max_uses":
			if n, ok := rawjson.AsInt(m.Value); ok && n > 0 {
				s.MaxUses = n
			}
		case "search_context_size":
			s.Context = rawjson.Text(m.Value)
		case "country":
			s.Country = rawjson.Text(m.Value)
		case "user_location":
			place := m.Value
			if inner := rawjson.Get(place, "approximate"); rawjson.Present(inner) {
				place = inner
			}
			parse.ReadPlace(s, place)
		}
	}
}

// ToolWish reads the wish of a tool that is a web search: that of Responses
// (https://platform.openai.com/docs/guides/tools-web-search, undated copy of 2026), also xAI's, OpenRouter's or Groq's;
// otherwise it returns nil. The options are members of the tool, or of an object in it.
func ToolWish(v []byte, at string) *llm.WebSearch {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	if !strings.HasPrefix(kind, "web_search") && kind != "openrouter:web_search" && kind != "browser_search" {
		return nil
	}
	s := &llm.WebSearch{At: at}
	readOptions(s, v)
	readOptions(s, rawjson.Get(v, "filters"))
	readOptions(s, rawjson.Get(v, "parameters"))
	return s
}
