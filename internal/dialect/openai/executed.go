package openai

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxExecuted bounds the searches of an answer; further ones are ignored.
const maxExecuted = 1000

// executedSearch reads a search of Groq's list of the tools that its models ran; it returns nil for other entries
// (https://console.groq.com/docs/compound/built-in-tools, undated copy of 2026; the results are those of groq-sdk
// 1.6.0).
func executedSearch(v []byte) *llm.Search {
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	kind := get("type")
	if name := get("name"); kind == "browser_search" && name != "" {
		kind = name
	}
	if class, _ := ToolClass(kind); class != llm.Searches {
		return nil
	}
	s := &llm.Search{}
	if arguments := []byte(get("arguments")); rawjson.Validate(arguments, maxDepth) == nil {
		if query := rawjson.Text(rawjson.Get(arguments, "query")); query != "" {
			s.Queries = []string{query}
		}
	}
	size := 0
	for _, r := range rawjson.Elements(rawjson.Get(v, "search_results", "results")) {
		in := func(name string) string { return rawjson.Text(rawjson.Get(r, name)) }
		source := llm.Source{URL: in("url"), Title: in("title"), Quote: in("content")}
		if size += source.Size(); len(s.Results) == maxListed || size > maxListedBytes {
			break
		}
		if source.URL != "" {
			s.Results = append(s.Results, source)
		}
	}
	return s
}

// executedIn puts the searches of a whole message before its text.
func executedIn(m *llm.Message, list []byte) {
	var found []llm.Part
	for _, v := range rawjson.Elements(list) {
		if s := executedSearch(v); s != nil && len(found) < maxExecuted {
			found = append(found, llm.Searched(s, nil))
		}
	}
	if found == nil {
		return
	}
	i := slices.IndexFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.PartText })
	if i < 0 {
		i = len(m.Parts)
	}
	m.Parts = slices.Insert(m.Parts, i, found...)
}

// executed holds the searches of a choice of a stream by index; nil after they were reported. A stream reports a search
// in several pieces: at its start, and with the pages found.
type executed struct {
	searches map[int]*llm.Search
	order    []int
}

// executedSearches appends the finished searches of a piece, and stores those that have begun.
func (d *Decoder) executedSearches(dst []llm.Event, choice int, list []byte) []llm.Event {
	for i, v := range rawjson.Elements(list) {
		s := executedSearch(v)
		if s == nil || d.sources.kept+s.Size() > maxSourceBytes {
			continue
		}
		if d.sources.of(choice).add(indexOf(v, i), s) {
			dst = append(dst, llm.Event{Kind: llm.EventSearch, Choice: choice, Search: s})
			continue
		}
		d.sources.kept += s.Size()
	}
	return dst
}

// of returns the searches of a choice.
func (s *sources) of(choice int) *executed {
	if s.executed == nil {
		s.executed = map[int]*executed{}
	}
	e := s.executed[choice]
	if e == nil {
		e = &executed{searches: map[int]*llm.Search{}}
		s.executed[choice] = e
	}
	return e
}

// add stores a search and reports whether it has results and must be reported now.
func (e *executed) add(index int, s *llm.Search) bool {
	before, had := e.searches[index]
	switch {
	case had && before == nil, !had && len(e.order) == maxExecuted:
		return false
	case !had:
		e.order = append(e.order, index)
	case s.Queries == nil:
		s.Queries = before.Queries
	}
	if e.searches[index] = s; s.Results == nil {
		return false
	}
	e.searches[index] = nil
	return true
}

// endSearches appends an event for each search of a choice that has no results, and forgets the choice.
func (d *Decoder) endSearches(dst []llm.Event, choice int) []llm.Event {
	e := d.sources.executed[choice]
	if e == nil {
		return dst
	}
	for _, index := range e.order {
		if s := e.searches[index]; s != nil {
			dst = append(dst, llm.Event{Kind: llm.EventSearch, Choice: choice, Search: s})
		}
	}
	delete(d.sources.executed, choice)
	return dst
}
