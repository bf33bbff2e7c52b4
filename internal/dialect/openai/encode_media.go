package openai

import (
	"cmp"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

func (e *messageEncoder) image(m *llm.Media) bool {
	address := m.URL
	if m.Data != "" {
		address = DataURL(m.MIME, "image/png", m.Data)
	}
	if address == "" && !e.Own {
		e.refuse("The image is stored at another provider. Send it inline or by its URL.")
		return false
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"image_url","image_url":{"url":`...), address)
	if detail := e.Detail(m.Detail); detail != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"detail":`...), detail)
	}
	e.Dst = append(e.Dst, '}')
	return true
}

func (e *messageEncoder) sound(m *llm.Media) bool {
	if m.Data == "" && !e.Own {
		e.refuse("The model's API accepts only inline audio. Send the data in base64.")
		return false
	}
	format := m.Format
	if format == "" {
		format = soundFormat(m.MIME)
	}
	if e.Quirks.PlainSounds {
		e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"input_audio","input_audio":`...), cmp.Or(m.Data, m.URL))
		return true
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"input_audio","input_audio":{"data":`...), m.Data)
	e.Dst = append(rawjson.AppendString(append(e.Dst, `,"format":`...), format), '}')
	return true
}

// soundFormat returns OpenAI's name of an audio media type.
func soundFormat(mime string) string {
	switch mime {
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	case "audio/flac", "audio/x-flac":
		return "flac"
	case "audio/ogg":
		return "ogg"
	}
	return "wav"
}

func (e *messageEncoder) document(m *llm.Media) bool {
	switch {
	case e.Quirks.Documents == llm.DocumentsByURL && m.FileID == "":
		e.documentURL(m)
		return true
	case m.Data == "" && m.FileID != "" && e.of != Name && e.of != "responses":
		e.refuse("The document is stored at another provider. Send it inline.")
		return false
	case m.Data == "" && m.URL != "" && e.Extends("file_url"):
		e.file(m.Name, m.URL)
		return true
	case m.Data == "" && m.FileID == "" && !e.Own:
		e.refuse("The model's API accepts only inline documents. Send the data in base64.")
		return false
	}
	e.Dst = append(e.Dst, `{"type":"file","file":{`...)
	if m.Name != "" {
		e.Inner("filename", m.Name)
	}
	if m.FileID != "" {
		e.Inner("file_id", m.FileID)
	} else if m.MIME == "" {
		e.Inner("file_data", m.Data)
	} else {
		e.Inner("file_data", DataURL(m.MIME, "", m.Data))
	}
	e.Dst = append(e.Dst, '}')
	return true
}

// documentURL writes a document by its URL, or by a data URL, in Mistral's form.
func (e *messageEncoder) documentURL(m *llm.Media) {
	address := m.URL
	if m.Data != "" {
		address = DataURL(m.MIME, "application/pdf", m.Data)
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"document_url","document_url":`...), address)
	if m.Name != "" {
		e.Inner("document_name", m.Name)
	}
}

// file writes a document by its URL instead of its data.
func (e *messageEncoder) file(name, address string) {
	e.Dst = append(e.Dst, `{"type":"file","file":{`...)
	if name == "" {
		name = "document.pdf" // OpenRouter requires one
	}
	e.Inner("filename", name)
	e.Inner("file_data", address)
	e.Dst = append(e.Dst, '}')
}

// DataURL returns the base64 data URL (RFC 2397) of data; otherwise is the media type if none is known.
func DataURL(mime, otherwise, data string) string {
	if mime == "" {
		mime = otherwise
	}
	return "data:" + mime + ";base64," + data
}
