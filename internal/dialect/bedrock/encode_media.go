package bedrock

import (
	"cmp"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// address returns the S3 address of media, if it has one.
func address(m *llm.Media) string {
	for _, s := range []string{m.FileID, m.URL} {
		if strings.HasPrefix(s, s3Scheme) {
			return s
		}
	}
	return ""
}

// inline refuses media that Converse would have to fetch. It accepts bytes and S3 addresses.
func inline(m *llm.Media, what string, at *place) error {
	if m.Data != "" || address(m) != "" {
		return nil
	}
	return llm.Invalid(at.String(), "Amazon Bedrock does not fetch "+what+"s by URL or file id. Send the "+what+
		" inline, as base64, or by its s3:// address.")
}

// source writes the place of the media's bytes, and closes its block.
func (e *messageEncoder) source(m *llm.Media) {
	if m.Data != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"source":{"bytes":`...), m.Data)
		e.Dst = append(e.Dst, "}}}"...)
		return
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `,"source":{"s3Location":{"uri":`...), address(m))
	e.Dst = append(e.Dst, "}}}}"...)
}

func (e *messageEncoder) image(m *llm.Media, at *place) error {
	if err := inline(m, "image", at); err != nil {
		return err
	}
	word := imageWord(m)
	if word == "" {
		return llm.Invalid(at.String(),
			"Amazon Bedrock accepts only images of the types png, jpeg, gif and webp. This one is "+
				strconv.Quote(cmp.Or(m.MIME, "unknown"))+".")
	}
	if m.Detail != "" {
		e.Drop("detail")
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"image":{"format":`...), word)
	e.source(m)
	return nil
}

func (e *messageEncoder) sound(m *llm.Media, at *place) error {
	if at.result && !e.Own {
		return llm.Invalid(at.String(), "Amazon Bedrock accepts no audio in a tool's result. Leave it out or send a "+
			"transcript.")
	}
	if err := inline(m, "sound", at); err != nil {
		return err
	}
	word := audioWord(m)
	if word == "" {
		return llm.Invalid(at.String(),
			"Amazon Bedrock accepts audio of types such as mp3, wav, flac, ogg, opus and aac. This one is "+
				strconv.Quote(cmp.Or(m.Format, m.MIME, "unknown"))+".")
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"audio":{"format":`...), word)
	e.source(m)
	return nil
}

func (e *messageEncoder) document(m *llm.Media, at *place) error {
	d := m.Document
	if d != nil && d.Source != "" {
		e.searchResult(m)
		return nil
	}
	chunked := d != nil && d.Chunks != nil
	if !chunked {
		if err := inline(m, "document", at); err != nil {
			return err
		}
	}
	word := documentWord(m)
	if word == "" {
		return llm.Invalid(at.String(),
			"Amazon Bedrock accepts only documents of the types pdf, csv, doc, docx, xls, xlsx, html, txt and md. "+
				"This one is "+strconv.Quote(cmp.Or(m.MIME, "unknown"))+".")
	}
	if e.bare && !at.result {
		e.Dst = append(e.Dst, `{"text":"Document:"},`...)
		e.bare = false
	}
	name := m.Name
	if !e.Own {
		name = e.unique(documentName(name))
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"document":{"format":`...), word)
	e.Dst = rawjson.AppendString(append(e.Dst, `,"name":`...), name)
	e.describe(d)
	if chunked {
		e.Dst = append(appendChunks(append(e.Dst, `,"source":{"content":`...), d.Chunks), "}}}"...)
	} else {
		e.source(m)
	}
	return nil
}

// unique returns the name, followed by a number if the request has another document of that name, which Converse
// refuses.
func (e *messageEncoder) unique(name string) string {
	if e.names == nil {
		e.names = map[string]int{}
	}
	key := strings.ToLower(name)
	e.names[key]++
	if n := e.names[key]; n > 1 {
		return e.unique(name + "-" + strconv.Itoa(n)) // another document may have that name, too
	}
	return name
}
