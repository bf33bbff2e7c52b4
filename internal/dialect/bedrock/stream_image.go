package bedrock

import (
	"encoding/base64"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxImage bounds the bytes of an image that arrives in pieces.
const maxImage = 16 << 20

// openImage is an image that has begun, with bytes that arrive in pieces
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlockDelta.html, 2026-11-28).
type openImage struct {
	block  int64
	format string
	data   []byte
}

// Size returns the stored bytes of an image.
func (d *Decoder) Size() int {
	if d.image == nil {
		return 0
	}
	return len(d.image.data)
}

// piece stores a piece of an image.
func (d *Decoder) piece(block int64, v []byte) error {
	if d.image == nil || d.image.block != block {
		d.image = &openImage{block: block}
	}
	data, err := base64.StdEncoding.DecodeString(rawjson.Text(rawjson.Get(v, "source", "bytes")))
	if err != nil || len(d.image.data)+len(data) > maxImage {
		return errImage
	}
	d.image.data = append(d.image.data, data...)
	return nil
}

// show appends the finished image, if there is one.
func (d *Decoder) show(dst []llm.Event) []llm.Event {
	image := d.image
	if d.image = nil; image == nil || len(image.data) == 0 {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventOther, Media: &llm.Media{
		Data: base64.StdEncoding.EncodeToString(image.data), MIME: mimeOf(imageFormats, image.format),
	}})
}
