package openai

import (
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Follow records a chunk that was sent as the provider wrote it, so that the encoder can continue under the same id.
func (e *Encoder) Follow(frame sse.Event) {
	if !e.followed {
		id, model := rawjson.Text(rawjson.Get(frame.Data, "id")), rawjson.Text(rawjson.Get(frame.Data, "model"))
		created, _ := rawjson.AsInt(rawjson.Get(frame.Data, "created"))
		if id == "" && model == "" {
			return
		}
		e.opening, e.followed = opening(id, model, created), true
	}
	for i, c := range rawjson.Elements(rawjson.Get(frame.Data, "choices")) {
		n := int64(i)
		if v := rawjson.Get(c, "index"); v != nil {
			n, _ = rawjson.AsInt(v)
		}
		if n >= 0 && n < maxChoices {
			e.begun.add(int(n))
		}
	}
}
