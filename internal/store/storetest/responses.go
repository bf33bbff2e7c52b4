package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/conversation"
	"weir/internal/ledger"
	"weir/internal/must"
)

// keep stores a response for a day.
func keep(t *testing.T, f *fixture, id, previous, sealed string, items ...string) {
	t.Helper()
	now := f.clock()
	err := f.Kept.KeepResponse(t.Context(), &conversation.Record{
		Scope: "key_1", ID: id, Previous: previous, Items: items, Created: now, Expires: now.Add(day),
		Sealed: []byte(sealed),
	})
	if err != nil {
		t.Fatalf("keep %s: %v", id, err)
	}
}

// wantResponse checks the stored response; empty for none.
func wantResponse(t *testing.T, f *fixture, id, want string) {
	t.Helper()
	got, err := f.Kept.Response(t.Context(), id)
	if string(got) != want || (want == "") != errors.Is(err, conversation.ErrNotFound) || want != "" && err != nil {
		t.Errorf("response %s: got %q, %v; want %q", id, got, err, want)
	}
}

// wantChain checks the ids of a conversation, newest first.
func wantChain(t *testing.T, f *fixture, id string, most int, want ...string) {
	t.Helper()
	links, err := f.Kept.ResponseChain(t.Context(), id, most)
	if err != nil {
		t.Fatalf("chain of %s: %v", id, err)
	}
	var got []string
	for _, l := range links {
		got = append(got, l.ID)
	}
	must.Equal(t, got, want, "chain of %s, at most %d", id, most)
}

func testResponses(t *testing.T, f *fixture) {
	j := newTape()
	apply(t, f, j.next([]ledger.Attempt{attempt(1)})) // responses are stored independently of attempts
	keep(t, f, "a", "", "first")
	keep(t, f, "b", "a", "second one")
	keep(t, f, "c", "b", "third")
	keep(t, f, "c2", "b", "another third")
	wantResponse(t, f, "b", "second one")
	wantResponse(t, f, "nobody", "")
	wantChain(t, f, "c", 9, "c", "b", "a")
	wantChain(t, f, "c2", 9, "c2", "b", "a")
	wantChain(t, f, "c", 2, "c", "b")
	wantChain(t, f, "nobody", 9)
	links, err := f.Kept.ResponseChain(t.Context(), "b", 1)
	want := []conversation.Link{{ID: "b", Previous: "a", Size: int64(len("second one"))}}
	if diff := cmp.Diff(links, want); err != nil || diff != "" {
		t.Errorf("chain of b: %v (-got +want)\n%s", err, diff)
	}

	keep(t, f, "a", "c", "first again") // a provider whose ids repeat
	wantResponse(t, f, "a", "first again")
	wantChain(t, f, "a", 5, "a", "c", "b", "a", "c")

	if err := f.Kept.DeleteResponse(t.Context(), "b"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	if err := f.Kept.DeleteResponse(t.Context(), "b"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("delete twice: got %v, want ErrNotFound", err)
	}
	wantResponse(t, f, "b", "")
	wantChain(t, f, "c2", 9, "c2")

	left, leave := context.WithCancel(t.Context())
	leave()
	if err := f.Kept.KeepResponse(left, &conversation.Record{ID: "late"}); !errors.Is(err, context.Canceled) {
		t.Errorf("store with a cancelled context: got %v, want context.Canceled", err)
	}
	apply(t, f, j.next(nil, entry(1)))
	keep(t, f, "d", "", "after a batch")
	wantResponse(t, f, "d", "after a batch")
}

func wantItem(t *testing.T, f *fixture, item, want string) {
	t.Helper()
	got, err := f.Kept.ResponseOfItem(t.Context(), item)
	if got.ID != want || (want == "") != errors.Is(err, conversation.ErrNotFound) || want != "" && err != nil {
		t.Errorf("response with %s: got %+v, %v; want %q", item, got, err, want)
	}
}

func testResponseItems(t *testing.T, f *fixture) {
	keep(t, f, "a", "", "first", "x", "y", "x")
	f.advance(time.Microsecond) // the resolution of stored times
	keep(t, f, "b", "a", "second", "y", "z")
	wantItem(t, f, "x", "a")
	wantItem(t, f, "y", "b")
	wantItem(t, f, "w", "")
	if l, err := f.Kept.ResponseOfItem(t.Context(), "z"); err != nil ||
		l != (conversation.Link{ID: "b", Previous: "a", Size: int64(len("second"))}) {
		t.Errorf("response with z: got %+v, %v", l, err)
	}
	must.Do(t, f.Kept.DeleteResponse(t.Context(), "b"))
	wantItem(t, f, "y", "a")
	wantItem(t, f, "z", "")
	keep(t, f, "a", "", "first again", "v")
	wantItem(t, f, "x", "")
	wantItem(t, f, "v", "a")
}

func testResponsesExpire(t *testing.T, f *fixture) {
	const many = 1203 // more than two transactions delete
	for i := range many {
		keep(t, f, fmt.Sprint("old ", i), "", "old", "item")
	}
	f.advance(day / 2)
	keep(t, f, "young", "old 0", "young", "item of the young")
	if n, err := f.Kept.SweepResponses(t.Context()); n != 0 || err != nil {
		t.Errorf("sweep: got %d, %v; want none deleted", n, err)
	}
	wantChain(t, f, "young", 9, "young", "old 0")
	f.advance(day / 2)
	wantResponse(t, f, "old 0", "")
	wantItem(t, f, "item", "")
	wantChain(t, f, "young", 9, "young")
	if err := f.Kept.DeleteResponse(t.Context(), "old 1"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("delete an expired one: got %v, want ErrNotFound", err)
	}
	if n, err := f.Kept.SweepResponses(t.Context()); n != many || err != nil {
		t.Errorf("sweep: got %d, %v; want %d deleted", n, err, many)
	}
	wantResponse(t, f, "young", "young")
	wantItem(t, f, "item of the young", "young")
}
