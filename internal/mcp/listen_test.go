package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/must"
)

const agreement = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":` +
	`{"notifications":{"resourceSubscriptions":["doc://a"]}}}`

// notifier is a server without sessions that answers subscriptions/listen by a function.
func notifier(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *mcp.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(text), mcp.MethodListen) {
			w.Header().Set("Content-Type", "application/json")
			m, _ := mcp.ParseMessage(text)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}`, m.ID)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return open(t, s.URL)
}

// write writes events.
func write(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
	}
	_ = http.NewResponseController(w).Flush()
}

// TestListenerOutlivesHostileServers listens to servers that send too much, too little or something else.
func TestListenerOutlivesHostileServers(t *testing.T) {
	t.Parallel()
	updated := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"doc://a"}}`
	for what, test := range map[string]struct {
		answer   func(w http.ResponseWriter, r *http.Request)
		noStream bool
		notes    int
	}{
		"an endless event": {answer: func(w http.ResponseWriter, _ *http.Request) {
			write(w, agreement, updated)
			for _, err := io.WriteString(w, "data: "); err == nil; _, err = io.WriteString(w, strings.Repeat("x", 1<<16)) {
			}
		}, notes: 1},
		"an event that is no message": {answer: func(w http.ResponseWriter, _ *http.Request) {
			write(w, agreement, updated, "{", updated)
		}, notes: 1},
		"a request": {answer: func(w http.ResponseWriter, _ *http.Request) {
			write(w, agreement, updated, `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}`, updated)
		}, notes: 2},
		"nothing to listen to": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"none"}}`)
		}, noStream: true},
		"another type": {answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}, noStream: true},
		"a redirect": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			notes, agreed := 0, 0
			err := notifier(t, test.answer).Listen(t.Context(), &mcp.Listening{
				URIs: []string{"doc://a"}, Agreed: func([]string) { agreed++ },
				Notify: func(string, string) { notes++ },
			})
			if err == nil || errors.Is(err, mcp.ErrNoStream) != test.noStream || notes != test.notes {
				t.Errorf("got %v and %d notes, want an error, that there is no stream: %v, and %d notes", err, notes,
					test.noStream, test.notes)
			}
			if want := min(test.notes, 1); agreed != want {
				t.Errorf("got %d agreements, want %d", agreed, want)
			}
		})
	}
}

// TestStreamsOfOneCallerAreBounded opens as many streams as one account may, and then one of another account.
func TestStreamsOfOneCallerAreBounded(t *testing.T) {
	t.Parallel()
	client := notifier(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, agreement)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	open, ended := make(chan string, 100), make(chan error, 100)
	listen := func(session string) {
		go func() {
			ended <- client.Listen(ctx, &mcp.Listening{Session: session, Agreed: func([]string) { open <- session }})
		}()
	}
	const most = 16
	for range most {
		listen("a")
		must.Equal(t, <-open, "a", "a stream")
	}
	listen("a")
	if e, ok := errors.AsType[*llm.Error](<-ended); !ok || e.Code != llm.CodeOverloaded {
		t.Errorf("one stream more: got %v, want a refusal", e)
	}
	listen("b")
	must.Equal(t, <-open, "b", "a stream of another account")
	cancel()
	for range most + 1 {
		if err := <-ended; err == nil {
			t.Error("a cancelled stream: got no error")
		}
	}
}
