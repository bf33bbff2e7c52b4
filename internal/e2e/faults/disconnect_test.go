package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/simulator"
)

// TestClientLeaves has clients of an account that cancels everything disconnect before the end: the provider's request
// is cancelled at once, the counted part is charged, and the most that it can have cost is the bound.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	h.SetOnDisconnect(account.DisconnectCancel)
	const streamed = "text/event-stream"
	tests := []struct {
		name, path, body, accept string
		lines                    int
		output                   bool // some of the answer had arrived
	}{
		{"whole, before the first byte", "/v1/chat", harness.Hello("house/chat:ttft=1m"), "", 0, false},
		{"whole, in the middle", "/v1/chat", harness.Hello("house/chat:fault=stall"), "", 0, false},
		{"stream, before the first byte", "/v1/chat", harness.Hello("house/chat:ttft=1m"), streamed, 0, false},
		{"stream, in the silence after the headers", "/v1/chat", harness.Hello("house/chat:ttft=1m,early"), streamed, 0, false},
		{"stream, between pieces", "/v1/chat", harness.Hello("house/chat:tokens=1000,pace=20ms"), streamed, 7, true},
		{"stream, silent after three", "/v1/chat", harness.Hello("house/chat:fault=stall"), streamed, 5, true},
		{"stream of many pieces", "/v1/chat", strings.Replace(harness.Hello("house/chat:tokens=1000000"), "{", `{"max_tokens":1000000,`, 1), streamed, 7, true},
		{"vendor's, between pieces", "/v1/chat/completions", harness.Completion("house/chat:tokens=1000,pace=20ms", harness.AsksUsage), "", 7, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h.Leave(harness.Ask{Path: test.path, Body: test.body, Header: []string{"Accept", test.accept}}, up, test.lines)
			record := up.Newest(t)
			if !record.Canceled {
				t.Errorf("the provider saw no cancel")
			}
			row := h.Row(harness.RequestOf(&record))
			if row.Outcome != "client_gone" || row.Provenance != "estimated" || row.In == 0 || row.Cost == "0" || !row.Counts {
				t.Errorf("the row is %+v, want client_gone, estimated at the input at least", row)
			}
			if e := h.Entry(t, harness.RequestOf(&record)); e.AtMost <= e.Cost || e.Code != ledger.CodeClientGone {
				t.Errorf("the row has at most %s and %s, want more than the estimate of %s and %s", e.AtMost, e.Code, e.Cost, ledger.CodeClientGone)
			}
			if (row.Out > 0) != test.output || row.Out > record.Usage.OutputTokens()+5 {
				t.Errorf("the row has %d tokens of output, the provider served %d", row.Out, record.Usage.OutputTokens())
			}
		})
	}
	if u := h.Uses(""); u.Total.Requests.String() != fmt.Sprint(len(tests)) {
		t.Errorf("%s requests, want %d", u.Total.Requests, len(tests))
	}
}

// TestManyClientsLeave has many more clients disconnect at once than are settled at a time: each stream is cancelled,
// and has one row with its provider's output.
func TestManyClientsLeave(t *testing.T) {
	t.Parallel()
	const clients = 100
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	ctx, leave := context.WithCancel(t.Context())
	var began, ended sync.WaitGroup
	ask := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=1000,pace=20ms"), Header: []string{"Accept", "text/event-stream"}}
	for range clients {
		began.Add(1)
		ended.Go(func() {
			resp, err := h.Client.Do(h.Request(ask).WithContext(ctx))
			if err != nil {
				t.Error(err)
				began.Done()
				return
			}
			defer resp.Body.Close()
			_, err = io.ReadFull(resp.Body, make([]byte, 200))
			if began.Done(); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
		})
	}
	began.Wait()
	leave()
	ended.Wait()
	records := up.Records(t)
	for i := range records {
		record := &records[i]
		rows := h.Rows(harness.RequestOf(record))
		if len(rows) != 1 || !record.Canceled {
			t.Fatalf("%d rows, cancelled %t; want one, cancelled", len(rows), record.Canceled)
		}
		row, gave := rows[0], record.Usage.OutputTokens()
		if row.Outcome != "client_gone" || row.Provenance != "estimated" || row.In == 0 || row.Out == 0 || row.Out > gave+5 {
			t.Errorf("the row is %+v, want client_gone, estimated at some of the %d tokens", row, gave)
		}
	}
	if u := h.Uses(""); len(records) != clients || u.Total.Requests.String() != fmt.Sprint(clients) {
		t.Errorf("the provider got %d requests, the ledger has %s, want %d", len(records), u.Total.Requests, clients)
	}
}

// TestDefaultOnDisconnect has clients of an account with the default setting disconnect: a whole answer is read to its
// end, a stream is cancelled, unless its provider charges for all of it.
func TestDefaultOnDisconnect(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.ProviderYAML("bills", up.URL) + "    bills_after_disconnect: \"yes\"\n" + harness.PerRequest})
	for _, test := range []struct {
		model, accept string
		lines         int
		drained       bool
	}{
		{"house/chat:tokens=20,pace=20ms", "", 0, true},
		{"house/chat:tokens=20,pace=20ms", "text/event-stream", 5, false},
		{"bills/chat:tokens=20,pace=20ms", "text/event-stream", 5, true},
	} {
		h.Leave(harness.Ask{Path: "/v1/chat", Body: harness.Hello(test.model), Header: []string{"Accept", test.accept}}, up, test.lines)
		record := up.Newest(t)
		row := h.Row(harness.RequestOf(&record))
		if record.Canceled == test.drained || (row.Provenance == "exact") != test.drained || test.drained && row.Out != 20 {
			t.Errorf("%s, %q: cancelled %t, the row is %+v; want it read to its end %t", test.model, test.accept, record.Canceled, row, test.drained)
		}
	}
}

// TestDrainReadsAnswerToItsEnd uses an account whose answers are read to the end.
func TestDrainReadsAnswerToItsEnd(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Timing: gateway.Timing{DrainAnswer: 3 * time.Second}})
	h.SetOnDisconnect(account.DisconnectDrain)
	for _, lines := range []int{0, 5} {
		a := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=20,pace=20ms"), Header: []string{"Accept", "text/event-stream"}}
		h.Leave(a, up, lines)
		record := up.Newest(t)
		row := h.Row(harness.RequestOf(&record))
		if record.Canceled || record.Outcome != simulator.Served || row.Provenance != "exact" || row.Out != 20 || row.In != record.Usage.InputTokens() {
			t.Errorf("after %d lines: the provider has %s, the row is %+v: want all 20 tokens, exact", lines, record.Outcome, row)
		}
	}
	h.Leave(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=20,pace=20ms")}, up, 0)
	record := up.Newest(t)
	if row := h.Row(harness.RequestOf(&record)); record.Canceled || row.Provenance != "exact" || row.Out != 20 {
		t.Errorf("a whole reply: the row is %+v, want all 20 tokens, exact", row)
	}

	h.Leave(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=1000000,uncapped,pace=20ms"), Header: []string{"Accept", "text/event-stream"}}, up, 5)
	record = up.Newest(t)
	if !record.Canceled {
		t.Error("an answer without end was not cancelled")
	}
	if row := h.Row(harness.RequestOf(&record)); row.Outcome != "client_gone" || row.Provenance != "estimated" || row.Out < 30 {
		t.Errorf("the row is %+v, want it estimated at the part that was read", row)
	}
}

// TestLeavesBeforeUsage has a client disconnect after all text: the gateway waits for the usage, but not for long.
func TestLeavesBeforeUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		wait                time.Duration // between the end of the answer and its usage
		outcome, provenance string
	}{
		{"usage comes", 100 * time.Millisecond, "ok", "exact"},
		{"no usage comes", time.Minute, "client_gone", "estimated"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}`+"\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(test.wait):
				case <-r.Context().Done():
					return
				}
				_, _ = io.WriteString(w, `data: {"choices":[]`+harness.Thousand+"}\n\ndata: [DONE]\n\n")
			}))
			t.Cleanup(ts.Close)
			h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(ts.URL), Timing: gateway.Timing{DrainUsage: 400 * time.Millisecond}})
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			a := harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/m", `,"stream":true`)}
			resp := must.Get(h.Client.Do(h.Request(a).WithContext(ctx)))(t)
			if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.Contains(line, "Hello") {
				t.Fatalf("got %q, %v", line, err)
			}
			leave()
			_ = resp.Body.Close()
			row := h.Row(resp.Header.Get("X-Request-Id"))
			if row.Outcome != test.outcome || row.Provenance != test.provenance || (row.In == 1000) != (test.provenance == "exact") {
				t.Errorf("the row is %+v, want %s, %s", row, test.outcome, test.provenance)
			}
		})
	}
}

// TestDrainsAreBounded has more clients disconnect than answers are drained: those beyond the bound are cancelled,
// count the most that they can have cost, and every slot is released.
func TestDrainsAreBounded(t *testing.T) {
	t.Parallel()
	const least, beyond = 16, 8 // the bound of drains does not depend on the number of requests in flight
	up := newHeld(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.url) + "max_concurrency: 40\n"})
	for round := range int64(2) {
		ctx, leave := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		model := fmt.Sprint("house/chat:seed=", round) // a request with the same seed would repeat a finished answer
		for range least + beyond {
			clients.Go(func() {
				for ctx.Err() == nil { // until then only those are answered that find no room
					r := h.Request(harness.Ask{Path: "/v1/chat", Body: harness.Hello(model)}).WithContext(ctx)
					if resp, err := h.Client.Do(r); err == nil {
						_ = resp.Body.Close()
					}
				}
			})
		}
		harness.Await(t, "all requests at the provider", func() bool { return up.asked.Load() == (round+1)*(least+beyond) })
		leave()
		clients.Wait()
		want := (round + 1) * beyond
		harness.Await(t, "the provider to see who is cancelled", func() bool { return up.canceled.Load() >= want })
		for range least {
			up.answers <- struct{}{}
		}
		harness.Await(t, "the other answers to be read", func() bool { return up.served.Load() == (round+1)*least })
		if got := up.canceled.Load(); got != want {
			t.Errorf("round %d: %d requests cancelled, want the %d beyond the bound", round, got, want)
		}
	}
}

// held is a provider that answers when it is released, and counts the requests that were cancelled before.
type held struct {
	url                     string
	asked, canceled, served atomic.Int64
	answers                 chan struct{}
}

func newHeld(t *testing.T) *held {
	t.Helper()
	up := &held{answers: make(chan struct{}, 100)}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees only then who leaves
		up.asked.Add(1)
		select {
		case <-r.Context().Done():
			up.canceled.Add(1)
		case <-up.answers:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}],`+
				`"usage":{"prompt_tokens":5,"completion_tokens":5}}`)
			up.served.Add(1)
		}
	}))
	t.Cleanup(ts.Close)
	up.url = ts.URL
	return up
}

// TestClientLeavesDemo has a client disconnect before the demo, in the gateway's own process, has begun to answer: the
// attempt was made, so it counts.
func TestClientLeavesDemo(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{})
	var e ledger.Entry
	wait := 150 * time.Millisecond
	harness.Await(t, "the attempt's row", func() bool {
		wait *= 2 // on a busy machine the gateway has not asked the demo by then
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		resp, err := h.Client.Do(h.Request(harness.Ask{Path: "/v1/chat", Body: harness.Hello("demo/chat:ttft=1m"), Header: []string{"Accept", "text/event-stream"}}).WithContext(ctx))
		if err == nil {
			resp.Body.Close()
			t.Fatalf("got %s, want no answer", resp.Status)
		}
		e = h.EntryOf(t, "demo/chat:ttft=1m")
		return e.Outcome != ""
	})
	if e.Outcome != ledger.OutcomeClientGone || e.AtMost <= e.Cost {
		t.Errorf("the row is %s, %s at most %s, want client_gone with an upper bound", e.Outcome, e.Cost, e.AtMost)
	}
}
