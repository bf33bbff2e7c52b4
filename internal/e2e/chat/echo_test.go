package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestResponseRepeatsItsRequest checks the members that an answer of the Responses API repeats from its request, whole
// and streamed, although its provider has another wire format.
func TestResponseRepeatsItsRequest(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	const members = `"model":"house/chat","input":"Hi","instructions":"Be brief.","temperature":0.5,"metadata":{"a":"b"},"text":{"format":{"type":"text"},"verbosity":"low"}`
	type response struct {
		ID           string
		Instructions string
		Temperature  float64
		Metadata     map[string]string
		Text         struct{ Verbosity string }
		Store        bool
		Previous     string `json:"previous_response_id"`
	}
	check := func(body, previous string, store bool) response {
		t.Helper()
		var r response
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if r.Instructions != "Be brief." || r.Temperature != 0.5 || r.Metadata["a"] != "b" || r.Text.Verbosity != "low" || r.Store != store || r.Previous != previous {
			t.Errorf("got %+v, want it to continue %q and stored %v: %s", r, previous, store, body)
		}
		return r
	}
	first := check(h.Do(harness.Ask{Path: "/v1/responses", Body: `{` + members + `}`}).Body, "", true)
	check(h.Do(harness.Ask{Path: "/v1/responses", Body: `{` + members + `,"store":false}`}).Body, "", false)
	check(h.Do(harness.Ask{Path: "/v1/responses", Body: `{` + members + `,"previous_response_id":"` + first.ID + `"}`}).Body, first.ID, true)
	stream := h.Do(harness.Ask{Path: "/v1/responses", Body: `{` + members + `,"stream":true,"previous_response_id":"` + first.ID + `"}`}).Body
	for _, name := range []string{"response.created", "response.completed"} {
		_, event, ok := strings.Cut(stream, "event: "+name+"\ndata: ")
		data, _, _ := strings.Cut(event, "\n")
		var e struct{ Response json.RawMessage }
		if err := json.Unmarshal([]byte(data), &e); !ok || err != nil {
			t.Fatalf("%s: %v: %s", name, err, stream)
		}
		check(string(e.Response), first.ID, true)
	}
}
