package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/quotetest"
	"weir/internal/route"
	"weir/internal/telemetry"
)

// newCapacity returns a node with that number of bytes of request bodies.
func newCapacity(bodies int64) *capacity.Node {
	return capacity.New(capacity.Options{
		Slots: 4096, Bodies: bodies, Stopping: context.Background(), Metrics: telemetry.New("", telemetry.Labels{}),
		Log: slog.New(slog.DiscardHandler),
	})
}

// longestWait is the longest wait for a turn.
const longestWait = 10 * time.Second

// occupy takes all turns of large steps until the returned function is called, in a bubble of synctest.
func occupy(n *capacity.Node) (release func()) {
	done := make(chan struct{})
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		go func() {
			r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", nil)
			held := n.Hold(&capacity.Client{Request: r}, "other")
			if turn, err := held.Turn(capacity.LargeBody); err == nil {
				<-done
				turn.End()
			}
		}()
	}
	synctest.Wait()
	return func() { close(done) }
}

// TestDisconnectBetweenSteps has a client disconnect during a step of the work on its large body: the next step does
// not begin.
func TestDisconnectBetweenSteps(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	scanned := 0
	clientAPI := &dialect.Operation{Scan: func([]byte, *http.Request) (llm.Head, error) {
		scanned++
		leave()
		return llm.Head{}, nil
	}}
	body := `{"fallbacks":[],"a":"` + strings.Repeat("a", capacity.LargeBody) + `"}`
	r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
	in := &intake{r: r, client: capacity.Client{Request: r}, Request: quote.Request{Op: clientAPI, Body: []byte(body)}}
	in.held = newCapacity(1<<40).Hold(&in.client, "")
	if err := in.scanBody(); !errors.Is(err, capacity.ErrGone) || scanned != 1 {
		t.Errorf("%v, scanned %d times; want it to end after the first time", err, scanned)
	}
}

// TestDenseBodies checks that a body that needs much work for its length takes a turn for every step that decodes or
// translates it, and that one of plain text does not, nor an unchanged one.
func TestDenseBodies(t *testing.T) {
	t.Parallel()
	const message = `{"role":"user","content":"a"}`
	dense := `{"model":"m","messages":[` + strings.Repeat(message+",", 699) + message + `]}`
	plain := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 4000) + `"}]}`
	steps := map[string]func(a *attempt) error{
		"check": func(a *attempt) error { return a.in.check() },
		"ask":   func(a *attempt) error { return a.ask() },
		"count": func(a *attempt) error { return a.in.decode() },
		"reply": func(a *attempt) error {
			reply := strings.Replace(dense, "messages", "choices", 1)
			w := wholeReply{attempt: a, body: []byte(reply)}
			return w.read(a.in.server.bounds, &a.in.held, &provider.Response{})
		},
	}
	for _, tt := range []struct {
		step, target, body string
		waits              bool
	}{
		{"check", "anthropic", dense, true},
		{"ask", "anthropic", dense, true},
		{"count", "anthropic", dense, true},
		{"reply", "openai", plain, true},
		{"check", "anthropic", plain, false},
		{"ask", "anthropic", plain, false},
		{"check", "openai", dense, false},
		{"ask", "openai", dense, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			if len(tt.body) >= capacity.LargeBody {
				t.Fatalf("a body of %d bytes, want less than %d", len(tt.body), capacity.LargeBody)
			}
			a := newAsked(t, quotetest.Asked{ClientAPI: "openai", Target: tt.target, Body: tt.body})
			in := a.in
			in.principal, in.targets = &account.Principal{}, []route.Target{*a.Target}
			defer occupy(in.server.capacity)()
			began := time.Now()
			err := steps[tt.step](a)
			if waited := time.Since(began) == longestWait; waited != tt.waits {
				t.Errorf("%s of %.40q to %s: waited %t, want %t (%v)", tt.step, tt.body, tt.target, waited, tt.waits, err)
			}
		})
	}
}
