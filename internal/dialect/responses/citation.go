package responses

import (
	"cmp"

	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Types of items of searches.
const (
	itemSearch     = "web_search_call"
	itemFileSearch = "file_search_call"
)

// claims returns the annotations of a part of the output.
func claims(text string, annotations []byte) (all []llm.Claim) {
	if !rawjson.HasElement(annotations) {
		return nil
	}
	var at position.Text
	at.Add(text)
	for _, v := range rawjson.Elements(annotations) {
		if c, ok := openai.ReadCitation(v, &at, 0); ok && len(all) < parse.MaxSources {
			all = append(all, c)
		}
	}
	return all
}

// search returns the search that an item reports; nil for none
// (https://platform.openai.com/docs/api-reference/responses/object, undated copy).
func search(item []byte) *llm.Search {
	get := func(name string) string { return rawjson.Text(rawjson.Get(item, name)) }
	s := &llm.Search{ID: get("id")}
	switch get("type") {
	case itemSearch:
		action := rawjson.Get(item, "action")
		s.Queries = parse.Queries(rawjson.Get(action, "queries"))
		if q := cmp.Or(rawjson.Text(rawjson.Get(action, "query")), argument(item)); q != "" && s.Queries == nil {
			s.Queries = []string{q}
		}
		s.Results = parse.Sources(rawjson.Get(action, "sources"), parse.MaxSources, func(v []byte) llm.Source {
			return llm.Source{URL: rawjson.Text(rawjson.Get(v, "url")), Title: rawjson.Text(rawjson.Get(v, "title"))}
		})
	case itemFileSearch:
		s.Queries = parse.Queries(rawjson.Get(item, "queries"))
		s.Results = parse.Sources(rawjson.Get(item, "results"), parse.MaxSources, func(v []byte) llm.Source {
			in := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
			return llm.Source{File: in("file_id"), Title: in("filename"), Quote: in("text")}
		})
	default:
		return nil
	}
	if get("status") == statusFailed {
		s.Failed = statusFailed
	}
	return s
}

// argument reads the query of a search in the arguments of a call, which is xAI's form (https://github.com/vercel/ai,
// packages/xai/src/responses/__fixtures__, recorded in November 2025).
func argument(item []byte) string {
	arguments := []byte(rawjson.Text(rawjson.Get(item, "arguments")))
	if rawjson.Validate(arguments, maxDepth) != nil {
		return ""
	}
	return rawjson.Text(rawjson.Get(arguments, "query"))
}

// annotation appends a citation of a stream. Its place counts from the beginning of its part.
func (d *Decoder) annotation(dst []llm.Event, p place, v []byte) []llm.Event {
	open := d.piece(p)
	if open == nil {
		return dst
	}
	open.cited++
	if c, ok := openai.ReadCitation(v, &d.text, open.begin); ok {
		dst = append(dst, llm.Event{Kind: llm.EventClaim, Claim: &c})
	}
	return dst
}

// annotations appends the annotations of a part that no earlier event reported.
func (d *Decoder) annotations(dst []llm.Event, p place, part []byte) []llm.Event {
	open := d.piece(p)
	for i, v := range rawjson.Elements(rawjson.Get(part, "annotations")) {
		if open != nil && i >= open.cited && i < parse.MaxSources {
			dst = d.annotation(dst, p, v)
		}
	}
	return dst
}

// appendAnnotations writes the claims of a text as annotations.
func appendAnnotations(dst []byte, text string, claims []llm.Claim) []byte {
	var at position.Text
	at.Add(text)
	for i := range claims {
		dst = rawjson.AppendComma(dst)
		c := &claims[i]
		dst = openai.AppendCitation(dst, &c.Source, at.ToCharacters(c.Start), at.ToCharacters(c.End), true)
	}
	return dst
}

// appendSearch writes another vendor's search.
func appendSearch(dst []byte, s *llm.Search, id, status string) []byte {
	if s.Failed != "" {
		status = statusFailed
	}
	dst = rawjson.AppendString(append(dst, `{"type":"web_search_call","id":`...), id)
	dst = append(append(append(dst, `,"status":"`...), status...), `","action":{"type":"search","query":`...)
	query := ""
	if len(s.Queries) > 0 {
		query = s.Queries[0]
	}
	dst = append(rawjson.AppendString(dst, query), `,"queries":`...)
	dst = append(rawjson.AppendStrings(dst, s.Queries), `,"sources":[`...)
	empty := len(dst)
	for i := range s.Results {
		if s.Results[i].URL == "" {
			continue // a file
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(append(dst, `{"type":"url","url":`...), s.Results[i].URL), '}')
	}
	return append(dst, "]}}"...)
}

// claim writes a citation of the open text.
func (e *Encoder) claim(dst []byte, c *llm.Claim) []byte {
	e.kept += c.Source.Size()
	dst = e.openPart(e.begin(dst), llm.EventText)
	it := e.open
	start, end := e.text.ToCharacters(c.Start)-it.begin, e.text.ToCharacters(c.End)-it.begin
	note := openai.AppendCitation(nil, &c.Source, max(start, 0), max(end, 0), true)
	dst = it.place(e.event(dst, "response.output_text.annotation.added"), `,"content_index":`)
	dst = rawjson.AppendCount(dst, `,"annotation_index":`, int64(it.noted))
	if it.noted > 0 {
		it.notes = append(it.notes, ',')
	}
	it.noted++
	it.notes = append(it.notes, note...)
	return closeEvent(append(append(dst, `,"annotation":`...), note...))
}

// search writes all events of a search's item.
func (e *Encoder) search(dst []byte, s *llm.Search) []byte {
	e.kept += s.Size()
	it := &item{kind: llm.EventSearch}
	id := itemID(prefixes[it.kind], e.object.id, len(e.items))
	it.whole = appendSearch(nil, s, id, statusInProgress)
	dst = e.add(e.close(e.begin(dst), statusCompleted), it)
	for _, kind := range []string{"in_progress", "searching", "completed"} {
		dst = closeEvent(it.place(e.event(dst, "response.web_search_call."+kind), ""))
	}
	it.whole = appendSearch(nil, s, id, statusCompleted)
	return e.done(dst, it)
}
