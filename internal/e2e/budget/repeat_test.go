package budget_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestRepeatsOfALateAnswer repeats a request with a late answer again and again, by several clients in any order, at
// every client API: all of them receive the one answer of the provider, and it is charged once.
func TestRepeatsOfALateAnswer(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(slowYAML(up.URL), "first_byte: 1s", "first_byte: 2s", 1)})
	h.SetBudget(1000*llm.USD, budget.PeriodTotal)
	all := harness.ChatAPIs()
	atOnce(t, all, func(t *testing.T, i int, api *harness.ChatAPI) { repeatLate(t, h, up, api, 11+i) })
	want := fmt.Sprint(2 * len(all)) // the first ones, and those after all repetitions had their answer
	harness.Await(t, want+" requests in the ledger", func() bool { return h.Uses("").Total.Requests.String() == want })
	h.Verify(t)
}

// atOnce tests each client API, all at once: they wait more than they compute.
func atOnce(t *testing.T, all []harness.ChatAPI, test func(t *testing.T, i int, api *harness.ChatAPI)) {
	t.Helper()
	var tests sync.WaitGroup
	for i := range all {
		tests.Go(func() { t.Run(all[i].Path, func(t *testing.T) { test(t, i, &all[i]) }) })
	}
	tests.Wait()
}

// repeatLate tests one client API. The answers have the given number of tokens, which identifies the test in the
// provider's records.
func repeatLate(t *testing.T, h *harness.Gateway, up *harness.Upstream, api *harness.ChatAPI, tokens int) {
	ask, _ := api.Ask("", fmt.Sprintf("house/chat:tokens=%d,ttft=6s", tokens), false)
	first := h.Do(ask)
	if first.Status != 504 || !strings.Contains(first.Body, "send the same request again") {
		t.Fatalf("%d %s, want 504 that explains repetitions", first.Status, first.Body)
	}
	id := first.Header.Get("X-Request-Id")
	var clients sync.WaitGroup
	for range 1 + rand.IntN(4) {
		pause := time.Duration(rand.IntN(100)) * time.Millisecond
		clients.Go(func() {
			time.Sleep(pause)
			wantLateAnswer(t, h, ask, id)
		})
	}
	clients.Wait()
	if row := attempts(h, first, 1)[0]; row.Out != int64(tokens) || row.Provenance != "exact" || !row.Counts {
		t.Errorf("the ledger has %+v, want %d tokens of output", row, tokens)
	}
	if n := servedWith(t, up, tokens); n != 1 {
		t.Errorf("the provider served %d answers, want 1", n)
	}
	if again := h.Do(ask); again.Status != 504 || servedWith(t, up, tokens) != 2 {
		t.Errorf("once all have it: %d %s, want a new request", again.Status, again.Body)
	}
}

// wantLateAnswer repeats a request until it is answered, as SDKs do, and checks that the answer is of the request with
// the id.
func wantLateAnswer(t *testing.T, h *harness.Gateway, ask harness.Ask, id string) {
	r := untilAnswered(h, ask)
	if of, cost := r.Header.Get("X-Weir-Answer-Of"), r.Header.Get("X-Weir-Cost-USD"); r.Status != 200 || of != id || cost == "" {
		t.Errorf("a repeat: %d, answer of %q, cost %q, want 200, %q and its cost: %s", r.Status, of, cost, id, r.Body)
	}
}

// servedWith returns the number of requests to the provider for answers of the given number of tokens.
func servedWith(t *testing.T, up *harness.Upstream, tokens int) (n int) {
	for _, r := range up.Records(t) {
		if strings.Contains(r.Model, fmt.Sprintf("tokens=%d,", tokens)) {
			n++
		}
	}
	return n
}

// TestNoRepeatOfALateAnswer checks which requests do not get the late answer of another one.
func TestNoRepeatOfALateAnswer(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: slowYAML(up.URL)})
	limited := h.NewKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 1}})
	hello := func(model, key string) harness.Ask {
		return harness.Ask{Path: "/v1/chat", Body: harness.Hello(model), Key: key}
	}
	stream := hello("house/chat:tokens=31,ttft=3s", "")
	stream.Header = []string{"Accept", "text/event-stream"}
	for i, tt := range []struct {
		name         string
		first, again harness.Ask
		status       int
		served       int // answers by the provider, in all
	}{
		{"another key", hello("house/chat:tokens=21,ttft=3s", h.Key), hello("house/chat:tokens=21,ttft=3s", h.KeyOfNew("other")), 504, 2},
		{"another body", hello("house/chat:tokens=22,ttft=3s", ""), harness.Ask{Path: "/v1/chat", Body: strings.Replace(harness.Hello("house/chat:tokens=22,ttft=3s"), "{", "{ ", 1)}, 504, 2},
		{"a limit", hello("house/chat:tokens=23,ttft=3s", limited), hello("house/chat:tokens=23,ttft=3s", limited), 429, 1},
		{"a late refusal", hello("house/chat:tokens=24,status=429,ttft=3s", ""), hello("house/chat:tokens=24,status=429,ttft=3s", ""), 504, 2},
		{"a stream", stream, stream, 504, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if r := h.Do(tt.first); r.Status != 504 || tt.name == "a stream" && strings.Contains(r.Body, "sent again") {
				t.Fatalf("%d %s, want 504", r.Status, r.Body)
			}
			again := tt.again
			r := h.Do(again)
			if tokens := []int{21, 22, 23, 24, 31}[i]; tt.name == "a late refusal" {
				for servedWith(t, up, tokens) < 2 { // it waits, and then is sent
					r = h.Do(again)
				}
			} else if n := servedWith(t, up, tokens); n != tt.served {
				t.Errorf("the provider got %d requests, want %d", n, tt.served)
			}
			if r.Status != tt.status || r.Header.Get("X-Weir-Answer-Of") != "" {
				t.Errorf("got %d, answer of %q, want %d and none: %s", r.Status, r.Header.Get("X-Weir-Answer-Of"), tt.status, r.Body)
			}
		})
	}
}

// TestRepeatOfALateCall checks that the calls of a late answer without ids of the provider's get unique ids, like those
// of any other answer, and that a tool of the client's own keeps its name and kind.
func TestRepeatOfALateCall(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(3 * time.Second)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,`+
			`"tool_calls":[{"type":"function","function":{"name":"weather","arguments":"{\"input\":\"x\"}"}}]}}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`)
	}))
	t.Cleanup(up.Close)
	h := harness.Open(t, harness.Setup{YAML: slowYAML(up.URL)})
	call := regexp.MustCompile(`"(?:id|call_id)":"((?:call|toolu)_[^"]+)"`)
	for dialect, want := range map[string]string{"openai": `"type":"function"`, "anthropic": `"type":"tool_use"`, "responses": `"type":"custom_tool_call"`} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			for _, model := range []string{"house/a", "house/b"} {
				r := untilAnswered(h, askWithTool(dialect, model))
				id := call.FindStringSubmatch(r.Body)
				if r.Header.Get("X-Weir-Answer-Of") == "" || !strings.Contains(r.Body, want) || id == nil || seen[id[1]] {
					t.Fatalf("%s: %d, answer of %q, want a call of %s with an id of its own, not of %v: %s", model, r.Status,
						r.Header.Get("X-Weir-Answer-Of"), want, seen, r.Body)
				}
				seen[id[1]] = true
			}
		})
	}
}

// askWithTool builds a request of a client API; at the Responses API with a tool that other wire formats lack.
func askWithTool(dialect, model string) harness.Ask {
	for _, api := range harness.VendorAPIs() {
		if api.Dialect == dialect {
			members := ""
			if dialect == "responses" {
				members = `,"tools":[{"type":"custom","name":"weather"}]`
			}
			return harness.Ask{Path: api.At(model, false), Body: api.Body(model, members)}
		}
	}
	return harness.Ask{}
}

// untilAnswered repeats a request, as SDKs do, until it is answered otherwise than by 504.
func untilAnswered(h *harness.Gateway, ask harness.Ask) (r harness.Reply) {
	for range 60 {
		if r = h.Do(ask); r.Status != 504 {
			break
		}
	}
	return r
}
