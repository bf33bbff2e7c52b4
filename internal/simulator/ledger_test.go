package simulator_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

// TestHangUp has a client read k pieces and disconnect: the ledger has the output generated until then. Over a socket
// some more pieces are in flight.
func TestHangUp(t *testing.T) {
	t.Parallel()
	for i, most := range []int64{4, 2} {
		for _, k := range []int{0, 1, 7} {
			s := newSimulator(t, simulator.Options{})
			w := ways(t, s)[i]
			ctx, cancel := context.WithCancel(context.Background())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/v1/chat/completions", strings.NewReader(stream("chat:tokens=100000,pace=20ms")))
			must.Do(t, err)
			resp := must.Get(w.rt.RoundTrip(req))(t)
			readPieces(t, resp.Body, k)
			left := time.Now()
			cancel()
			resp.Body.Close()
			got := settled(t, s)
			if got.Outcome != simulator.ClientGone || !got.Canceled || got.EndMarker || got.Reported != nil {
				t.Errorf("%s, left after %d: %+v", w.name, k, got)
			}
			if out := got.Usage[llm.Output]; out < int64(k) || out > int64(k)+most || out != got.Pieces {
				t.Errorf("%s, left after %d: the record has %d tokens, %d pieces", w.name, k, out, got.Pieces)
			}
			if late := got.Ended.Sub(left); late > 2*time.Second {
				t.Errorf("%s, left after %d: noticed after %v", w.name, k, late)
			}
		}
	}
}

func readPieces(t *testing.T, r io.Reader, k int) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 1)
	for strings.Count(got.String(), `"content":"`)-strings.Count(got.String(), `"content":""`) < k || !strings.HasSuffix(got.String(), "\n") {
		if _, err := r.Read(buf); err != nil {
			t.Fatalf("after %q: %v", got.String(), err)
		}
		got.Write(buf)
	}
}

// TestBackpressureOfSlowReader checks that a slow reader slows the answer: nothing is generated in advance.
func TestBackpressureOfSlowReader(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	req, err := http.NewRequest(http.MethodPost, "http://demo/v1/chat/completions", strings.NewReader(stream("chat:tokens=1000000")))
	must.Do(t, err)
	resp := must.Get(s.RoundTripper().RoundTrip(req))(t)
	readPieces(t, resp.Body, 3)
	time.Sleep(20 * time.Millisecond)
	resp.Body.Close()
	if got := settled(t, s); got.Pieces < 3 || got.Pieces > 4 {
		t.Errorf("after 3 pieces were read, the record has %d", got.Pieces)
	}
}

// TestRecordIsComplete checks that the record exists before the answer, and is complete when the answer is.
func TestRecordIsComplete(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Clock: func() time.Time { return epoch }, APIKeys: []string{"right"}})
	for _, w := range ways(t, s) {
		for _, body := range []string{whole("chat"), stream("chat")} {
			w.ask(body, "Authorization", "Bearer right", "X-Client-Request-Id", "attempt-"+w.name)
			found := s.Ledger().Attempt("attempt-" + w.name)
			got := found[len(found)-1]
			if got.Outcome != simulator.Served || got.Dialect != "openai" || got.Model != "chat" || got.Status != 200 ||
				got.Received != epoch || got.Ended != epoch || got.Key == "" || strings.Contains(got.Key, "right") || got.EndMarker != got.Stream {
				t.Errorf("%s: the record at the end of the answer is %+v", w.name, got)
			}
		}
		w.ask(whole("chat"), "x-api-key", "wrong")
		if got := settled(t, s); got.Outcome != simulator.Rejected || got.Status != 401 {
			t.Errorf("%s: wrong key: %+v", w.name, got)
		}
		w.ask(`{"model":`, "x-api-key", "right")
		if got := settled(t, s); got.Outcome != simulator.Rejected || got.Status != 400 || !got.Usage.IsZero() {
			t.Errorf("%s: broken body: %+v", w.name, got)
		}
	}
	if got := s.Ledger().Totals(); got.Requests != 8 || got.Outcomes[simulator.Served] != 4 || got.Usage[llm.Output] != 4*32 || got.Reported != got.Usage {
		t.Errorf("totals: %+v", got)
	}
}

func TestLedgerOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	w := ways(t, s)[0]
	for _, attempt := range []string{"a", "b", "a", ""} {
		w.ask(stream("chat:tokens=3,prompt=9,cached=4,usage=negative"), "X-Client-Request-Id", attempt)
	}
	for query, want := range map[string][]int64{"": {1, 2, 3, 4}, "?attempt=a": {1, 3}, "?attempt=": {4}, "?since=3": {4}, "?since=9": nil, "?attempt=a&since=1": {3}} {
		text := w.get(t, "/ledger"+query)
		var records []struct {
			Seq      int64
			Usage    map[string]int64
			Reported map[string]int64
			Raw      json.RawMessage `json:"reported_raw"`
			Ended    *time.Time
			Outcome  string
			Marker   bool `json:"end_marker"`
		}
		if err := json.Unmarshal([]byte(text), &records); err != nil {
			t.Fatalf("/ledger%s: %v: %s", query, err, text)
		}
		if len(records) != len(want) {
			t.Errorf("/ledger%s: %d records, want %v", query, len(records), want)
			continue
		}
		for i, r := range records {
			if r.Seq != want[i] || r.Usage["input"] != 5 || r.Usage["cache_read"] != 4 || r.Usage["output"] != 3 || r.Reported != nil ||
				!strings.Contains(string(r.Raw), `"prompt_tokens":-9`) || r.Ended == nil || r.Outcome != "served" || !r.Marker {
				t.Errorf("/ledger%s: record %d is %s", query, i, text)
			}
		}
	}
	if got := w.get(t, "/ledger?since=x"); !strings.Contains(got, "since must be a sequence number") {
		t.Errorf("/ledger?since=x: %s", got)
	}
	if got, want := w.get(t, "/ledger/totals"), `{"requests":4,"dropped":0,"canceled":0,"outcomes":{"served":4},"usage":{"input":20,"cache_read":16,"output":12},"reported":{}}`; strings.TrimSpace(got) != want {
		t.Errorf("/ledger/totals: got %s, want %s", got, want)
	}
	clearLedger(t, w)
	if got := w.get(t, "/ledger"); strings.TrimSpace(strings.ReplaceAll(got, "\n", "")) != "[]" {
		t.Errorf("/ledger after DELETE: %s", got)
	}
	w.ask(whole("chat"))
	if got := settled(t, s); got.Seq != 5 {
		t.Errorf("sequence after DELETE: %d, want 5", got.Seq)
	}
}

func clearLedger(t *testing.T, w way) {
	t.Helper()
	req := must.Get(http.NewRequest(http.MethodDelete, w.base+"/ledger", nil))(t)
	resp := must.Get(w.rt.RoundTrip(req))(t)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE /ledger: %d, want 204", resp.StatusCode)
	}
}

// TestLedgerIsBounded checks that dropped records still count in the totals.
func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{MaxRecords: 3})
	w := ways(t, s)[1]
	for range 8 {
		w.ask(whole("chat:tokens=1"))
	}
	var seqs []int64
	for r := range s.Ledger().Records(0) {
		seqs = append(seqs, r.Seq)
	}
	if len(seqs) != 3 || seqs[0] != 6 || seqs[2] != 8 {
		t.Errorf("the ledger of three has %v, want 6 to 8", seqs)
	}
	if got := s.Ledger().Totals(); got.Requests != 8 || got.Dropped != 5 || got.Usage[llm.Output] != 8 {
		t.Errorf("totals: %+v", got)
	}
}

// TestManyClients checks that the ledger loses nothing under load, and that its usage equals the sum of the reported
// usage.
func TestManyClients(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	both := ways(t, s)
	models := []string{"chat", "echo", "reason", "chat:unicode,tokens=9", "chat:fault=cut", "chat:status=500,flap=2", "chat:usage=over"}
	const clients, each = 8, 30
	var told atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for j := range each {
				body := whole(models[j%len(models)])
				if j%2 == 0 {
					body = stream(models[j%len(models)])
				}
				told.Add(toldOutput(both[i%2].ask(body).body))
				s.Ledger().Totals()
			}
		})
	}
	wg.Wait()
	got := s.Ledger().Totals()
	if got.Requests != clients*each || got.Outcomes[simulator.Open] != 0 || got.Canceled != 0 {
		t.Errorf("totals of %d requests: %+v", clients*each, got)
	}
	if got.Reported.OutputTokens() != told.Load() || told.Load() == 0 {
		t.Errorf("clients got %d output tokens, the ledger has %d", told.Load(), got.Reported.OutputTokens())
	}
}

// toldOutput returns the output tokens that a body reports.
func toldOutput(body string) int64 {
	_, rest, ok := strings.Cut(body, `"completion_tokens":`)
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, ",")
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// TestCloseEndsAnswers checks that closing the simulator cuts off answers that would wait for ever.
func TestCloseEndsAnswers(t *testing.T) {
	t.Parallel()
	for i := range 2 {
		for _, model := range []string{"chat:fault=silence", "chat:fault=stall", "chat:pace=1h", "chat:fault=half-close"} {
			s := newSimulator(t, simulator.Options{})
			w := ways(t, s)[i]
			time.AfterFunc(20*time.Millisecond, s.Close)
			if got := w.ask(stream(model)); got.ending() != cutOff {
				t.Errorf("%s, %s: ended %s, want %s", w.name, model, got.ending(), cutOff)
			}
		}
	}
}
