package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/must"
)

// TestCallThatMayHaveRunIsNotFree checks the rows of calls that a server, or a proxy before it, answers with an error.
// Only an answer that shows that the tool did not run makes the call free.
func TestCallThatMayHaveRunIsNotFree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answer string
		status int
		free   bool
	}{
		{`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`, http.StatusOK, true},
		{`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken after the payment"}}`, http.StatusOK, false},
		{`{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"timeout"}}`, http.StatusOK, false},
		{"slow down", http.StatusTooManyRequests, true},
		{"an unknown session, again and again", http.StatusNotFound, true},
		{"bad request", http.StatusBadRequest, true},
		{"no", http.StatusForbidden, true},
		{"the server crashed", http.StatusInternalServerError, false},
		{"the proxy waited long enough", http.StatusGatewayTimeout, false},
	} {
		p := newPeer(t, true)
		served := p.Config.Handler
		p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") != "tools/call" {
				served.ServeHTTP(w, r)
				return
			}
			answer := test.answer
			if test.status == http.StatusOK {
				w.Header().Set("Content-Type", "application/json")
				answer = fmt.Sprintf(answer, idOf(t, r))
			}
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(answer))
		})
		h := harness.Open(t, harness.Setup{YAML: p.yaml(prices)})
		session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "peer__sum", Arguments: map[string]int{"a": 1, "b": 1},
		})
		if err == nil {
			t.Errorf("%s: got a result, want an error", test.answer)
		}
		var e ledger.Entry
		harness.Await(t, "the row", func() bool {
			e = h.EntryOf(t, "mcp.peer/sum")
			return e.Outcome != ""
		})
		got := fmt.Sprintf("%s %s, at most %s", e.Provenance, e.Cost, e.AtMost)
		want := "exact 0, at most 0"
		if !test.free {
			want = "estimated 0.5, at most 0" // a bound that is not above the cost is left out
		}
		must.Equal(t, got, want, "%s", test.answer)
		if test.free != (e.Outcome == ledger.OutcomeRejected) {
			t.Errorf("%s: got the outcome %s", test.answer, e.Outcome)
		}
	}
}

// idOf returns the id of a request.
func idOf(t *testing.T, r *http.Request) string {
	t.Helper()
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		t.Errorf("read a request: %v", err)
	}
	return string(message.ID)
}

// TestReportedCostsAreRead checks the rows of results with a cost, as programs write numbers. One that is no amount
// leaves the cost unknown, up to what was held, and is not free.
func TestReportedCostsAreRead(t *testing.T) {
	t.Parallel()
	for reported, want := range map[string]string{
		`"0.25"`: "exact 0.25, at most 0", "0.25": "exact 0.25, at most 0", "0": "exact 0, at most 0", "null": "exact 0, at most 0",
		"30": "exact 30, at most 0", "30.000000001": "assumed 0, at most 30", `"31"`: "assumed 0, at most 30",
		"1e-05": "exact 0.00001, at most 0", "0.30000000000000004": "exact 0.3, at most 0", "2.5E1": "exact 25, at most 0",
		"-5": "assumed 0, at most 30", "-1e-3": "assumed 0, at most 30", "1e300": "assumed 0, at most 30", "99999999": "assumed 0, at most 30",
		`"NaN"`: "assumed 0, at most 30", `"Inf"`: "assumed 0, at most 30", `"$1"`: "assumed 0, at most 30", `{"usd":1}`: "assumed 0, at most 30",
	} {
		p := newPeer(t, true)
		served := p.Config.Handler
		p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") != "tools/call" {
				served.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[],"_meta":{"cost":%s}}}`, idOf(t, r), reported)
		})
		h := harness.Open(t, harness.Setup{YAML: p.yaml("    cost_member: cost\n    cost_at_most: \"30\"\n")})
		session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "peer__paid", Arguments: map[string]int{}})
		must.Do(t, err)
		var e ledger.Entry
		harness.Await(t, "the row", func() bool {
			e = h.EntryOf(t, "mcp.peer/paid")
			return e.Outcome != ""
		})
		must.Equal(t, fmt.Sprintf("%s %s, at most %s", e.Provenance, e.Cost, e.AtMost), want, "%s", reported)
		h.Verify(t)
	}
}
