package conversation_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/conversation"
	"weir/internal/must"
)

// TestFormerNamesAreFound checks that a response under its former name is continued, read, referred to and deleted.
func TestFormerNamesAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const a, b = "01a21206-7864-7232-908b-8c0a70d053c7", "01a21206-7864-7232-908b-8c0a70d053c8"
	said := says("msg_"+a+"_0", "First")
	former := must.Get(conversation.FormerRecord(owner("a"), "resp_"+a, answer("resp_"+a, said), w.clock()))(t)
	must.Do(t, w.db.Kept.KeepResponse(t.Context(), former))
	w.turn(`{`+previous("resp_"+a)+`"input":"Two"}`, answer("resp_"+b, says("msg_"+b+"_0", "Second")))
	got, _ := w.expand(`{` + previous("resp_"+b) + `"input":"Three"}`)
	want := `{"input":[` + said + `,` + asks("Two") + `,` + says("msg_"+b+"_0", "Second") + `,` + asks("Three") + `]}`
	if got != want {
		t.Errorf("third request: got\n%s\nwant\n%s", got, want)
	}
	if got, _ := w.expand(`{"input":[{"id":"msg_` + a + `_0"}]}`); got != `{"input":[`+said+`]}` {
		t.Errorf("an item: got %s, want %s", got, said)
	}
	must.Get(w.Get(t.Context(), owner("a"), "resp_"+a, unbounded()))(t)
	must.Get(w.Delete(t.Context(), owner("a"), "resp_"+a))(t)
	_, err := w.Get(t.Context(), owner("a"), "resp_"+a, unbounded())
	wantError(t, err, gone("resp_"+a))
}

// named is a store that notes the names of responses.
type named struct {
	conversation.Store
	names []string
}

func (n *named) KeepResponse(ctx context.Context, r *conversation.Record) error {
	n.names = append(n.names, r.ID)
	return n.Store.KeepResponse(ctx, r)
}

// TestNamesFollowTime checks that the names of later responses of the gateway are greater, that those of two owners
// differ, and that no name contains more of an id than its time.
func TestNamesFollowTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := &named{Store: w.db.Kept}
	s := conversation.New(conversation.Options{Store: store, Now: w.clock, TTL: func() time.Duration { return ttl }})
	keep := func(of, id string) {
		_, turn, err := s.Expand(t.Context(), owner(of), []byte(`{"input":"x"}`), nil, unbounded())
		must.Do(t, err)
		must.Do(t, s.Keep(t.Context(), owner(of), turn, []byte(answer("resp_"+id, ""))))
	}
	for ms := range int64(20) {
		id := uuid.UUID{0x01, 0xa2, 0x12, 0x06, byte(ms), byte(255 - ms), 0x70}
		keep("a", id.String())
	}
	if !slices.IsSorted(store.names) || len(slices.Compact(slices.Clone(store.names))) != 20 {
		t.Errorf("names of 20 responses: got %q, want each greater than the one before", store.names)
	}
	keep("b", uuid.UUID{0x01, 0xa2, 0x12, 0x06, 0, 255, 0x70}.String())
	first, others := store.names[0], store.names[20]
	if others == first || others[:12] != first[:12] || first[:12] != "01a2120600ff" {
		t.Errorf("the names of two owners with one id: got %s and %s, want only their first 12 digits equal", first, others)
	}
}
