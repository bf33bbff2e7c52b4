package provider_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/provider"
)

// thinker is a provider that sends a whole answer on a signal, and counts its connections.
type thinker struct {
	url         string
	think       chan struct{} // a value starts one answer
	left        chan struct{} // a client left before its answer began
	connections atomic.Int64
}

func newThinker(t *testing.T, status int, body string) *thinker {
	th := &thinker{think: make(chan struct{}, 1), left: make(chan struct{}, 1)}
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-th.think:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		case <-r.Context().Done():
			th.left <- struct{}{}
		}
	}))
	ts.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			th.connections.Add(1)
		}
	}
	ts.Start()
	t.Cleanup(ts.Close)
	th.url = ts.URL + "/v1"
	return th
}

// tooLate is the wait for a first byte. On a busy machine a connection is made in it, and a quick answer arrives.
const tooLate = time.Second

// begin makes an attempt whose first byte is late.
func (th *thinker) begin(ctx context.Context, t *testing.T, p *provider.Provider) *provider.Late {
	t.Helper()
	call := chat(false)
	call.KeepLate = true
	_, f := exchange(ctx, p, call)
	if f == nil || f.Kind != provider.KindFirstByteTimeout || !f.Sent() || f.Late == nil {
		t.Fatalf("got %v, want a late first byte that can be waited for", f)
	}
	return f.Late
}

// TestLateAnswersAreAwaited waits for answers with a late first byte, and ends the wait from both sides.
func TestLateAnswersAreAwaited(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		const said = `{"choices":[]}`
		th := newThinker(t, http.StatusOK, said)
		p := way.provider(t, provider.Options{BaseURL: th.url, Timeouts: provider.Timeouts{FirstByte: tooLate, Total: patience}})
		late := th.begin(t.Context(), t, p)
		th.think <- struct{}{}
		if _, text, err := late.ReadAll(); err != nil || string(text) != said {
			t.Errorf("got %q, %v, want the late answer", text, err)
		}
		th.think <- struct{}{}
		time.Sleep(50 * time.Millisecond) // until the connection is idle
		if text, f := exchange(t.Context(), p, chat(false)); f != nil || string(text) != said {
			t.Errorf("after it: got %q, %v", text, f)
		}
		if n := th.connections.Load(); n != 1 {
			t.Errorf("%d connections, want one for both", n)
		}

		th.begin(t.Context(), t, p).Close()
		<-th.left
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		late = th.begin(ctx, t, p)
		defer time.AfterFunc(20*time.Millisecond, cancel).Stop() // while it is waited for
		if _, _, err := late.ReadAll(); err == nil || failureOf(err).Kind != provider.KindCanceled {
			t.Errorf("got %v, want it canceled", err)
		}
		<-th.left
	})
}

// TestLateAnswers checks late answers that are invalid or too long.
func TestLateAnswers(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		for _, test := range []struct {
			status int
			body   string
			kind   provider.Kind
		}{
			{http.StatusTooManyRequests, `{"error":{"message":"slow"}}`, provider.KindStatus},
			{http.StatusOK, string(make([]byte, 8<<20)), provider.KindCanceled},
		} {
			th := newThinker(t, test.status, test.body)
			p := way.provider(t, provider.Options{BaseURL: th.url, Timeouts: provider.Timeouts{FirstByte: tooLate, Total: patience}})
			late := th.begin(t.Context(), t, p)
			th.think <- struct{}{}
			if _, _, err := late.ReadAll(); err == nil || failureOf(err).Kind != test.kind {
				t.Errorf("status %d: got %v, want %v", test.status, err, test.kind)
			}
		}
		th := newThinker(t, http.StatusOK, "{}")
		p := way.provider(t, provider.Options{BaseURL: th.url, Timeouts: provider.Timeouts{FirstByte: tooLate, Total: 3 * time.Second}})
		if _, _, err := th.begin(t.Context(), t, p).ReadAll(); err == nil || failureOf(err).Kind != provider.KindTotalTimeout {
			t.Errorf("got %v, want the total time over", err)
		}
	})
}

// TestLateAnswersLeaveTheBody has a provider that stops reading a large body until the first byte is late. The body
// belongs to the caller again then: nothing that it holds afterwards may reach the provider.
func TestLateAnswersLeaveTheBody(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		overwritten := make(chan struct{})
		found := make(chan bool, 1)
		ts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-overwritten
			rest, _ := io.ReadAll(r.Body)
			found <- bytes.Contains(rest, []byte("other"))
		}))
		defer ts.Close()
		p := way.provider(t, provider.Options{BaseURL: ts.URL + "/v1", Timeouts: provider.Timeouts{FirstByte: tooLate, Total: patience}})
		call := chat(false)
		call.KeepLate = true
		call.Body = bytes.Repeat([]byte("mine "), 4<<20)
		_, f := exchange(t.Context(), p, call)
		if f == nil || f.Kind != provider.KindFirstByteTimeout || !f.Sent() {
			t.Fatalf("got %v, want a late first byte", f)
		}
		copy(call.Body, bytes.Repeat([]byte("other"), 4<<20))
		close(overwritten)
		if f.Late != nil {
			defer f.Late.Close()
		}
		if <-found {
			t.Error("the provider received what the caller wrote into the body afterwards")
		}
	})
}
