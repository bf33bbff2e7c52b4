package openai

import (
	"cmp"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// appendImages writes the images of an answer in OpenRouter's form:
// https://openrouter.ai/docs/guides/overview/multimodal/image-generation.
func appendImages(dst []byte, images []*llm.Part) []byte {
	dst = append(dst, `,"images":[`...)
	for i, p := range images {
		dst = appendImage(rawjson.AppendComma(dst), p.Media, int64(i))
	}
	return append(dst, ']')
}

func appendImage(dst []byte, m *llm.Media, index int64) []byte {
	address := cmp.Or(m.URL, m.FileID)
	if m.Data != "" {
		address = DataURL(m.MIME, "image/png", m.Data)
	}
	dst = rawjson.AppendString(append(dst, `{"type":"image_url","image_url":{"url":`...), address)
	return append(rawjson.AppendCount(dst, `},"index":`, index), '}')
}

// appendSound writes a spoken answer. If the provider does not store it, it has the answer's id and has already
// expired, because later requests cannot refer to it.
func appendSound(dst []byte, p *llm.Part, id string, created int64) []byte {
	media := p.Media
	if media == nil {
		media = &llm.Media{}
	}
	dst = rawjson.AppendString(append(dst, `{"id":`...), cmp.Or(media.FileID, "audio_"+id))
	dst = rawjson.AppendString(append(dst, `,"data":`...), media.Data)
	dst = rawjson.AppendString(append(dst, `,"transcript":`...), p.Text)
	if !hasField(p.Extra, "expires_at") {
		dst = rawjson.AppendCount(dst, `,"expires_at":`, created)
	}
	return append(compose.AppendFields(dst, p.Extra, written), '}')
}
