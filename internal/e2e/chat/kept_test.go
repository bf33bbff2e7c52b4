package chat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// openaiError returns an error of OpenAI's client APIs, without its message.
func openaiError(status int, param, code string) string {
	return fmt.Sprintf("%d invalid_request_error %s %s", status, param, code)
}

func wantOpenAIError(t testing.TB, r harness.Reply, want string) {
	t.Helper()
	var e struct {
		Error struct{ Type, Param, Code, Message string }
	}
	if err := json.Unmarshal([]byte(r.Body), &e); err != nil {
		t.Errorf("%s: %v", r.Body, err)
	}
	if got := fmt.Sprintf("%d %s %s %s", r.Status, e.Error.Type, e.Error.Param, e.Error.Code); got != want || e.Error.Message == "" {
		t.Errorf("got %s: %s; want %s", got, r.Body, want)
	}
	harness.WantCommonHeaders(t, r.Header)
}

// TestStoredConversationReachesProviders continues a conversation with providers that store nothing: each request has
// all earlier messages, and every node can serve it.
func TestStoredConversationReachesProviders(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"responses", "openai", "anthropic"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", speaks, stream), func(t *testing.T) {
				t.Parallel()
				k := harness.OpenKept(t, speaks, "", nil)
				other := k.Another(t)
				asking := fmt.Sprintf(`"model":"house/chat","stream":%t,`, stream)

				first, id := harness.Responded(t, k.Respond(asking+`"input":"My name is Zeppelin"`))
				second, next := harness.Responded(t, other.Respond(asking+`"input":[{"role":"user","content":"What is my name?"}],"previous_response_id":"`+id+`"`))
				for _, text := range []string{"My name is Zeppelin", "Hello! This is a demo", "What is my name?"} {
					if !strings.Contains(k.Last(), text) {
						t.Errorf("the provider's request has no %q: %s", text, k.Last())
					}
				}
				if strings.Contains(k.Last(), "previous_response_id") {
					t.Errorf("the provider sees %s", k.Last())
				}
				checkKept(t, other, first, id, "null")
				checkKept(t, k.Gateway, second, next, `"`+id+`"`)

				deleted := other.Do(harness.Ask{Method: http.MethodDelete, Path: "/v1/responses/" + id})
				if want := `{"id":"` + id + `","object":"response","deleted":true}`; deleted.Status != http.StatusOK || deleted.Body != want {
					t.Errorf("delete: %d %s", deleted.Status, deleted.Body)
				}
				wantOpenAIError(t, k.Do(harness.Ask{Path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
				wantOpenAIError(t, k.Respond(asking+`"input":"x","previous_response_id":"`+next+`"`), openaiError(400, "previous_response_id", "previous_response_not_found"))
				wantNowhere(t, k.Data, "Zeppelin", "This is a demo", next)
			})
		}
	}
}

// TestAnswersAreStoredAtTheirEnd checks that an answer is stored for every kind of ending, and before its end is sent;
// one that breaks off is not stored.
func TestAnswersAreStoredAtTheirEnd(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"responses", "openai"} {
		k := harness.OpenKept(t, speaks, "", nil)
		for _, members := range []string{
			`"model":"house/chat:usage=missing","input":"Hi"`,
			`"model":"house/chat:usage=twice","input":"Hi"`,
			`"model":"house/chat:fault=not-stream","input":"Hi"`,
			`"model":"house/chat","input":"Hi","max_output_tokens":16`,
			`"model":"house/reason","input":"Hi"`,
		} {
			for _, stream := range []string{"false", "true"} {
				want, id := harness.Responded(t, k.Respond(members+`,"stream":`+stream))
				checkKept(t, k.Gateway, want, id, "null")
			}
		}
		cut := k.Respond(`"model":"house/chat:fault=cut,at=5","input":"Hi","stream":true`)
		_, id, _ := strings.Cut(cut.Body, `"response":{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		if id == "" {
			t.Fatalf("no id in %s", cut.Body)
		}
		wantOpenAIError(t, k.Do(harness.Ask{Path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
	}
}

// TestFailedAnswersAreNotStored checks that an answer that its provider abandoned is not stored, whole or streamed.
func TestFailedAnswersAreNotStored(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"Hel"},"finish_reason":"error"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(up.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL)})
	for _, stream := range []string{"false", "true"} {
		r := h.Do(harness.Ask{Path: "/v1/responses", Body: `{"model":"house/chat","input":"Hi","stream":` + stream + `}`})
		id := "resp_" + r.Header.Get("X-Request-Id")
		if r.Status != http.StatusBadGateway {
			t.Errorf("stream %s: %d %s, want a failure", stream, r.Status, r.Body)
		}
		wantOpenAIError(t, h.Do(harness.Ask{Path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
	}
}

// checkKept compares a stored response with the answer.
func checkKept(t *testing.T, h *harness.Gateway, want, id, previous string) {
	t.Helper()
	r := h.Do(harness.Ask{Path: "/v1/responses/" + id})
	if r.Status != http.StatusOK {
		t.Fatalf("get %s: %d %s", id, r.Status, r.Body)
	}
	got, was := harness.RawMembers(t, r.Body), harness.RawMembers(t, want)
	if string(got["store"]) != "true" || string(got["previous_response_id"]) != previous {
		t.Errorf("get %s: store %s, previous %s; want true, %s", id, got["store"], got["previous_response_id"], previous)
	}
	for name, value := range was {
		if name != "store" && name != "previous_response_id" && string(got[name]) != string(value) {
			t.Errorf("get %s: %s is %s, was %s", id, name, got[name], value)
		}
	}
	harness.WantCommonHeaders(t, r.Header)
}

// TestStoredResponsesBelongToTheirKey checks that one API key cannot read another's stored responses.
func TestStoredResponsesBelongToTheirKey(t *testing.T) {
	t.Parallel()
	k := harness.OpenKept(t, "responses", "", nil)
	stranger := k.NewKey(account.KeyOptions{Account: "default"})
	object, id := harness.Responded(t, k.Respond(`"model":"house/chat","input":"Hi"`))
	var o struct{ Output []struct{ ID string } }
	if err := json.Unmarshal([]byte(object), &o); err != nil || len(o.Output) == 0 {
		t.Fatalf("%s: %v", object, err)
	}
	missing := openaiError(404, "", "response_not_found")
	for _, a := range []harness.Ask{
		{Path: "/v1/responses/" + id},
		{Path: "/v1/responses/" + id + "/input_items"},
		{Method: http.MethodDelete, Path: "/v1/responses/" + id},
		{Method: http.MethodPost, Path: "/v1/responses/" + id + "/cancel"},
	} {
		a.Key = stranger
		wantOpenAIError(t, k.Do(a), missing)
	}
	goOn := `{"model":"house/chat","input":"x","previous_response_id":"` + id + `"}`
	wantOpenAIError(t, k.Do(harness.Ask{Path: "/v1/responses", Key: stranger, Body: goOn}), openaiError(400, "previous_response_id", "previous_response_not_found"))
	refer := `{"model":"house/chat","input":[{"type":"item_reference","id":"` + o.Output[0].ID + `"},{"role":"user","content":"x"}]}`
	wantOpenAIError(t, k.Do(harness.Ask{Path: "/v1/responses", Key: stranger, Body: refer}), openaiError(400, "input", ""))

	if r := k.Do(harness.Ask{Path: "/v1/responses", Body: refer}); r.Status != http.StatusOK || !strings.Contains(k.Last(), `"text":"Hello! This is a demo`) {
		t.Errorf("a reference: %d %s; the provider saw %s", r.Status, r.Body, k.Last())
	}
	for _, header := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if r := k.Do(harness.Ask{Path: "/v1/responses/" + id, Key: harness.NoKey, Header: []string{header, k.Key}}); r.Status != http.StatusOK {
			t.Errorf("with the key in %s: %d %s", header, r.Status, r.Body)
		}
	}
}

// TestMistakesAtStoredResponses checks the refusals of the client APIs of stored responses.
func TestMistakesAtStoredResponses(t *testing.T) {
	t.Parallel()
	k := harness.OpenKept(t, "responses", "", nil)
	_, id := harness.Responded(t, k.Respond(`"model":"house/chat","input":"Hi"`))
	_, unkept := harness.Responded(t, k.Respond(`"model":"house/chat","input":"Hi","store":false`))
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
		wantOpenAIError(t, k.Do(harness.Ask{Path: "/v1/responses/" + path}), want)
	}
	wantOpenAIError(t, k.Do(harness.Ask{Method: http.MethodPost, Path: "/v1/responses/" + id + "/cancel"}), openaiError(400, "", ""))
	wantOpenAIError(t, k.Do(harness.Ask{Method: http.MethodPost, Path: "/v1/responses/" + unkept + "/cancel"}), openaiError(404, "", "response_not_found"))
	wantOpenAIError(t, k.Do(harness.Ask{Method: http.MethodPut, Path: "/v1/responses/" + id}), openaiError(405, "", "method_not_supported"))
	wantOpenAIError(t, k.Respond(`"model":"house/chat","input":"Hi","background":true`), openaiError(400, "background", ""))
	wantOpenAIError(t, k.Respond(`"model":"house/chat","input":"Hi","conversation":"conv_1"`), openaiError(400, "conversation", ""))
	if n := len(k.Bodies); n != 2 {
		t.Errorf("the provider got %d requests, want two", n)
	}
}

// TestStoredResponsesExpire checks the retention of a response.
func TestStoredResponsesExpire(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ahead := time.Duration(0)
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}
	k := harness.OpenKept(t, "openai", "retention: {responses: 2h}\n", now)
	_, id := harness.Responded(t, k.Respond(`"model":"house/chat","input":"Hi"`))
	if r := k.Do(harness.Ask{Path: "/v1/responses/" + id}); r.Status != http.StatusOK {
		t.Errorf("at once: %d %s", r.Status, r.Body)
	}
	mu.Lock()
	ahead = 2 * time.Hour
	mu.Unlock()
	wantOpenAIError(t, k.Do(harness.Ask{Path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
	wantOpenAIError(t, k.Respond(`"model":"house/chat","input":"x","previous_response_id":"`+id+`"`), openaiError(400, "previous_response_id", "previous_response_not_found"))

	none := harness.OpenKept(t, "openai", "retention: {responses: 0s}\n", nil)
	_, id = harness.Responded(t, none.Respond(`"model":"house/chat","input":"Hi"`))
	wantOpenAIError(t, none.Do(harness.Ask{Path: "/v1/responses/" + id}), openaiError(404, "", "response_not_found"))
}

// TestReplayedResponseIsContinued sends a request with an Idempotency-Key that continues another one: it is replayed,
// and can be continued itself.
func TestReplayedResponseIsContinued(t *testing.T) {
	t.Parallel()
	k := harness.OpenKept(t, "openai", "", nil)
	_, id := harness.Responded(t, k.Respond(`"model":"house/chat","input":"One"`))
	a := harness.Keyed("/v1/responses", `{"model":"house/chat","input":"Two","previous_response_id":"`+id+`"}`, "once")
	first, next := harness.Responded(t, k.Do(a))
	again := k.Do(a)
	if again.Body != first || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: %d %s; want %s", again.Status, again.Body, first)
	}
	harness.Responded(t, k.Respond(`"model":"house/chat","input":"Three","previous_response_id":"`+next+`"`))
	if n := len(k.Bodies); n != 3 || !strings.Contains(k.Last(), "One") || !strings.Contains(k.Last(), "Two") {
		t.Errorf("the provider got %d requests, at last %s", n, k.Last())
	}
}
