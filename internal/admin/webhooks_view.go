package admin

import (
	"encoding/json"
	"strconv"

	"weir/internal/webhook"
)

// SentView shows the request of every try, with the time of the last one. Its signature is not stored.
type SentView struct {
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// ViewSent returns the view of a delivery's request.
func ViewSent(d *webhook.Detail) SentView {
	v := SentView{
		Headers: map[string]string{"content-type": "application/json", "webhook-id": d.Event}, Body: d.Payload,
	}
	if d.Last != nil {
		v.Headers["webhook-timestamp"] = strconv.FormatInt(d.Last.At.Unix(), 10)
	}
	return v
}
