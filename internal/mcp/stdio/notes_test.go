package stdio_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"weir/internal/mcp"
)

// heard has the notifications that a caller hears.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) note(text []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, string(text))
	return nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.all, "\n")
}

// TestNotificationsReachTheirCall has two callers with the same token at the same time.
func TestNotificationsReachTheirCall(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	hears := map[string]*heard{"ann": {}, "bob": {}}
	var running sync.WaitGroup
	for who, h := range hears {
		running.Go(func() {
			params := json.RawMessage("{\"a\":1,\n\"_meta\":{\"progressToken\":\"mine\",\"x\":2}}")
			for range 20 {
				if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/notify", Session: who, Params: params, Notify: h.note}); err != nil {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
	running.Wait()
	for who, h := range hears {
		const want = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1}}`
		if n := strings.Count(h.String(), want); n != 20 || strings.Contains(h.String(), "nobody") {
			t.Errorf("%s: got %d times its progress, want 20, and no other: %.2000s", who, n, h)
		}
	}
}

func TestCallerWithoutTokenHearsNoProgress(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	result, err := c.Do(t.Context(), &mcp.Request{Method: "test/params", Params: json.RawMessage(`{"_meta":{"progressToken":7,"x":2}}`)})
	if got := string(result); err != nil || strings.Contains(got, ":7") || !strings.Contains(got, `"x":2`) {
		t.Errorf("got %s, %v; want another token than the client's", got, err)
	}
	h := &heard{}
	_, err = c.Do(t.Context(), &mcp.Request{Method: "test/notify", Session: "ann", Params: json.RawMessage(`{"_meta":{}}`), Notify: h.note})
	if err != nil || strings.Contains(h.String(), "progress") {
		t.Errorf("got %s, %v; want no progress", h, err)
	}
}

// TestProcessSeesNoOtherToken has clients that hide the id of another call behind a token of their own: parsers of JSON
// differ in which of two members counts.
func TestProcessSeesNoOtherToken(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	long := strings.Repeat("x", 2000)
	for _, meta := range []string{
		`{"progressToken":"mine","progressToken":4711}`, `{"progressToken":null,"progressToken":4711}`,
		`{"progressToken":"mine","progress\u0054oken":4711}`, `{"ProgressToken":4711}`,
		`{"progressToken":"4711` + long + `"}`,
	} {
		params := json.RawMessage(`{"_meta":` + meta + `}`)
		result, err := c.Do(t.Context(), &mcp.Request{Method: "test/params", Session: "ann", Params: params})
		if err != nil || strings.Contains(string(result), "4711") {
			t.Errorf("%.100s: the process got %.200s, %v; want no token of the client's", meta, result, err)
		}
	}
}

// TestLogMessagesReachNoOtherAccount checks that log messages, which name no call, reach the only account of a process,
// and nobody after the call of a second account.
func TestLogMessagesReachNoOtherAccount(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	call := func(who string) string {
		h := &heard{}
		if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/notify", Session: who, Notify: h.note}); err != nil {
			t.Errorf("%s: %v", who, err)
		}
		return h.String()
	}
	for _, who := range []string{"ann", "ann key client"} {
		if got := call(who); !strings.Contains(got, `"data":"one"`) || strings.Contains(got, "xxx") {
			t.Errorf("%s: got %.500q, want the short message", who, got)
		}
	}
	for _, who := range []string{"bob", "ann"} {
		if got := call(who); got != "" {
			t.Errorf("%s, after the call of another account: got %q, want nothing", who, got)
		}
	}
}

// TestMessagesOfTwoCallsReachNeither has a second call of the account in flight.
func TestMessagesOfTwoCallsReachNeither(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	stateOf(t, c, "ann") // the process has started
	first, second := &heard{}, &heard{}
	done := make(chan error, 1)
	sent := make(chan struct{})
	go func() {
		close(sent)
		_, err := c.Do(t.Context(), &mcp.Request{Method: "test/hold", Session: "ann", Notify: first.note})
		done <- err
	}()
	<-sent
	for len(done) == 0 {
		if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/release", Session: "ann", Notify: second.note}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil || first.String() != "" {
		t.Errorf("got %s, %v; want no message that may be of the other call", first, err)
	}
}

// TestSlowCallerGetsItsResult floods a caller with messages.
func TestSlowCallerGetsItsResult(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	h := &heard{}
	if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/flood", Session: "ann", Notify: h.note}); err != nil || h.String() == "" {
		t.Errorf("got %q, %v; want some messages and the result", h, err)
	}
}

// TestCancelledCallReachesProcess leaves while the server works, before and after its first message.
func TestCancelledCallReachesProcess(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	for i, method := range []string{"test/mute", "test/half"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended, noted := make(chan error, 1), make(chan struct{}, 1)
		go func() {
			_, err := c.Do(ctx, &mcp.Request{Method: method, Session: "ann", Notify: func([]byte) error {
				noted <- struct{}{}
				return nil
			}})
			ended <- err
		}()
		if method == "test/half" {
			<-noted
		}
		until(t, c, func(s *state) bool { return s.Muted == i+1 })
		cancel()
		if err := <-ended; err == nil {
			t.Errorf("%s: got no error of a cancelled call", method)
		}
		until(t, c, func(s *state) bool { return s.Cancelled == i+1 })
	}
}

// until asks the peer for its state until a condition holds; else the test runs into its time.
func until(t *testing.T, c *mcp.Client, is func(*state) bool) {
	t.Helper()
	for {
		if s := stateOf(t, c, "ann"); is(&s) {
			return
		}
	}
}

// TestChangesReachThoseWhoListen listens in two streams.
func TestChangesReachThoseWhoListen(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notes := make(chan string, 100)
	agreed := make(chan []string, 2)
	for range 2 {
		go func() {
			_ = c.Listen(ctx, &mcp.Listening{
				Lists: true, URIs: []string{"doc://readme"}, Agreed: func(uris []string) { agreed <- uris },
				Notify: func(method, uri string) { notes <- method + uri },
			})
		}()
	}
	for range 2 {
		if uris := <-agreed; len(uris) != 1 {
			t.Errorf("got agreement on %q, want one resource", uris)
		}
	}
	h := &heard{}
	if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/changed", Session: "ann", Notify: h.note}); err != nil || h.String() != "" {
		t.Errorf("the caller: got %s, %v; want only the result", h, err)
	}
	got := map[string]int{}
	for range 4 {
		got[<-notes]++
	}
	if got[mcp.NoteTools] != 2 || got[mcp.NoteUpdated+"doc://readme"] != 2 {
		t.Errorf("got %v, want both notifications in both streams", got)
	}
}
