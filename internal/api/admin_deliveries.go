package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/admin"
	"weir/internal/webhook"
)

// deliveryView holds the delivery of an event to an endpoint.
type deliveryView struct {
	ID         string        `json:"id"`
	EventID    string        `json:"event_id"` // value of the header webhook-id
	Type       webhook.Type  `json:"type"`
	Timestamp  time.Time     `json:"timestamp"` // of the event
	State      webhook.State `json:"state"`
	Due        *time.Time    `json:"due"` // of the next try
	Ended      *time.Time    `json:"ended"`
	Tries      int           `json:"tries"`
	LastStatus *int          `json:"last_status"`
	LastError  *string       `json:"last_error"`
}

// deliveryDetailView holds a delivery with its request and its tries.
type deliveryDetailView struct {
	deliveryView
	URL     string         `json:"url"`
	Request admin.SentView `json:"request"`
	History []triedView    `json:"history"` // in order of time
}

// triedView holds one try.
type triedView struct {
	N      int       `json:"n"`
	At     time.Time `json:"at"`
	TookMS int64     `json:"took_ms"`
	Status *int      `json:"status"`
	Error  *string   `json:"error"`
	Answer string    `json:"answer"` // start of the answer, at most 512 bytes; empty for tries before the last three
}

func viewDelivery(d *webhook.Delivery) deliveryView {
	v := deliveryView{
		ID: d.ID, EventID: d.Event, Type: d.Type, Timestamp: d.At, State: d.State, Due: d.Due,
		Ended: d.Ended, Tries: d.Tries,
	}
	if d.Last != nil {
		v.LastStatus, v.LastError = unlessZero(d.Last.Status), orNull(d.Last.Error)
	}
	return v
}

func viewDeliveryDetail(d *webhook.Detail) deliveryDetailView {
	v := deliveryDetailView{
		deliveryView: viewDelivery(&d.Delivery), URL: d.URL, Request: admin.ViewSent(d), History: []triedView{},
	}
	for i := range d.History {
		t := &d.History[i]
		v.History = append(v.History, triedView{
			i + 1, t.At, t.Took.Milliseconds(), unlessZero(t.Status), orNull(t.Error), t.Answer,
		})
	}
	return v
}

// answerDelivery answers with a delivery that will be tried.
func (h *adminWebhooks) answerDelivery(r *adminRequest, e *webhook.Endpoint, id string) (answer, error) {
	d, err := h.webhooks.Delivery(r.Context(), id)
	if err != nil {
		return answer{}, err
	}
	a, err := created(viewDelivery(&d.Delivery), webhookPath(e, "deliveries", d.ID)...)
	a.Status = http.StatusAccepted
	return a, err
}

func (h *adminWebhooks) listDeliveries(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	q := webhook.DeliveryQuery{Webhook: e.ID, State: webhook.State(r.query.get("state")), Limit: r.query.limit + 1}
	if q.State != "" && !slices.Contains(webhook.States(), q.State) {
		return answer{}, wrongKind("state", `"pending", "delivered" or "failed"; leave it out for all`)
	}
	if r.query.cursor != "" {
		place, err := uuid.Parse(r.query.cursor)
		if err != nil {
			return answer{}, badCursor()
		}
		q.Before = place.String()
	}
	list, err := h.webhooks.Deliveries(r.Context(), q)
	if err != nil {
		return answer{}, err
	}
	return found(firstPage(r.query, list, func(d *webhook.Delivery) string { return d.ID }, viewDelivery))
}

func (h *adminWebhooks) showDelivery(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	d, err := h.webhooks.DeliveryOf(r.Context(), e, r.PathValue("delivery"))
	return shown(d, err, viewDeliveryDetail)
}

func (h *adminWebhooks) redeliver(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	d, err := h.webhooks.DeliveryOf(r.Context(), e, r.PathValue("delivery"))
	if err == nil {
		err = readFields("", r.body)
	}
	if err == nil {
		err = h.webhooks.Redeliver(r.Context(), d.ID)
	}
	if err != nil {
		return answer{}, err
	}
	return h.answerDelivery(r, e, d.ID)
}
