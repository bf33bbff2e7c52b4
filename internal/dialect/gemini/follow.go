package gemini

import (
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Follow records an object that was sent as the provider wrote it, so that the encoder can continue under the same id.
func (e *Encoder) Follow(frame sse.Event) {
	id, model := rawjson.Text(get(frame.Data, "responseId")), rawjson.Text(get(frame.Data, "modelVersion"))
	if !e.followed && id != "" {
		e.tail, e.followed = tail(id, model), true
	}
}
