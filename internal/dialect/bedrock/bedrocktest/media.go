package bedrocktest

import (
	"encoding/base64"
	"strings"

	"weir/internal/dialect/bedrock"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// documentBlock holds the members of a document.
type documentBlock struct {
	format, name string
	data         string // base64
	uri          string
	plain        bool // the source is text
	exact        bool // it has no other members
	document     llm.Document
	described    bool // document has a description, and all other members are modelled
}

func readDocument(v []byte) documentBlock {
	b := documentBlock{exact: true}
	more := false
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "format":
			b.format = rawjson.Text(m.Value)
		case "name":
			b.name = rawjson.Text(m.Value)
		case "source":
			b.source(m.Value)
		case "context":
			b.document.Context = rawjson.Text(m.Value)
		case "citations":
			b.document.Cited, _ = rawjson.AsBool(rawjson.Get(m.Value, "enabled"))
		default:
			more = more || rawjson.Present(m.Value)
		}
	}
	b.described = !more && (b.document.Cited || b.document.Context != "" || b.document.Chunks != nil)
	b.exact = b.exact && !more && !b.described
	return b
}

func (b *documentBlock) source(v []byte) {
	name, inner, ok := bedrock.OnlyMember(v)
	switch {
	case !ok:
		b.exact = false
	case name == "bytes":
		b.data = rawjson.Text(inner)
	case name == "s3Location":
		b.uri = rawjson.Text(rawjson.Get(inner, "uri"))
		b.exact = b.exact && !rawjson.Present(rawjson.Get(inner, "bucketOwner"))
	case name == "text":
		b.text(rawjson.Text(inner))
	case name == "content":
		b.document.Chunks = chunks(inner)
		b.text("")
	default:
		b.exact = false
	}
}

func (b *documentBlock) text(s string) {
	b.data = base64.StdEncoding.EncodeToString([]byte(s))
	b.plain, b.exact = true, false
}

// decodeDocument reads a document; it returns no part for one without content. If the tree does not model all of it,
// the original stays next to it, for a provider of this format.
func decodeDocument(v []byte) (p llm.Part) {
	b := readDocument(v)
	if b.data == "" && b.uri == "" && b.document.Chunks == nil {
		return p
	}
	p.Kind = llm.PartDocument
	p.Media = &llm.Media{Data: b.data, FileID: b.uri, Name: b.name, MIME: bedrock.DocumentType(b.format)}
	if b.plain && p.Media.MIME == "" {
		p.Media.MIME = "text/plain"
	}
	if !b.exact || p.Media.MIME == "" || b.uri != "" && !strings.HasPrefix(b.uri, "s3://") {
		p.Extra = []llm.Field{{Name: "document", Value: v}}
	}
	if b.described {
		document, media := p, *p.Media
		media.Document = &b.document
		document.Media, document.Extra = &media, nil
		p.Elsewhere = &llm.PartElsewhere{Parts: []llm.Part{document}}
	}
	return p
}

// chunks returns the texts of a list of blocks.
func chunks(list []byte) []string {
	texts := []string{}
	for _, e := range rawjson.Elements(list) {
		texts = append(texts, rawjson.Text(rawjson.Get(e, "text")))
	}
	return texts
}

// decodeResult reads a result of the client's own search
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_SearchResultBlock.html, undated copy).
func decodeResult(block, v []byte) llm.Part {
	d := llm.Document{Source: rawjson.Text(rawjson.Get(v, "source")), Chunks: chunks(rawjson.Get(v, "content"))}
	d.Cited, _ = rawjson.AsBool(rawjson.Get(rawjson.Get(v, "citations"), "enabled"))
	return llm.Part{Kind: llm.PartOther, Raw: block, Elsewhere: &llm.PartElsewhere{Parts: []llm.Part{{
		Kind: llm.PartDocument, Media: &llm.Media{
			MIME: "text/plain", Name: rawjson.Text(rawjson.Get(v, "title")), Document: &d,
		},
	}}}}
}
