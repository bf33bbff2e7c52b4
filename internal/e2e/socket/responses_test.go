package socket_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/websocket"
)

// formats are the wire formats of the providers that answer.
func formats() []string { return []string{"openai", "responses", "anthropic", "gemini"} }

// TestEventsAreThoseOfStream checks that the messages of an answer are the events of the same stream over HTTP, in their
// order.
func TestEventsAreThoseOfStream(t *testing.T) {
	t.Parallel()
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			h := harness.OpenKept(t, format, "", nil).Gateway
			c := dial(t, h)
			for _, kind := range []string{"chat", "tools", "reason"} {
				body := `"model":"house/` + kind + `","input":"Say it","tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}]`
				want := kinds(t, h.Respond(body+`,"stream":true`).Body)
				c.create(body)
				var got []string
				for i, e := range c.answer() {
					got = append(got, e.Type)
					if e.Sequence != i || e.Lane != "" {
						t.Errorf("%s: event %d has the sequence number %d and the lane %q", kind, i, e.Sequence, e.Lane)
					}
				}
				if strings.Join(got, " ") != want || len(got) < 5 {
					t.Errorf("%s: got %s\nwant %s", kind, got, want)
				}
			}
			h.Verify(t)
		})
	}
}

// kinds returns the kinds of a stream's events.
func kinds(t *testing.T, stream string) string {
	t.Helper()
	var all []string
	for data := range harness.EventData(stream) {
		var e event
		must.Do(t, json.Unmarshal([]byte(data), &e))
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

// TestTwentyToolCallsContinueWithoutStorage checks that a loop of 20 tool calls continues from the previous response
// without storing any, that each response is in the ledger once, and that the provider gets the whole conversation.
func TestTwentyToolCallsContinueWithoutStorage(t *testing.T) {
	t.Parallel()
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			k := harness.OpenKept(t, format, "", nil)
			c := dial(t, k.Gateway)
			tools := `"model":"house/tools","store":false,"tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}],`
			c.create(tools + `"input":"Begin with marker-of-the-first-message"`)
			ids := map[string]bool{}
			for round := range 20 {
				id, call := calls(t, c, format, ids)
				c.create(tools + fmt.Sprintf(`"previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"seen %d"}]`, id, call, round))
				_, id = c.completed()
				ids[id] = true
				c.create(tools + `"previous_response_id":"` + id + `","input":"again"`)
			}
			calls(t, c, format, ids)
			last := k.Last()
			if !strings.Contains(last, "marker-of-the-first-message") || !strings.Contains(last, "seen 0") || !strings.Contains(last, "seen 19") {
				t.Errorf("the provider's last request lacks a part of the conversation: %.2000s", last)
			}
			if n, rows := len(k.Bodies), k.Uses("").Total.Requests; n != 41 || len(ids) != 41 || rows != "41" {
				t.Errorf("got %d requests at the provider and %s in the ledger for %d responses, want 41", n, rows, len(ids))
			}
			k.Verify(t)
		})
	}
}

// calls returns the id of the next answer and that of its tool call. The answer must continue from an earlier one.
func calls(t *testing.T, c *client, format string, ids map[string]bool) (id, call string) {
	t.Helper()
	response, id := c.completed()
	var o struct {
		Store    bool
		Previous string `json:"previous_response_id"`
		Output   []struct {
			Type string
			Call string `json:"call_id"`
		}
	}
	must.Do(t, json.Unmarshal([]byte(response), &o))
	for _, it := range o.Output {
		if it.Type == "function_call" {
			call = it.Call
		}
	}
	continues := len(ids) == 0 || ids[o.Previous] || format == "responses" // whose provider sees no previous response
	if o.Store || call == "" || !continues {
		t.Fatalf("after %d responses: got %s, want a call", len(ids), response)
	}
	ids[id] = true
	return id, call
}

// TestUnstoredResponsesEndWithTheirWebSocket checks that another WebSocket and a request cannot continue from an
// unstored response, and that both can from a stored one.
func TestUnstoredResponsesEndWithTheirWebSocket(t *testing.T) {
	t.Parallel()
	h := harness.OpenKept(t, "openai", "", nil).Gateway
	c, other := dial(t, h), dial(t, h)
	c.create(`"model":"house/chat","store":false,"input":"one"`)
	_, lost := c.completed()
	c.create(`"model":"house/chat","input":"one"`)
	_, kept := c.completed()
	next := func(id string) string {
		return `"model":"house/chat","store":false,"input":"two","previous_response_id":"` + id + `"`
	}
	other.create(next(lost) + `,"stream_id":"a.b"`)
	if e := other.refused(http.StatusBadRequest, "previous_response_not_found"); e.Lane != "a.b" {
		t.Errorf("got the lane %q, want a.b: %s", e.Lane, e.text)
	}
	if r := h.Respond(next(lost)); r.Status != http.StatusBadRequest {
		t.Errorf("over HTTP: got %d, want 400", r.Status)
	}
	other.create(next(kept))
	other.completed()
	if r := h.Respond(next(kept)); r.Status != http.StatusOK {
		t.Errorf("a stored one over HTTP: got %d, want 200", r.Status)
	}
	c.create(next(lost)) // still there, after all
	c.completed()
}

// TestLanesRunBesideEachOther checks that requests of several lanes are in flight together and those of one in order,
// and that each message has the lane of its request.
func TestLanesRunBesideEachOther(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	c := dial(t, h)
	for i := range 3 {
		for _, lane := range []string{"a", "b", "c"} {
			c.create(fmt.Sprintf(`"model":"house/chat","stream_id":%q,"input":"number %d"`, lane, i))
		}
	}
	open, ended, together := map[string]string{}, map[string]int{}, 0
	for ended["a"]+ended["b"]+ended["c"] < 9 {
		e := c.next()
		var o struct{ ID string }
		_ = json.Unmarshal(e.Response, &o)
		switch e.Type {
		case "response.created":
			if open[e.Lane] != "" {
				t.Errorf("lane %s: %s began while %s was in flight", e.Lane, o.ID, open[e.Lane])
			}
			open[e.Lane] = o.ID
		case "response.completed":
			if open[e.Lane] != o.ID {
				t.Errorf("lane %s: %s ended, want %s", e.Lane, o.ID, open[e.Lane])
			}
			delete(open, e.Lane)
			ended[e.Lane]++
		case "error":
			t.Fatalf("got %s", e.text)
		}
		together = max(together, len(open))
	}
	if ended["a"] != 3 || ended["b"] != 3 || ended["c"] != 3 {
		t.Errorf("got %v answers, want 3 in each lane", ended)
	}
	h.Verify(t)
}

// TestTooManyRequestsInFlightAreRefused checks that a client cannot have more lanes, and more requests behind them, than
// the bounds, and that those before them are answered.
func TestTooManyRequestsInFlightAreRefused(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	c := dial(t, h)
	for i := range 17 {
		c.create(fmt.Sprintf(`"model":"house/chat:ttft=1h","stream_id":"lane%d","input":"x"`, i))
	}
	if e := c.refused(503, "overloaded"); e.Lane != "lane16" {
		t.Errorf("got %s, want that the 17th lane is refused", e.text)
	}
	for range 17 {
		c.create(`"model":"house/chat","stream_id":"lane0","input":"x"`)
	}
	c.refused(503, "overloaded")
	c.Close(websocket.Normal, "") // cancels them
	for _, r := range up.Records(t) {
		if r.EndMarker {
			t.Errorf("a request was answered to its end: %+v", r)
		}
	}
}

// TestPreparedRequestsCostNothing checks that generate: false gives an id from which the next request continues, calls
// no provider and leaves no row.
func TestPreparedRequestsCostNothing(t *testing.T) {
	t.Parallel()
	k := harness.OpenKept(t, "openai", "", nil)
	c := dial(t, k.Gateway)
	c.create(`"model":"house/chat","store":false,"generate":false,"input":"marker-of-preparation"`)
	events := c.answer()
	var o struct {
		ID     string
		Output []any
	}
	must.Do(t, json.Unmarshal(events[len(events)-1].Response, &o))
	if events[0].Type != "response.created" || len(o.Output) != 0 || len(k.Bodies) != 0 {
		t.Errorf("got %d requests at the provider and %s", len(k.Bodies), events[len(events)-1].text)
	}
	c.create(`"model":"house/chat","store":false,"previous_response_id":"` + o.ID + `","input":"go on"`)
	c.completed()
	if !strings.Contains(k.Last(), "marker-of-preparation") || !strings.Contains(k.Last(), "go on") {
		t.Errorf("the provider got %s", k.Last())
	}
	if rows := k.Uses("").Total.Requests; rows != "1" {
		t.Errorf("got %s rows, want one", rows)
	}
	c.create(`"model":"house/other/unknown","generate":false,"input":"x"`)
	if e := c.next(); e.Type == "error" && e.Status == 0 {
		t.Errorf("got %s", e.text)
	}
}

// TestMistakesLeaveWebSocketOpen checks that each mistake gets an error with a status, and that the WebSocket then goes
// on.
func TestMistakesLeaveWebSocketOpen(t *testing.T) {
	t.Parallel()
	h := harness.OpenKept(t, "openai", "", nil).Gateway
	c := dial(t, h)
	for message, want := range map[string]struct {
		status int
		param  string
	}{
		`{`:                                  {400, ""},
		`[]`:                                 {400, ""},
		`"text"`:                             {400, ""},
		`{"model":"house/chat","input":"x"}`: {400, "type"},
		`{"type":"response.delete"}`:         {400, "type"},
		`{"type":1}`:                         {400, "type"},
		`{"type":"response.create","type":"response.create","model":"house/chat"}`:                                                 {400, "type"},
		`{"type":"response.create","stream_id":"","input":"x"}`:                                                                    {400, "stream_id"},
		`{"type":"response.create","stream_id":"a b","input":"x"}`:                                                                 {400, "stream_id"},
		`{"type":"response.create","generate":1,"input":"x"}`:                                                                      {400, "generate"},
		`{"type":"response.create","model":"house/chat","generate":false,"input":"x","tools":[{"type":"mcp","server_label":"x"}]}`: {400, "generate"},
		`{"type":"response.create","model":"nowhere/chat","input":"x"}`:                                                            {404, "model"},
		`{"type":"response.create","model":"house/chat","input":7}`:                                                                {400, "input"},
		`{"type":"response.create","model":"house/chat","input":"x","background":true}`:                                            {400, "background"},
		`{"type":"response.create","model":"house/chat","input":"x","conversation":"c"}`:                                           {400, "conversation"},
		`{"type":"response.create","model":"house/chat:status=429","input":"x"}`:                                                   {429, ""},
		`{"type":"response.create","model":"house/chat:status=500","input":"x"}`:                                                   {502, ""},
	} {
		c.send(message)
		if e := c.next(); e.Type != "error" || e.Status != want.status || want.param != "" && e.Error.Param != want.param {
			t.Errorf("%s: got %s, want the status %d and the parameter %q", message, e.text, want.status, want.param)
		}
	}
	c.create(`"model":"house/chat:status=429,retry_after=7","input":"x"`)
	if e := c.next(); strings.Count(e.text, `"headers":{"retry-after":"7"}`) != 2 {
		t.Errorf("a limit: got %s, want the time to wait", e.text)
	}
	must.Do(t, c.Send(websocket.Binary, []byte(`{}`)))
	c.refused(400, "")
	c.send(`{"type":"response.steer","previous_response_id":"resp_1","input":"x"}`)
	if e := c.next(); e.Type != "response.steer.failed" || e.Error.Code != "steering_not_supported" ||
		!strings.Contains(e.text, `"steer":{"previous_response_id":"resp_1","input":"x"}`) {
		t.Errorf("steering: got %s", e.text)
	}
	c.create(`"model":"house/chat","input":"x"`)
	c.completed()
	h.Verify(t)
}

// TestLogNamesPathOfMessages checks that a message's line has the path of its WebSocket, whose handler has returned.
func TestLogNamesPathOfMessages(t *testing.T) {
	t.Parallel()
	h := harness.OpenKept(t, "openai", "", nil).Gateway
	c := dial(t, h)
	c.create(`"model":"nowhere/chat","input":"x"`)
	c.refused(404, "model_not_found")
	if log := h.Log.String(); !strings.Contains(log, "path=/v1/responses code=MODEL_NOT_FOUND") {
		t.Errorf("the line of the message has another path than /v1/responses:\n%s", log)
	}
}
