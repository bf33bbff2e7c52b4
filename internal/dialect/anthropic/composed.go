package anthropic

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// composed reads a block with content of its own at that path: a document of texts and images, or a result of the
// client's own search. Other formats get its title and URL and then the content, or a document if the answer must cite
// it. https://platform.claude.com/docs/en/build-with-claude/search-results,
// https://platform.claude.com/docs/en/build-with-claude/citations.
func composed(v []byte, path ...string) llm.Part {
	p := other(v)
	content := rawjson.Get(v, path...)
	parts, is := contentOf(content)
	if !is {
		return p // other wire formats cannot express it
	}
	if isOn(rawjson.Get(v, "citations")) {
		parts = toBeCited(v, parts)
	} else if head := headOf(v); head != "" {
		parts = slices.Insert(parts, 0, llm.Part{Kind: llm.PartText, Text: head})
	}
	if mark := rawjson.Get(v, "cache_control"); rawjson.Present(mark) && len(parts) > 0 {
		parts[len(parts)-1].CacheControl = mark
	}
	p.Elsewhere = &llm.PartElsewhere{Parts: parts}
	return p
}

// contentOf reads the content of such a block; it reports false if other formats have no counterpart.
func contentOf(content []byte) ([]llm.Part, bool) {
	if text, is := rawjson.AsString(content); is {
		return []llm.Part{{Kind: llm.PartText, Text: text}}, true
	}
	parts := []llm.Part{}
	for _, e := range rawjson.Elements(content) {
		inner := composedOf(e)
		if inner.Kind == 0 {
			return nil, false
		}
		parts = append(parts, inner)
	}
	return parts, rawjson.Present(content)
}

// imageChunk replaces an image among the texts of a document, so that citations count it; the image follows the
// document.
const imageChunk = "[An image, which follows this document.]"

// toBeCited returns the block as a document, followed by its images.
func toBeCited(v []byte, content []llm.Part) []llm.Part {
	d := &llm.Document{Cited: true, Chunks: []string{}, Context: rawjson.Text(rawjson.Get(v, "context"))}
	if source, is := rawjson.AsString(rawjson.Get(v, "source")); is {
		d.Source = source
	}
	var images []llm.Part
	for i := range content {
		if p := &content[i]; p.Kind == llm.PartText {
			d.Chunks = append(d.Chunks, p.Text)
		} else {
			d.Chunks = append(d.Chunks, imageChunk)
			images = append(images, *p)
		}
	}
	document := llm.Part{Kind: llm.PartDocument, Media: &llm.Media{
		MIME: "text/plain", Name: rawjson.Text(rawjson.Get(v, "title")), Document: d,
	}}
	return append([]llm.Part{document}, images...)
}

func isOn(citations []byte) bool {
	on, _ := rawjson.AsBool(rawjson.Get(citations, "enabled"))
	return on
}

// headOf returns the title, source and context of a block.
func headOf(v []byte) string {
	var lines []string
	for _, name := range []string{"title", "source", "context"} {
		if s, is := rawjson.AsString(rawjson.Get(v, name)); is && s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// composedOf reads a text or an image within such a block; it returns the zero part for anything else.
func composedOf(v []byte) llm.Part {
	switch rawjson.Text(rawjson.Get(v, "type")) {
	case "text":
		return llm.Part{Kind: llm.PartText, Text: rawjson.Text(rawjson.Get(v, "text"))}
	case "image":
		if m := decodeSource(rawjson.Get(v, "source")); m != nil {
			return llm.Part{Kind: llm.PartImage, Media: m}
		}
	}
	return llm.Part{}
}

// described returns a document with its client's description, for other wire formats.
func described(p llm.Part) llm.Part {
	if p.Kind != llm.PartDocument {
		return p
	}
	of := llm.Document{}
	rest := slices.DeleteFunc(slices.Clone(p.Extra), func(f llm.Field) bool {
		switch f.Name {
		case "context":
			of.Context = rawjson.Text(f.Value)
		case "citations":
			of.Cited = isOn(f.Value)
		default:
			return false
		}
		return true
	})
	if len(rest) == len(p.Extra) {
		return p
	}
	document, media := p, *p.Media
	document.Extra = rest
	media.Document = &of
	document.Media = &media
	p.Elsewhere = &llm.PartElsewhere{Parts: []llm.Part{document}}
	return p
}
