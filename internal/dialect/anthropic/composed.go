package anthropic

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// composed is a block with content of its own at that path: a document of texts and images, or what a search of the client's
// found. Elsewhere it is its title and its address, and then the content.
// https://platform.claude.com/docs/en/build-with-claude/search-results,
// https://platform.claude.com/docs/en/build-with-claude/citations.
func composed(v []byte, path ...string) llm.Part {
	p := other(v)
	content := rawjson.Get(v, path...)
	parts := []llm.Part{}
	if head := headOf(v); head != "" {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: head})
	}
	if text, is := rawjson.AsString(content); is {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: text})
	}
	for _, e := range rawjson.Elements(content) {
		inner := composedOf(e)
		if inner.Kind == 0 {
			return p // other wire formats have no word for it
		}
		parts = append(parts, inner)
	}
	if !rawjson.Present(content) {
		return p
	}
	if mark := rawjson.Get(v, "cache_control"); rawjson.Present(mark) && len(parts) > 0 {
		parts[len(parts)-1].CacheControl = mark
	}
	p.Elsewhere = &llm.PartElsewhere{Parts: parts}
	return p
}

// headOf is what a block says of its content.
func headOf(v []byte) string {
	var lines []string
	for _, name := range []string{"title", "source", "context"} {
		if s, is := rawjson.AsString(rawjson.Get(v, name)); is && s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// composedOf is a text or an image within such a block; the zero part for anything else.
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

// withContext is a document that elsewhere has what its context says as a text before it.
func withContext(p llm.Part) llm.Part {
	at := slices.IndexFunc(p.Extra, func(f llm.Field) bool { return f.Name == "context" })
	if p.Kind != llm.PartDocument || at < 0 {
		return p
	}
	document := p
	document.Extra = slices.Delete(slices.Clone(p.Extra), at, at+1)
	parts := []llm.Part{document}
	if text := rawjson.Text(p.Extra[at].Value); text != "" {
		parts = []llm.Part{{Kind: llm.PartText, Text: text}, document}
	}
	p.Elsewhere = &llm.PartElsewhere{Parts: parts}
	return p
}
