package gemini

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// readSearch reads the wish of a member of a tool that is a web search; nil for others
// (https://ai.google.dev/gemini-api/docs/google-search, 2026-09-23; googleSearchRetrieval is that of Gemini 1.5).
func readSearch(name string, v []byte, at string) *llm.WebSearch {
	switch name {
	case "googleSearch":
		s := &llm.WebSearch{At: at + "." + name}
		for _, d := range list(get(v, "excludeDomains")) { // Vertex AI's
			s.Blocked = append(s.Blocked, rawjson.Text(d))
		}
		return s
	case "googleSearchRetrieval":
		return &llm.WebSearch{At: at + "." + name}
	}
	return nil
}

// SearchTool returns the tool for a wish of another format's client.
func SearchTool(*llm.WebSearch, *llm.Quirks) []byte { return []byte(`{"googleSearch":{}}`) }

// search writes the tool for a wish of another format's client. The search has no options.
func (e *requestEncoder) search(s *llm.WebSearch) {
	e.NoOptions(s)
	e.Element()
	e.Dst = append(e.Dst, SearchTool(s, e.Quirks)...)
}
