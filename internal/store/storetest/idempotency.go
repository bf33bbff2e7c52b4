package storetest

import (
	"errors"
	"testing"
	"time"

	"weir/internal/idempotency"
	"weir/internal/must"
	"weir/internal/store"
)

const day = 24 * time.Hour

func begin(t *testing.T, f *fixture, c store.IdempotencyRecord, want idempotency.State, reply string) {
	t.Helper()
	state, got, err := f.Kept.IdempotencyBegin(t.Context(), c, day)
	if err != nil || state != want || string(got) != reply {
		t.Errorf("begin %+v: got %q, %q, %v; want %q, %q", c, state, got, err, want, reply)
	}
}

func testIdempotency(t *testing.T, f *fixture) {
	record := store.IdempotencyRecord{
		Record: idempotency.Record{Scope: "key_1", Key: "k", Body: "b"}, Node: "n",
		Epoch: "1",
	}
	otherBody, otherScope, stream := record, record, record
	otherBody.Body, otherScope.Scope, stream.Key = "c", "key_2", "s"

	begin(t, f, record, idempotency.New, "")
	begin(t, f, record, idempotency.Running, "")
	begin(t, f, otherBody, idempotency.Other, "")
	begin(t, f, otherScope, idempotency.New, "")
	must.Do(t, f.Kept.IdempotencyFinish(t.Context(), record, []byte("reply")))
	begin(t, f, record, idempotency.Done, "reply")
	begin(t, f, otherBody, idempotency.Other, "")
	if err := f.Kept.IdempotencyFinish(t.Context(), record, []byte("again")); !errors.Is(err,
		store.ErrIdempotencyLost) {
		t.Errorf("finish twice: got %v, want ErrIdempotencyLost", err)
	}

	begin(t, f, stream, idempotency.New, "")
	must.Do(t, f.Kept.IdempotencyFinish(t.Context(), stream, nil))
	begin(t, f, stream, idempotency.Spent, "")

	must.Do(t, f.Kept.IdempotencyForget(t.Context(), otherScope))
	begin(t, f, otherScope, idempotency.New, "")

	f.advance(day)
	begin(t, f, otherBody, idempotency.New, "") // the old one has expired
	if n, err := f.Kept.IdempotencySweep(t.Context()); n != 2 || err != nil {
		t.Errorf("sweep: got %d, %v; want 2 deleted", n, err)
	}
	begin(t, f, otherBody, idempotency.Running, "")
}

func testIdempotencyOwners(t *testing.T, f *fixture) {
	dead := store.IdempotencyRecord{
		Record: idempotency.Record{Scope: "key_1", Key: "dead", Body: "b"}, Node: "n",
		Epoch: "1",
	}
	done, alive, elsewhere := dead, dead, dead
	done.Key, alive.Key, alive.Epoch, elsewhere.Key, elsewhere.Node = "done", "alive", "2", "elsewhere", "m"
	for _, c := range []store.IdempotencyRecord{dead, done, alive, elsewhere} {
		begin(t, f, c, idempotency.New, "")
	}
	must.Do(t, f.Kept.IdempotencyFinish(t.Context(), done, []byte("reply")))
	if n, err := f.Kept.IdempotencyRelease(t.Context(), "n", "2"); n != 1 || err != nil {
		t.Errorf("release: got %d, %v; want 1", n, err)
	}
	begin(t, f, alive, idempotency.Running, "")
	begin(t, f, elsewhere, idempotency.Running, "")
	begin(t, f, done, idempotency.Done, "reply")
	heir := dead
	heir.Epoch, heir.Request = "2", "2"
	begin(t, f, heir, idempotency.New, "")
	if err := f.Kept.IdempotencyFinish(t.Context(), dead, []byte("late")); !errors.Is(err, store.ErrIdempotencyLost) {
		t.Errorf("a dead owner finishes: got %v, want ErrIdempotencyLost", err)
	}
}
