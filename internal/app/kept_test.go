package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"weir/internal/account"
	"weir/internal/dialect/registry"
	"weir/internal/ledger"
	"weir/internal/simulator"
)

// keptGateway is a gateway before a provider of which a test sees what it is asked.
type keptGateway struct {
	*testGateway
	yaml string

	mu     sync.Mutex
	bodies []string
}

// last is the body of the provider's last request.
func (k *keptGateway) last() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.bodies) == 0 {
		return ""
	}
	return k.bodies[len(k.bodies)-1]
}

// openKept starts a gateway before a simulator that speaks the dialect.
func openKept(t *testing.T, speaks, more string, now func() time.Time) *keptGateway {
	t.Helper()
	k := &keptGateway{}
	sim := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k.mu.Lock()
		k.bodies = append(k.bodies, string(body))
		k.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		sim.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	k.yaml = strings.Replace(providersYAML(ts.URL), "dialect: openai", "dialect: "+speaks, 1) + more
	k.testGateway = open(t, setup{yaml: k.yaml, now: now})
	return k
}

// another starts a second node on the same database.
func (k *keptGateway) another(t *testing.T) *testGateway {
	t.Helper()
	dir := t.TempDir()
	return open(t, setup{yaml: k.yaml, dir: k.data, key: k.key, journal: func(o *ledger.Options) { o.Dir = dir }})
}

// respond asks at the client API of the Responses API.
func (h *testGateway) respond(members string) reply {
	h.t.Helper()
	return h.do(ask{path: "/v1/responses", body: `{` + members + `}`})
}

// responded is the response object of a good reply, whole or streamed.
func responded(t testing.TB, r reply) (object string, id string) {
	t.Helper()
	object = r.body
	for event := range strings.SplitSeq(r.body, "\n\n") {
		_, data, ok := strings.Cut(event, "event: response.completed\ndata: ")
		if !ok {
			_, data, ok = strings.Cut(event, "event: response.incomplete\ndata: ")
		}
		if ok {
			var e struct{ Response json.RawMessage }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("event %s: %v", event, err)
			}
			object = string(e.Response)
		}
	}
	var o struct{ ID string }
	if err := json.Unmarshal([]byte(object), &o); err != nil || r.status != http.StatusOK || o.ID == "" {
		t.Fatalf("status %d, %v: %s", r.status, err, r.body)
	}
	return object, o.ID
}

// openaiError is an error at OpenAI's client APIs, but for its message.
func openaiError(status int, param, code string) string {
	return fmt.Sprintf("%d invalid_request_error %s %s", status, param, code)
}

func wantOpenAIError(t testing.TB, r reply, want string) {
	t.Helper()
	var e struct {
		Error struct{ Type, Param, Code, Message string }
	}
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Errorf("%s: %v", r.body, err)
	}
	if got := fmt.Sprintf("%d %s %s %s", r.status, e.Error.Type, e.Error.Param, e.Error.Code); got != want || e.Error.Message == "" {
		t.Errorf("got %s: %s; want %s", got, r.body, want)
	}
	wantCommonHeaders(t, r.header)
}

// TestKept is a conversation with providers that keep nothing: each request
// reaches them with all that was said, and every node has it.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"responses", "openai", "anthropic"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", speaks, stream), func(t *testing.T) {
				t.Parallel()
				k := openKept(t, speaks, "", nil)
				other := k.another(t)
				asking := fmt.Sprintf(`"model":"house/chat","stream":%t,`, stream)

				first, id := responded(t, k.respond(asking+`"input":"My name is Zeppelin"`))
				second, next := responded(t, other.respond(asking+`"input":[{"role":"user","content":"What is my name?"}],"previous_response_id":"`+id+`"`))
				for _, text := range []string{"My name is Zeppelin", "Hello! This is a demo", "What is my name?"} {
					if !strings.Contains(k.last(), text) {
						t.Errorf("the provider's request has no %q: %s", text, k.last())
					}
				}
				if strings.Contains(k.last(), "previous_response_id") {
					t.Errorf("the provider sees %s", k.last())
				}
				checkKept(t, other, first, id, "null")
				checkKept(t, k.testGateway, second, next, `"`+id+`"`)

				deleted := other.do(ask{method: http.MethodDelete, path: "/v1/responses/" + id})
				if want := `{"id":"` + id + `","object":"response","deleted":true}`; deleted.status != http.StatusOK || deleted.body != want {
					t.Errorf("delete: %d %s", deleted.status, deleted.body)
				}
				wantOpenAIError(t, k.do(ask{path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
				wantOpenAIError(t, k.respond(asking+`"input":"x","previous_response_id":"`+next+`"`), openaiError(400, "previous_response_id", "previous_response_not_found"))
				wantNowhere(t, k.data, "Zeppelin", "This is a demo", next)
			})
		}
	}
}

// TestKeptEnds is that an answer is kept in whatever way it ends, and before its
// end is out; one that breaks off is not.
func TestKeptEnds(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"responses", "openai"} {
		k := openKept(t, speaks, "", nil)
		for _, members := range []string{
			`"model":"house/chat:usage=missing","input":"Hi"`,
			`"model":"house/chat:usage=twice","input":"Hi"`,
			`"model":"house/chat:fault=not-stream","input":"Hi"`,
			`"model":"house/chat","input":"Hi","max_output_tokens":2`,
			`"model":"house/reason","input":"Hi"`,
		} {
			for _, stream := range []string{"false", "true"} {
				want, id := responded(t, k.respond(members+`,"stream":`+stream))
				checkKept(t, k.testGateway, want, id, "null")
			}
		}
		cut := k.respond(`"model":"house/chat:fault=cut,at=5","input":"Hi","stream":true`)
		_, id, _ := strings.Cut(cut.body, `"response":{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		if id == "" {
			t.Fatalf("no id in %s", cut.body)
		}
		wantOpenAIError(t, k.do(ask{path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
	}
}

// checkKept holds what is kept of a response against what was answered.
func checkKept(t *testing.T, h *testGateway, want, id, previous string) {
	t.Helper()
	r := h.do(ask{path: "/v1/responses/" + id})
	if r.status != http.StatusOK {
		t.Fatalf("get %s: %d %s", id, r.status, r.body)
	}
	got, was := rawMembers(t, r.body), rawMembers(t, want)
	if string(got["store"]) != "true" || string(got["previous_response_id"]) != previous {
		t.Errorf("get %s: store %s, previous %s; want true, %s", id, got["store"], got["previous_response_id"], previous)
	}
	for name, value := range was {
		if name != "store" && name != "previous_response_id" && string(got[name]) != string(value) {
			t.Errorf("get %s: %s is %s, was %s", id, name, got[name], value)
		}
	}
	wantCommonHeaders(t, r.header)
}

// TestKeptByKey is that what one API key asked no other one sees.
func TestKeptByKey(t *testing.T) {
	t.Parallel()
	k := openKept(t, "responses", "", nil)
	stranger := k.newKey(account.KeyOptions{Account: "default"})
	object, id := responded(t, k.respond(`"model":"house/chat","input":"Hi"`))
	var o struct{ Output []struct{ ID string } }
	if err := json.Unmarshal([]byte(object), &o); err != nil || len(o.Output) == 0 {
		t.Fatalf("%s: %v", object, err)
	}
	missing := openaiError(404, "", "response_not_found")
	for _, a := range []ask{
		{path: "/v1/responses/" + id},
		{path: "/v1/responses/" + id + "/input_items"},
		{method: http.MethodDelete, path: "/v1/responses/" + id},
		{method: http.MethodPost, path: "/v1/responses/" + id + "/cancel"},
	} {
		a.key = stranger
		wantOpenAIError(t, k.do(a), missing)
	}
	goOn := `{"model":"house/chat","input":"x","previous_response_id":"` + id + `"}`
	wantOpenAIError(t, k.do(ask{path: "/v1/responses", key: stranger, body: goOn}), openaiError(400, "previous_response_id", "previous_response_not_found"))
	refer := `{"model":"house/chat","input":[{"type":"item_reference","id":"` + o.Output[0].ID + `"},{"role":"user","content":"x"}]}`
	wantOpenAIError(t, k.do(ask{path: "/v1/responses", key: stranger, body: refer}), openaiError(400, "input", ""))

	if r := k.do(ask{path: "/v1/responses", body: refer}); r.status != http.StatusOK || !strings.Contains(k.last(), `"text":"Hello! This is a demo`) {
		t.Errorf("a reference: %d %s; the provider saw %s", r.status, r.body, k.last())
	}
	for _, header := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if r := k.do(ask{path: "/v1/responses/" + id, key: noKey, header: []string{header, k.key}}); r.status != http.StatusOK {
			t.Errorf("with the key in %s: %d %s", header, r.status, r.body)
		}
	}
}

// TestKeptMistakes is what the client APIs to what is kept refuse.
func TestKeptMistakes(t *testing.T) {
	t.Parallel()
	k := openKept(t, "responses", "", nil)
	_, id := responded(t, k.respond(`"model":"house/chat","input":"Hi"`))
	_, unkept := responded(t, k.respond(`"model":"house/chat","input":"Hi","store":false`))
	for path, want := range map[string]string{
		id + "?stream=true":            openaiError(400, "stream", ""),
		unkept:                         openaiError(404, "", "response_not_found"),
		id + "/input_items?limit=0":    openaiError(400, "limit", ""),
		id + "/input_items?limit=101":  openaiError(400, "limit", ""),
		id + "/input_items?order=up":   openaiError(400, "order", ""),
		id + "/input_items?after=it":   openaiError(400, "after", ""),
		unkept + "/input_items":        openaiError(404, "", "response_not_found"),
		"resp_of_nobody?stream=false":  openaiError(404, "", "response_not_found"),
		"resp_of_nobody%2Fx%20y":       openaiError(404, "", "response_not_found"),
		"resp_of_nobody/input_items?x": openaiError(404, "", "response_not_found"),
	} {
		wantOpenAIError(t, k.do(ask{path: "/v1/responses/" + path}), want)
	}
	wantOpenAIError(t, k.do(ask{method: http.MethodPost, path: "/v1/responses/" + id + "/cancel"}), openaiError(400, "", ""))
	wantOpenAIError(t, k.do(ask{method: http.MethodPost, path: "/v1/responses/" + unkept + "/cancel"}), openaiError(404, "", "response_not_found"))
	wantOpenAIError(t, k.do(ask{method: http.MethodPut, path: "/v1/responses/" + id}), openaiError(405, "", "method_not_supported"))
	wantOpenAIError(t, k.respond(`"model":"house/chat","input":"Hi","background":true`), openaiError(400, "background", ""))
	wantOpenAIError(t, k.respond(`"model":"house/chat","input":"Hi","conversation":"conv_1"`), openaiError(400, "conversation", ""))
	if n := len(k.bodies); n != 2 {
		t.Errorf("the provider was asked %d times, want twice", n)
	}
}

// TestKeptFor is how long a response is kept.
func TestKeptFor(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ahead := time.Duration(0)
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}
	k := openKept(t, "openai", "retention: {responses: 2h}\n", now)
	_, id := responded(t, k.respond(`"model":"house/chat","input":"Hi"`))
	if r := k.do(ask{path: "/v1/responses/" + id}); r.status != http.StatusOK {
		t.Errorf("at once: %d %s", r.status, r.body)
	}
	mu.Lock()
	ahead = 2 * time.Hour
	mu.Unlock()
	wantOpenAIError(t, k.do(ask{path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
	wantOpenAIError(t, k.respond(`"model":"house/chat","input":"x","previous_response_id":"`+id+`"`), openaiError(400, "previous_response_id", "previous_response_not_found"))

	none := openKept(t, "openai", "retention: {responses: 0s}\n", nil)
	_, id = responded(t, none.respond(`"model":"house/chat","input":"Hi"`))
	wantOpenAIError(t, none.do(ask{path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
}

// TestKeptSDK is the official client in a loop with a tool, whose provider
// speaks another wire format: its result refers to a call of the response before.
func TestKeptSDK(t *testing.T) {
	t.Parallel()
	k := openKept(t, "anthropic", "", nil)
	client := k.sdk(k.key)
	p := responses.ResponseNewParams{
		Model: "house/tools",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("How is the weather in Rome?")},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", map[string]any{"type": "object", "properties": map[string]any{"city": map[string]string{"type": "string"}}}, false)},
	}
	first, err := client.Responses.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Output) != 1 || first.Output[0].Type != "function_call" {
		t.Fatalf("no call: %s", first.RawJSON())
	}
	p.PreviousResponseID = openai.String(first.ID)
	result := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
	result.OfFunctionCallOutput.CallID = openai.String(first.Output[0].CallID)
	p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{result}}
	second, err := client.Responses.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if second.OutputText() == "" || !strings.Contains(k.last(), `"type":"tool_use","id":"`+first.Output[0].CallID) || !strings.Contains(k.last(), "How is the weather in Rome?") {
		t.Errorf("after the result: %s; the provider saw %s", second.RawJSON(), k.last())
	}
	got, err := client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	if err != nil || got.OutputText() != second.OutputText() || got.PreviousResponseID != first.ID {
		t.Errorf("get: %+v, %v", got, err)
	}
	var kinds []string
	items := client.Responses.InputItems.ListAutoPaging(t.Context(), second.ID, responses.InputItemListParams{Limit: openai.Int(1), Order: "asc"})
	for items.Next() {
		kinds = append(kinds, items.Current().Type)
	}
	if got := strings.Join(kinds, " "); items.Err() != nil || got != "message function_call function_call_output" {
		t.Errorf("items %q, %v", got, items.Err())
	}
	if err := client.Responses.Delete(t.Context(), second.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	_, err = client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != http.StatusNotFound {
		t.Errorf("get what is deleted: %v, want status 404", err)
	}
}

// TestKeptOnce is a request with an Idempotency-Key that goes on from another
// one: it is replayed, and can itself be gone on from.
func TestKeptOnce(t *testing.T) {
	t.Parallel()
	k := openKept(t, "openai", "", nil)
	_, id := responded(t, k.respond(`"model":"house/chat","input":"One"`))
	a := keyed("/v1/responses", `{"model":"house/chat","input":"Two","previous_response_id":"`+id+`"}`, "once")
	first, next := responded(t, k.do(a))
	again := k.do(a)
	if again.body != first || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: %d %s; want %s", again.status, again.body, first)
	}
	responded(t, k.respond(`"model":"house/chat","input":"Three","previous_response_id":"`+next+`"`))
	if n := len(k.bodies); n != 3 || !strings.Contains(k.last(), "One") || !strings.Contains(k.last(), "Two") {
		t.Errorf("the provider was asked %d times, at last %s", n, k.last())
	}
}
