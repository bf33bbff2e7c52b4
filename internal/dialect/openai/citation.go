package openai

import (
	"cmp"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The types of annotations that name a source. Those of Responses are flat, those of Chat Completions have an object
// under the name of the type (https://platform.openai.com/docs/api-reference/responses/object, undated copy).
const (
	urlCitation  = "url_citation"
	fileCitation = "file_citation"
)

// ReadCitation reads an annotation of a text of which the part up to now is known. Its places count characters from
// position from; an annotation without a place applies to all of the text so far. It reports false if the annotation
// names no source.
func ReadCitation(v []byte, text *position.Text, from int) (c llm.Claim, ok bool) {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	if inner := rawjson.Get(v, kind); rawjson.KindOf(inner) == rawjson.Object {
		v = inner
	}
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	switch kind {
	case urlCitation:
		c.Source = llm.Source{URL: get("url"), Title: get("title"), Quote: get("content")} // content is OpenRouter's
		ok = c.Source.URL != "" || c.Source.Title != ""
	case fileCitation, "container_file_citation":
		c.Source = llm.Source{File: get("file_id"), Title: get("filename")}
		ok = c.Source.File != "" || c.Source.Title != ""
	}
	c.Start, c.End = placeOf(v, text, int64(from))
	return c, ok
}

// placeOf returns the place of an annotation in the text, in bytes. OpenAI's annotations mark the words of the answer
// that name the source.
func placeOf(v []byte, text *position.Text, before int64) (start, end int) {
	from, is := rawjson.AsInt(rawjson.Get(v, "start_index"))
	to, ends := rawjson.AsInt(rawjson.Get(v, "end_index"))
	if point, isPoint := rawjson.AsInt(rawjson.Get(v, "index")); isPoint && !is && !ends {
		from, to, is, ends = point, point, true, true
	} else if to == 0 { // OpenRouter's form of no place
		is = false
	}
	if !is || !ends || from < 0 || to < from {
		return text.Bytes(), text.Bytes()
	}
	most := int64(text.Characters())
	return text.ToBytes(int(min(before+from, most))), text.ToBytes(int(min(before+to, most)))
}

// cite reads the annotations of a message and adds them to the parts that they apply to.
func cite(m *llm.Message, annotations []byte) {
	var text position.Text
	for i := range m.Parts {
		if m.Parts[i].Kind == llm.PartText {
			text.Add(m.Parts[i].Text)
		}
	}
	var claims []llm.Claim
	for _, v := range rawjson.Elements(annotations) {
		if c, ok := ReadCitation(v, &text, 0); ok && len(claims) < parse.MaxSources {
			claims = append(claims, c)
		}
	}
	m.Cite(claims...)
}

// AppendCitation writes a citation as an annotation with its place in characters: flat as in Responses, or as in Chat
// Completions, which has annotations for URLs only.
func AppendCitation(dst []byte, s *llm.Source, start, end int, flat bool) []byte {
	if flat && s.URL == "" {
		dst = rawjson.AppendString(append(dst, `{"type":"file_citation","file_id":`...), cmp.Or(s.File, s.Title))
		dst = rawjson.AppendString(append(dst, `,"filename":`...), s.Name())
		return append(rawjson.AppendCount(dst, `,"index":`, int64(end)), '}')
	}
	dst = append(dst, `{"type":"url_citation",`...)
	if !flat {
		dst = append(dst, `"url_citation":{`...)
	}
	dst = rawjson.AppendCount(dst, `"start_index":`, int64(start))
	dst = rawjson.AppendCount(dst, `,"end_index":`, int64(end))
	dst = rawjson.AppendString(append(dst, `,"url":`...), s.URL)
	dst = rawjson.AppendString(append(dst, `,"title":`...), s.Name())
	if !flat {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendAnnotations writes the citations of the texts of a message. The places count from the start of the content.
func appendAnnotations(dst []byte, cited []citedText) []byte {
	dst = append(dst, `,"annotations":[`...)
	empty := len(dst)
	for i := range cited {
		t := &cited[i]
		var at position.Text
		at.Add(t.part.Text)
		claims := t.part.Claims()
		for j := range claims {
			c := &claims[j]
			if len(dst) > empty {
				dst = append(dst, ',')
			}
			dst = AppendCitation(dst, &c.Source, t.before+at.ToCharacters(c.Start), t.before+at.ToCharacters(c.End),
				false)
		}
	}
	return append(dst, ']')
}

// citedText holds a text with citations, and the number of characters of the content before it.
type citedText struct {
	part   *llm.Part
	before int
}
