package toolloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/toolloop"
)

// failAt lets the n-th call of the fixture fail, after it was sent.
func (f *fixture) failAt(n int, failure error) {
	tools := f.tools
	f.use(func(ctx context.Context, c *toolloop.Caller, server string) ([]toolloop.Tool, error) {
		all, err := tools(ctx, c, server)
		for i := range all {
			call := all[i].Call
			all[i].Call = func(ctx context.Context, arguments []byte, number int) (*toolloop.Result, error) {
				if len(f.ran)+1 == n {
					f.ran = append(f.ran, "failed")
					return &toolloop.Result{Charge: new(llm.Money(5_000_000))}, failure
				}
				return call(ctx, arguments, number)
			}
		}
		return all, err
	})
}

// TestResultsBeforeFailureAreNotLost checks that an answer has the results of calls that were made before one, or the
// model itself, was refused: an approval is valid once, so they could not be made again.
func TestResultsBeforeFailureAreNotLost(t *testing.T) {
	t.Parallel()
	const call = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"files__read","arguments":"{}"}`
	twice := `{"id":"resp_1","object":"response","status":"completed","output":[` + call + `,` + strings.ReplaceAll(call, "_1", "_2") + `]}`
	const refusal = `{"error":{"message":"No room."}}`
	noRoom := llm.Errorf(llm.CodeBudgetExceeded, "No room.")
	for name, test := range map[string]struct {
		last   string // answer of the model after the approvals
		failAt int
		asks   int // of the model, after the approvals
	}{
		"the model is refused": {refusal, 0, 1}, "the second call is refused": {saying, 2, 0},
	} {
		f := newFixture(t, twice)
		first := f.want(`{"model":"m","input":"Hi",` + always + `}`)
		var input []string
		for _, item := range first["output"].([]any) {
			request := item.(map[string]any)
			input = append(input, string(must.Get(json.Marshal(request))(t)))
			if request["type"] == "mcp_approval_request" {
				input = append(input, fmt.Sprintf(`{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}`, request["id"]))
			}
		}
		f.script, f.sent = []string{test.last}, nil
		f.failAt(test.failAt, noRoom)
		got := f.want(`{"model":"m","input":[` + strings.Join(input, ",") + `],` + always + `}`)
		if got["status"] != "failed" || itemOf(t, got, "mcp_call")["output"] != "found it" || len(f.sent) != test.asks {
			t.Errorf("%s: got %v after %d requests, want a failed answer with the first result after %d", name, got, len(f.sent), test.asks)
		}
	}

	f := newFixture(t, twice)
	f.failAt(2, noRoom)
	got := f.want(`{"model":"m","input":"Hi",` + never + `}`)
	if got["status"] != "failed" || itemOf(t, got, "mcp_call")["output"] != "found it" || len(f.ran) != 2 {
		t.Errorf("the second call of a model is refused: got %v after %q, want a failed answer with the first result", got, f.ran)
	}
}

// TestFailedCallIsInSum checks that the cost of an answer has the charges of calls that failed after they were sent.
func TestFailedCallIsInSum(t *testing.T) {
	t.Parallel()
	f := newFixture(t, calling, saying)
	f.failAt(1, llm.Errorf(llm.CodeProviderTimeout, "The server did not answer."))
	w := must.Get(f.send(`{"model":"m","input":"Hi",` + never + `}`))(t)
	cost := w.Header()["X-Weir-Cost-USD"] //nolint:staticcheck // its capitals are its own
	if w.Code != http.StatusOK || len(cost) != 1 || cost[0] != "0.009" {
		t.Errorf("got %d with the cost %v, want 0.009: two requests for 0.002 and a failed call for 0.005", w.Code, cost)
	}
}

// TestMemoryOfLoopIsReserved checks that a loop reserves memory for all answers and results, and ends without it.
func TestMemoryOfLoopIsReserved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, calling, saying)
	f.want(`{"model":"m","input":"Hi",` + never + `}`)
	if want := int64(2 * (len(calling) + len("found it") + len(saying))); f.memory != want {
		t.Errorf("got %d reserved bytes, want %d", f.memory, want)
	}
	f = newFixture(t, calling)
	f.free = 5000
	got := f.want(`{"model":"m","input":"Hi",` + never + `}`)
	if got["status"] != "failed" || itemOf(t, got, "mcp_call")["output"] != "found it" || len(f.sent) > 10 {
		t.Errorf("without free memory: got %v after %d requests, want a failed answer with the results so far", got, len(f.sent))
	}
}

// TestToolThatAsksForInputFails checks that a model does not take a request for input for an empty result.
func TestToolThatAsksForInputFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, calling, saying)
	f.result = `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"s"}`
	call := itemOf(t, f.want(`{"model":"m","input":"Hi",`+never+`}`), "mcp_call")
	if call["status"] != "failed" || !strings.Contains(f.sent[1], "asks for input") {
		t.Errorf("got %v and the request %s, want a failed call", call, f.sent[1])
	}
}
