package cohere

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Prefixes of the ids that the gateway assigns to documents of requests. Cohere itself names documents without ids so
// (https://docs.cohere.com/docs/rag-citations.md, undated copy); a chunk's number follows.
const (
	documentID = "doc"
	resultID   = "result"
)

// cites reports whether a request can have documents next to its messages: not with tools or a response format ("not
// supported when used in combination with the documents or tools parameters", https://docs.cohere.com/reference/chat,
// undated copy; the page does not mention tools next to documents).
func cites(r *llm.Request) bool {
	return !r.HasTools() && r.Format.IsText()
}

// uncited returns the request with documents that cannot be cited as texts that Cohere reads.
func uncited(r *llm.Request) *llm.Request {
	can := cites(r)
	return compose.Uncited(r, func(p *llm.Part) bool { return can && isCited(p) })
}

// isCited reports whether a part is a document of text that the answer must cite.
func isCited(p *llm.Part) bool {
	if !p.IsCited() {
		return false
	}
	_, isText := p.Media.Text()
	return isText || p.Media.Document.Chunks != nil
}

// gather collects the documents of a request that the answer must cite, except those within a tool's result. Their ids
// count documents and results of searches as llm.DocumentsOf does, which finds the client's names by these numbers.
func (e *requestEncoder) gather(r *llm.Request) {
	documents, results := 0, 0
	llm.EachDocument(r.Messages, func(p *llm.Part, within bool) {
		id, number := documentID, &documents
		if p.Media.Document != nil && p.Media.Document.Source != "" {
			id, number = resultID, &results
		}
		if !within && isCited(p) {
			e.add(p, id+":"+strconv.Itoa(*number))
		}
		*number++
	})
}

// add adds a document, or each of its chunks as one.
func (e *requestEncoder) add(p *llm.Part, id string) {
	if e.ids == nil {
		e.ids = map[string]bool{}
	}
	d := p.Media.Document
	if d.Chunks == nil {
		text, _ := p.Media.Text()
		e.addText(p.Media, id, text, d.Context)
	}
	for i, chunk := range d.Chunks {
		context := ""
		if i == 0 {
			context = d.Context
		}
		e.addText(p.Media, id+":"+strconv.Itoa(i), chunk, context)
	}
}

// addText adds a document with the client's description. Cohere refuses empty ones
// (https://github.com/cohere-ai/cohere-typescript/issues/102, 2023-11-15).
func (e *requestEncoder) addText(m *llm.Media, id, text, context string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	e.ids[id] = true
	if len(e.documents) > 0 {
		e.documents = append(e.documents, ',')
	}
	dst := rawjson.AppendString(append(e.documents, `{"id":`...), id)
	dst = rawjson.AppendString(append(dst, `,"data":{"text":`...), text)
	for _, f := range []struct{ name, value string }{
		{"title", m.Name}, {"url", m.Document.Source}, {"context", context},
	} {
		if f.value != "" {
			dst = append(append(append(dst, `,"`...), f.name...), `":`...)
			dst = rawjson.AppendString(dst, f.value)
		}
	}
	e.documents = append(dst, "}}"...)
}

// besides returns the parts of a message other than the documents to cite. A message with only documents names them,
// because it must not be empty.
func (e *requestEncoder) besides(parts []llm.Part) []llm.Part {
	if e.ids == nil {
		return parts
	}
	var rest []llm.Part
	var names []string
	for i := range parts {
		p := &parts[i]
		if !isCited(p) {
			rest = append(rest, *p)
			continue
		}
		if p.CacheControl != nil {
			e.Drop("cache_control")
		}
		names = append(names, cmp.Or(p.Media.Name, p.Media.Document.Source, "untitled"))
	}
	if len(rest) == 0 && len(names) > 0 {
		rest = []llm.Part{{Kind: llm.PartText, Text: "Documents: " + strings.Join(names, ", ")}}
	}
	return rest
}

// carries reports whether all citations of a text are of documents of the request.
func (e *requestEncoder) carries(p *llm.Part) bool {
	claims := p.Claims()
	for i := range claims {
		if !e.ids[idOf(&claims[i].Source)] {
			return false
		}
	}
	return len(claims) > 0
}

// idOf returns the id of the document, or of the chunk of it, that a source names.
func idOf(s *llm.Source) string {
	switch s.Place.Kind {
	case llm.PlaceResult:
		return fmt.Sprintf("%s:%d:%d", resultID, s.Document-1, s.Place.From)
	case llm.PlaceChunks:
		return fmt.Sprintf("%s:%d:%d", documentID, s.Document-1, s.Place.From)
	}
	if s.Document > 0 {
		return fmt.Sprintf("%s:%d", documentID, s.Document-1)
	}
	return s.File
}

// identify reads the id of a source: the number of the document, and the place in the id.
func identify(s *llm.Source) {
	kind, numbers, _ := strings.Cut(s.File, ":")
	number, chunk, chunked := strings.Cut(numbers, ":")
	n, bad := strconv.Atoi(number)
	if kind != documentID && kind != resultID || bad != nil || n < 0 || n >= maxDocuments {
		return
	}
	at, bad := strconv.Atoi(chunk)
	switch {
	case chunked && (bad != nil || at < 0 || at >= maxDocuments):
		return
	case !chunked && kind == resultID:
		return
	case kind == resultID:
		s.Place = llm.Place{Kind: llm.PlaceResult, From: at, To: at + 1}
	case chunked:
		s.Place = llm.Place{Kind: llm.PlaceChunks, From: at, To: at + 1}
	case s.Quote != "": // the quote is the whole text
		s.Place = llm.Place{Kind: llm.PlaceCharacters, To: utf8.RuneCountInString(s.Quote)}
	}
	s.Document = n + 1
}

// AppendCitation writes another vendor's citation, of the content with that index. Text is the cited part; empty in a
// stream, which stores no text.
func AppendCitation(dst []byte, s *llm.Source, start, end int, index int64, text string) []byte {
	dst = rawjson.AppendCount(append(dst, '{'), `"start":`, int64(start))
	dst = rawjson.AppendCount(dst, `,"end":`, int64(end))
	if text != "" {
		dst = rawjson.AppendString(append(dst, `,"text":`...), text)
	}
	id := idOf(s)
	dst = rawjson.AppendString(append(dst, `,"sources":[{"type":"document","id":`...), id)
	dst = rawjson.AppendString(append(dst, `,"document":{"id":`...), id)
	for _, f := range []struct{ name, value string }{{"title", s.Title}, {"text", s.Quote}, {"url", s.URL}} {
		if f.value != "" {
			dst = append(append(append(dst, `,"`...), f.name...), `":`...)
			dst = rawjson.AppendString(dst, f.value)
		}
	}
	dst = rawjson.AppendCount(append(dst, "}}]"...), `,"content_index":`, index)
	return append(dst, `,"type":"TEXT_CONTENT"}`...)
}

// AppendClaims appends the citations of a text, the content with that index.
func AppendClaims(dst []byte, p *llm.Part, index int) []byte {
	claims := p.Claims()
	if len(claims) == 0 {
		return dst
	}
	var at position.Text
	at.Add(p.Text)
	for i := range claims {
		c := &claims[i]
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		start, end := at.ToCharacters(c.Start), at.ToCharacters(c.End)
		dst = AppendCitation(dst, &c.Source, start, end, int64(index), p.Text[c.Start:c.End])
	}
	return dst
}
