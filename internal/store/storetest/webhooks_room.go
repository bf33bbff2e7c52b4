package storetest

import (
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/webhook"
)

// testTriesInFull checks that of many attempts only the last ones have the receivers' answers.
func testTriesInFull(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	var id string
	for range 6 {
		jobs := take(t, f, "w", 1)
		id = jobs[0].ID
		must.Do(t, f.Deliveries.EndTries(t.Context(), []webhook.Outcome{{
			Job: &jobs[0], State: webhook.Pending,
			Try: webhook.Try{N: jobs[0].Take, At: noon, Status: 500, Error: strings.Repeat("e", 300), Answer: "answer"},
		}}))
	}
	d := must.Get(f.Deliveries.Delivery(t.Context(), id))(t)
	for i, try := range d.History {
		full := i >= 6-webhook.TriesInFull
		if (try.Answer == "answer") != full || (len(try.Error) == 300) != full || try.Status != 500 {
			t.Errorf("try %d of %d: got %+v, want it in full: %t", i+1, len(d.History), try, full)
		}
	}
	if len(d.History) != 6 {
		t.Errorf("got %d tries, want 6", len(d.History))
	}
}
