package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// vendors simulates two providers of different wire formats: the first one refuses every request by its content policy,
// the second one answers, and records its requests.
type vendors struct {
	refusing, answering *httptest.Server
	mu                  sync.Mutex
	refused             int
	bodies              []string
}

func newVendors(t *testing.T) *vendors {
	v := &vendors{}
	v.refusing = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		v.mu.Lock()
		v.refused++
		v.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":"content_filter","message":"The request was refused by the content policy."}}`)
	}))
	v.answering = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.bodies = append(v.bodies, string(body))
		v.mu.Unlock()
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, anthropicStream)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Done"}],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":5}}`)
	}))
	t.Cleanup(v.refusing.Close)
	t.Cleanup(v.answering.Close)
	return v
}

const anthropicStream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`

// open starts a gateway before the vendors, with an alias of these members.
func (v *vendors) open(t *testing.T, members string) *harness.Gateway {
	second := strings.Replace(strings.Replace(harness.ProviderYAML("claude", v.answering.URL), "dialect: openai", "dialect: anthropic", 1), v.answering.URL+"/v1", v.answering.URL, 1)
	return harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("gpt", v.refusing.URL) + second +
		"aliases: {any: {targets: [gpt/m, claude/m]" + members + "}}\nprices:\n  gpt/*: {input: \"1\", output: \"2\"}\n  claude/*: {input: \"3\", output: \"4\"}\n"})
}

// takeBodies returns the second vendor's requests since the last call, and the number of the first one's.
func (v *vendors) takeBodies() (refused int, bodies []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	refused, bodies = v.refused, v.bodies
	v.refused, v.bodies = 0, nil
	return refused, bodies
}

// longName is a tool's name that is longer than the second vendor permits.
var longName = strings.Repeat("n", 140)

// anthropicIDs matches the ids of a call and of its result in the second vendor's permitted letters.
var anthropicIDs = regexp.MustCompile(`"type":"tool_use","id":"(functions_f_0\w*)".*"tool_use_id":"(functions_f_0\w*)"`)

// called has a conversation for each client API with a call whose id the first vendor accepts and the second one does
// not.
var called = map[string]string{
	"/v1/chat/completions": `{"model":"any","stream":%v,"max_tokens":50,"messages":[{"role":"user","content":"Go"},{"role":"assistant","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"` + longName + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"functions.f:0","content":"1"}]}`,
	"/v1/responses":        `{"model":"any","stream":%v,"max_output_tokens":50,"input":[{"role":"user","content":"Go"},{"type":"function_call","call_id":"functions.f:0","name":"` + longName + `","arguments":"{}"},{"type":"function_call_output","call_id":"functions.f:0","output":"1"}]}`,
}

// TestFallbackIsFittedToItsVendor checks that a fallback to another vendor has a request by that vendor's own rules,
// that the client gets its answer, and that each attempt is in the ledger.
func TestFallbackIsFittedToItsVendor(t *testing.T) {
	t.Parallel()
	v := newVendors(t)
	h := v.open(t, ", on: [content_policy]")
	for path, body := range called {
		for _, stream := range []bool{false, true} {
			r := h.Do(harness.Ask{Path: path, Body: fmt.Sprintf(body, stream)})
			refused, bodies := v.takeBodies()
			if r.Status != http.StatusOK || !strings.Contains(r.Body, "Done") || refused != 1 || len(bodies) != 1 {
				t.Errorf("%s, stream %v: got %d %s, with %d and %d requests; want the second vendor's answer after one refusal", path, stream, r.Status, r.Body, refused, len(bodies))
				continue
			}
			ids := anthropicIDs.FindStringSubmatch(bodies[0])
			if ids == nil || ids[1] != ids[2] || strings.Contains(bodies[0], longName) {
				t.Errorf("%s, stream %v: the second vendor got %s, want a call and its result with an id like functions_f_0, and a shorter name", path, stream, bodies[0])
			}
			rows := h.CountedRows(t, r)
			if len(rows) != 2 || rows[0].Model != "gpt/m" || rows[1].Model != "claude/m" || rows[1].Cost != "0.00008" {
				t.Errorf("%s, stream %v: the ledger has %+v, want an attempt at each vendor, and 20 tokens in and 5 out at the second", path, stream, rows)
			}
		}
	}
}

// TestPolicyEndsWhereItIsNoCause checks that a refusal by policy reaches the client if the alias does not name it as a
// cause.
func TestPolicyEndsWhereItIsNoCause(t *testing.T) {
	t.Parallel()
	for _, members := range []string{"", ", on: [overloaded, invalid_request]", ", on: []"} {
		v := newVendors(t)
		h := v.open(t, members)
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(called["/v1/chat/completions"], false)})
		if refused, bodies := v.takeBodies(); r.Status != http.StatusBadRequest || refused != 1 || len(bodies) != 0 {
			t.Errorf("an alias with %q: got %d %s, with %d and %d requests; want 400 after one", members, r.Status, r.Body, refused, len(bodies))
		}
	}
}

// TestCausesPassNoBudget checks that no cause has a request fall back to a target without room in the budget: a refusal
// by the budget is not a failure of a provider, at the first target or the second.
func TestCausesPassNoBudget(t *testing.T) {
	t.Parallel()
	v := newVendors(t)
	var words []string
	for _, c := range llm.Causes() {
		words = append(words, string(c))
	}
	h := v.open(t, ", on: ["+strings.Join(words, ", ")+"]")
	ask := harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(called["/v1/chat/completions"], false)}
	for _, test := range []struct {
		limit         llm.Money
		status, asked int
		name          string
	}{
		{1, http.StatusTooManyRequests, 0, "room for neither"},
		{3_000_000, http.StatusBadRequest, 1, "room for the first alone"},
	} {
		h.SetBudget(test.limit, budget.PeriodTotal)
		r := h.Do(ask)
		if refused, bodies := v.takeBodies(); r.Status != test.status || refused != test.asked || len(bodies) != 0 {
			t.Errorf("%s: got %d %s, with %d and %d requests; want %d after %d", test.name, r.Status, r.Body, refused, len(bodies), test.status, test.asked)
		}
	}
}
