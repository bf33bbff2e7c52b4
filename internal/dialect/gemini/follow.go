package gemini

import (
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Follow takes note of an object that went out as its provider wrote it, so
// that the encoder can go on behind it under the same id.
func (e *Encoder) Follow(frame sse.Event) {
	id, model := rawjson.Text(get(frame.Data, "responseId")), rawjson.Text(get(frame.Data, "modelVersion"))
	if !e.followed && id != "" {
		e.tail, e.followed = tail(id, model), true
	}
}
