package conversation_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/internal/conversation"
	"weir/internal/llm"
	"weir/internal/store"
	"weir/internal/store/opentest"
)

// ttl is the retention of the tests' services.
const ttl = 30 * 24 * time.Hour

// world is a service on a real database, with a manual clock.
type world struct {
	t    testing.TB
	path string
	db   *store.DB // as the service has it
	*conversation.Service

	mu  sync.Mutex
	now time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "weir.db"), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	w.Service = w.open(ttl)
	return w
}

// open opens another service on the same database, like another node.
func (w *world) open(ttl time.Duration) *conversation.Service {
	w.t.Helper()
	w.db = opentest.Open(w.t, store.Options{Path: w.path, Clock: w.clock})
	return conversation.New(conversation.Options{Store: w.db.Kept, Now: w.clock, TTL: func() time.Duration { return ttl }})
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func owner(name string) conversation.Owner {
	return conversation.Owner{Scope: "key_" + name, Token: llm.NewSecret("wk_" + name)}
}

// unbounded returns a capacity without a limit.
func unbounded() conversation.Capacity { return reserving(func(int64) error { return nil }) }

// reserving returns a capacity with turns for everybody.
func reserving(reserve func(int64) error) conversation.Capacity {
	return conversation.Capacity{Reserve: reserve, Turn: func(_ int64, work func() error) error { return work() }}
}

// expand expands a request.
func (w *world) expand(body string) (string, *conversation.Turn) {
	w.t.Helper()
	got, turn, err := w.Expand(context.Background(), owner("a"), []byte(body), nil, unbounded())
	if err != nil {
		w.t.Fatalf("expand %s: %v", body, err)
	}
	if !json.Valid(got) {
		w.t.Fatalf("expand %s: %s is not JSON", body, got)
	}
	return string(got), turn
}

// turn runs a request with its answer, and returns the provider's request.
func (w *world) turn(request, response string) string {
	w.t.Helper()
	body, turn := w.expand(request)
	if err := w.Keep(context.Background(), owner("a"), turn, []byte(response)); err != nil {
		w.t.Fatalf("keep %s: %v", response, err)
	}
	return body
}

// answer builds a response with that id and these items.
func answer(id, output string) string {
	return `{"id":"` + id + `","object":"response","status":"completed","store":false,"output":[` + output + `],"previous_response_id":null}`
}

// says builds the item of an assistant's message.
func says(id, text string) string {
	return `{"id":"` + id + `","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}`
}

// asks returns the message that replaces a string of input.
func asks(text string) string {
	return `{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}`
}

// wantError checks an error that a client sees.
func wantError(t testing.TB, err error, want *llm.Error) {
	t.Helper()
	e := llm.AsError(err)
	if err == nil || e.Code != want.Code || e.Message != want.Message || e.Param != want.Param || e.Word != want.Word {
		t.Errorf("got %+v (%v), want %+v", e, err, want)
	}
}

// lost returns the error for a conversation that cannot be continued.
func lost(id string) *llm.Error {
	return &llm.Error{
		Code: llm.CodeInvalidRequest, Param: "previous_response_id", Word: "previous_response_not_found",
		Message: "Previous response with id '" + id + "' not found.",
	}
}

// gone returns the error for a response that does not exist.
func gone(id string) *llm.Error {
	return &llm.Error{Code: llm.CodeNotFound, Word: "response_not_found", Message: "Response with id '" + id + "' not found."}
}
