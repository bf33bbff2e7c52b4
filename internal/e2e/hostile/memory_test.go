package hostile_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// heap returns the bytes of the heap's objects.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakOf returns the growth of the heap while f runs.
func peakOf(f func()) uint64 {
	runtime.GC()
	before, peak := heap(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				peak = max(peak, heap())
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return max(peak, before) - before
}

// TestMemoryUnderHostileProviders bounds the memory that a provider can make the gateway use: a reply's bound and its
// growth, an event's bound, or almost nothing. It is not parallel, because it measures the whole process.
func TestMemoryUnderHostileProviders(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	filler := bytes.Repeat([]byte{'x'}, 64<<10)
	tests := []struct {
		name   string
		stream bool
		script func(c *net.TCPConn)
		most   uint64 // MiB
		total  string // time for all of it
	}{
		{"reply of 64 MiB", false, func(c *net.TCPConn) { say(c, jsonHead+"Content-Length: %d\r\n\r\n", 64<<20); repeat(c, filler) }, 224, "20s"},
		{"reply without end", false, func(c *net.TCPConn) { say(c, jsonHead+"\r\n"); repeat(c, filler) }, 224, "20s"},
		{"reply of many choices", true, func(c *net.TCPConn) {
			say(c, "%s", many(`{"id":"r","choices":[`, `{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}`, `]}`))
		}, 224, "20s"},
		{"reply of many calls", true, func(c *net.TCPConn) {
			say(c, "%s", many(`{"id":"r","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","tool_calls":[`, `0`, `]}}]}`))
		}, 224, "20s"},
		{"line without end", true, func(c *net.TCPConn) { say(c, streamHead+"data: "); repeat(c, filler) }, 32, "20s"},
		{"header without end", false, func(c *net.TCPConn) { say(c, "HTTP/1.1 200 OK\r\nX: "); repeat(c, filler) }, 16, "20s"},
		{"chunk size without end", false, func(c *net.TCPConn) { say(c, chunkHead); repeat(c, bytes.Repeat([]byte("0"), 1000)) }, 16, "20s"},
		{"error page without end", false, func(c *net.TCPConn) { say(c, "HTTP/1.1 500 Oh\r\n\r\n"); repeat(c, filler) }, 16, "20s"},
		{"events without end", true, func(c *net.TCPConn) {
			say(c, streamHead+piece)
			repeat(c, bytes.Repeat([]byte("data: {}\n\n"), 1000))
		}, 16, "700ms"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url := rawProvider(t, test.script)
			h := harness.Open(t, harness.Setup{YAML: harness.Hasty(harness.ProvidersYAML(url), "15s", test.total)})
			accept := "application/json"
			if test.stream {
				accept = "text/event-stream"
			}
			peak := peakOf(func() {
				if r := h.Chat("house/m", "Accept", accept); r.Status == http.StatusOK && !strings.Contains(r.Body, "event: error") {
					t.Errorf("status %d: %.200s", r.Status, r.Body)
				}
			}) >> 20
			t.Logf("%d MiB", peak)
			if peak > test.most {
				t.Errorf("the heap grew by %d MiB, want at most %d", peak, test.most)
			}
		})
	}
}

// many builds the head and the body of a whole answer of 30 MiB.
func many(before, one, after string) string {
	body := before + strings.Repeat(one+",", (30<<20)/(len(one)+1)) + one + after
	return fmt.Sprintf(jsonHead+"Content-Length: %d\r\n\r\n%s", len(body), body)
}

// TestMemoryOfRequests bounds the memory that translated requests of many elements can make the gateway use. It is not
// parallel, like TestMemoryUnderHostileProviders.
func TestMemoryOfRequests(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	const size, most = 4 << 20, 250 << 20
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	}))
	defer up.Close()
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(harness.ProvidersYAML(up.URL), "dialect: openai", "dialect: anthropic", 1)})
	const user, called, said = `{"role":"user","content":`, `{"role":"assistant","tool_calls":[`, `{"role":"assistant","content":`
	for _, test := range []struct {
		name, before, one, after string
		refused                  string // the client's error; empty for none
	}{
		{"tool calls of nothing", called, "0", "]}", "tool calls; the maximum is 20000"},
		{"empty tool calls", called, "{}", "]}", "tool calls; the maximum is 20000"},
		{"messages", "", user + `"a"}`, "", "messages; the maximum is 100000"},
		{"longer messages", "", user + `"` + strings.Repeat("a", 40) + `"}`, "", ""},
		{"text parts", user + "[", `{"type":"text","text":"a"}`, "]}", "content parts; the maximum is 100000"},
		{"longer text parts", user + "[", `{"type":"text","text":"` + strings.Repeat("a", 40) + `"}`, "]}", ""},
		{"thinking", said + `[{"type":"thinking","thinking":[`, `{"text":"a"}`, "]}]}", "pieces of reasoning; the maximum is 20000"},
		{"reasoning details", said + `"a","reasoning_details":[`, "0", "]}", "pieces of reasoning; the maximum is 20000"},
		{"members", user + `"a",`, `"a":0`, "}", "more than 65536 members"},
		{"objects of members", "", user + `"a"` + strings.Repeat(`,"a":0`, 200) + "}", "", "members of objects; the maximum is 524288"},
		{"objects of longer members", "", user + `"a"` + strings.Repeat(`,"abcdef":0`, 200) + "}", "", ""},
	} {
		body := `{"model":"house/m","max_tokens":9,"messages":[` + test.before + strings.Repeat(test.one+",", size/(len(test.one)+1)) + test.one + test.after + "]}"
		var r harness.Reply
		peak := peakOf(func() { r = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body}) })
		t.Logf("%-24s %d, %d MiB", test.name, r.Status, peak>>20)
		if (r.Status == http.StatusOK) != (test.refused == "") || !strings.Contains(r.Body, test.refused) {
			t.Errorf("%s: %d %.300s, want it refused for %q", test.name, r.Status, r.Body, test.refused)
		}
		if peak > most {
			t.Errorf("%s: %d MiB more, want at most %d", test.name, peak>>20, most>>20)
		}
	}
}

// TestLimitsBeforeDecoding refuses a key over its limit before the body is decoded.
func TestLimitsBeforeDecoding(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(harness.ProvidersYAML(up.URL), "dialect: openai", "dialect: anthropic", 1)})
	key := h.NewKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 1}})
	wrong := harness.Ask{Path: "/v1/chat/completions", Key: key, Body: `{"model":"house/chat","messages":[{"role":"nobody"}]}`}
	if r := h.Do(wrong); r.Status != http.StatusBadRequest {
		t.Errorf("%d %s, want 400", r.Status, r.Body)
	}
	if r := h.Do(wrong); r.Status != http.StatusTooManyRequests {
		t.Errorf("%d %s, want 429", r.Status, r.Body)
	}
}

// TestBoundsUnderBudget forwards a body unchanged that has more elements than the gateway examines under a budget.
func TestBoundsUnderBudget(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	body := `{"model":"house/chat","messages":[{"role":"user","content":"Hi"}],"x":[` + strings.Repeat("0,", 1<<20) + `0]}`
	asked := harness.Ask{Path: "/v1/chat/completions", Body: body}
	if r := h.Do(asked); r.Status != http.StatusOK {
		t.Errorf("without a budget: %d %.200s, want it passed on", r.Status, r.Body)
	}
	h.SetBudget(1000*llm.USD, budget.PeriodMonth)
	if r := h.Do(asked); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "elements of other arrays; the maximum is 1048576") {
		t.Errorf("with a budget: %d %.200s, want it refused", r.Status, r.Body)
	}
}
