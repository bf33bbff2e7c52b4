package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/people"
	"weir/internal/webhook"
)

// deliveryPage shows one delivery: its request and the result of every try.
type deliveryPage struct {
	Type     webhook.Type
	Path     string
	HookPath string
	URL      string
	Badge    Badge
	Disabled bool // whether the endpoint is disabled, so that nothing is sent again
	At       time.Time
	Due      *time.Time
	Event    string // id
	Headers  Code
	Body     Code
	Tries    []tryView // newest first
	Hidden   int       // number of older tries that are not shown
	Problems []Problem
}

// tryView shows a try and the receiver's answer.
type tryView struct {
	N      int
	Badge  Badge
	Facts  []Fact
	Answer string // start of the answer; empty for none
}

const (
	mostTries = 20
	// The answer of the newest try is shown whole, others up to this number of bytes, because a page may have 150 KB
	// for all of them.
	maxAnswerShown = 400
)

// findDelivery returns the delivery in the path, and its endpoint, if it belongs to the visit's account or
// installation.
func (h *webhookHandlers) findDelivery(r *http.Request, v *people.Visit) (webhook.Detail, webhook.Endpoint, error) {
	e, err := h.find(r, v)
	if err != nil {
		return webhook.Detail{}, e, err
	}
	d, err := h.webhooks.DeliveryOf(r.Context(), &e, r.PathValue("delivery"))
	return d, e, err
}

func (h *webhookHandlers) showDelivery(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	d, e, err := h.findDelivery(r, v)
	if err != nil {
		return err
	}
	p := deliveryPageOf(hookHomeOf(v), &e, &d)
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "webhook-delivery", title: "Delivery", status: f.status(), data: p})
}

func (h *webhookHandlers) redeliver(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	d, e, err := h.findDelivery(r, v)
	if err != nil {
		return err
	}
	err = h.webhooks.Redeliver(r.Context(), d.ID)
	to := endpointPath(v, &e) + "/deliveries/" + d.ID + "?done=webhook-redelivered"
	return (&form{}).followed(w, r, v, to, err, h.showDelivery)
}

func deliveryPageOf(home hookHome, e *webhook.Endpoint, d *webhook.Detail) deliveryPage {
	hook := home.path + "/" + e.ID
	p := deliveryPage{
		Type: d.Type, Path: hook + "/deliveries/" + d.ID, HookPath: hook, URL: d.URL, Badge: deliveryBadge(&d.Delivery),
		Disabled: e.Disabled != nil, At: d.At, Event: d.Event,
		Headers: Code{Ident: "sent-headers", Label: "Request headers", Text: sentHeaders(d)},
		Body:    Code{Ident: "sent-body", Label: "Request body", Text: prettyJSON(d.Payload)},
	}
	if e.Disabled == nil {
		p.Due = d.Due
	}
	history := slices.Clone(d.History)
	slices.Reverse(history)
	p.Hidden = max(0, len(history)-mostTries)
	for i := range history[:len(history)-p.Hidden] {
		v := tryViewOf(&history[i], i == 0)
		v.N = len(history) - i // the stored numbers may have gaps
		p.Tries = append(p.Tries, v)
	}
	return p
}

// sentHeaders returns the headers of the last try, as far as they are stored.
func sentHeaders(d *webhook.Detail) string {
	at := "(set when it is sent)"
	if d.Last != nil {
		at = strconv.FormatInt(d.Last.At.Unix(), 10)
	}
	return strings.Join([]string{
		"content-type: application/json", "webhook-id: " + d.Event, "webhook-timestamp: " + at,
		"webhook-signature: v1,… (computed for each try, not stored)",
	}, "\n")
}

// prettyJSON formats JSON with indentation.
func prettyJSON(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

func tryViewOf(t *webhook.Try, whole bool) tryView {
	v := tryView{
		Badge:  Badge{"good", "Delivered"},
		Facts:  []Fact{{"Sent", t.At.UTC().Format("2 Jan 2006, 15:04:05 UTC")}, {"Took", took(t.Took)}},
		Answer: t.Answer,
	}
	if t.Status > 0 {
		v.Facts = append(v.Facts, Fact{"Status", strconv.Itoa(t.Status)})
	}
	if t.Error != "" {
		v.Badge = Badge{"bad", "Failed"}
		v.Facts = append(v.Facts, Fact{"Error", cut(t.Error, maxAnswerShown)})
	}
	if !whole {
		v.Answer = cut(t.Answer, maxAnswerShown)
	}
	return v
}
