package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/conversation"
	"weir/internal/idempotency"
	"weir/internal/must"
	"weir/internal/store"
	"weir/internal/stored"
)

// limited opens the database again, with a quota.
func (f *fixture) limited(t *testing.T, q stored.Quota) *store.DB {
	t.Helper()
	f.options.Kept = q
	return f.open(t)
}

func recordOf(account, key string) store.IdempotencyRecord {
	return store.IdempotencyRecord{Record: idempotency.Record{
		Account: account, Scope: "key_" + account, Key: key,
		Body: "b", Request: account + key,
	}, Node: "n", Epoch: "1"}
}

// reply stores a reply for an account.
func (f *fixture) reply(t *testing.T, s *store.DB, account, key, text string) error {
	t.Helper()
	c := recordOf(account, key)
	if state, _, err := s.Kept.IdempotencyBegin(t.Context(), c, idempotency.TTL); state != idempotency.New ||
		err != nil {
		t.Fatalf("begin %s: %s, %v", key, state, err)
	}
	return s.Kept.IdempotencyFinish(t.Context(), c, []byte(text))
}

// respond stores a response for an account, for a week.
func (f *fixture) respond(t *testing.T, s *store.DB, account, id, text string, items ...string) error {
	t.Helper()
	now := f.clock()
	return s.Kept.KeepResponse(t.Context(), &conversation.Record{
		Account: account, Scope: "key_" + account, ID: id, Items: items, Created: now, Expires: now.Add(7 * day),
		Sealed: []byte(text),
	})
}

func wantKept(t *testing.T, s *store.DB, when string, want ...stored.Usage) {
	t.Helper()
	got, err := s.Kept.Usage(t.Context())
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("%s: %v (-got +want)\n%s", when, err, diff)
	}
}

func wantRefusal(t *testing.T, what string, err error, want stored.Refusal) {
	t.Helper()
	if got, _ := errors.AsType[stored.Refusal](err); got != want || (want == "") != (err == nil) {
		t.Errorf("%s: got %v, want the refusal %q", what, err, want)
	}
}

// testKept checks the sums of everything that is stored and deleted.
func testKept(t *testing.T, f *fixture) {
	s := f.DB
	for i := range 3 {
		wantRefusal(t, "reply", f.reply(t, s, "a", fmt.Sprint(i), "four"), "")
	}
	wantRefusal(t, "stream", s.Kept.IdempotencyFinish(t.Context(), begun(t, s, "a", "stream"), nil), "")
	begun(t, s, "a", "runs")
	wantRefusal(t, "another's", f.reply(t, s, "b", "0", "sixsix"), "")
	wantRefusal(t, "the administration's", f.reply(t, s, "", "0", "x"), "")
	wantRefusal(t, "response", f.respond(t, s, "a", "r1", "0123456789", "i", "j"), "")
	wantRefusal(t, "response", f.respond(t, s, "a", "r2", "0123456789"), "")
	wantRefusal(t, "in its place", f.respond(t, s, "a", "r2", "01234"), "")
	b := stored.Usage{Account: "b", Replies: 1, ReplyBytes: 6}
	wantKept(t, s, "all", stored.Usage{Replies: 1, ReplyBytes: 1}, stored.Usage{
		Account: "a", Replies: 3, ReplyBytes: 12,
		Responses: 2, ResponseBytes: 10 + 2*256 + 5,
	}, b)

	must.Do(t, s.Kept.DeleteResponse(t.Context(), "r1"))
	f.advance(day)
	wantRefusal(t, "after one that has expired", f.reply(t, s, "a", "0", "fives"), "")
	a := stored.Usage{Account: "a", Replies: 3, ReplyBytes: 4 + 4 + 5, Responses: 1, ResponseBytes: 5}
	wantKept(t, s, "before a sweep", stored.Usage{Replies: 1, ReplyBytes: 1}, a, b)
	if n, err := s.Kept.IdempotencySweep(t.Context()); n != 6 || err != nil {
		t.Errorf("sweep: got %d, %v; want 6", n, err)
	}
	wantKept(t, s, "after it", stored.Usage{Account: "a", Replies: 1, ReplyBytes: 5, Responses: 1, ResponseBytes: 5})
	f.advance(7 * day)
	if n, err := s.Kept.SweepResponses(t.Context()); n != 1 || err != nil {
		t.Errorf("sweep responses: got %d, %v; want 1", n, err)
	}
	wantKept(t, s, "after that of responses", stored.Usage{Account: "a", Replies: 1, ReplyBytes: 5})
}

// begun returns a record of a running request.
func begun(t *testing.T, s *store.DB, account, key string) store.IdempotencyRecord {
	t.Helper()
	c := recordOf(account, key)
	if state, _, err := s.Kept.IdempotencyBegin(t.Context(), c, idempotency.TTL); state != idempotency.New ||
		err != nil {
		t.Fatalf("begin %s: %s, %v", key, state, err)
	}
	return c
}

// testKeptQuota checks that replies and responses together do not exceed an account's quota, and that a key is spent
// if its reply is not stored.
func testKeptQuota(t *testing.T, f *fixture) {
	s := f.limited(t, stored.Quota{Bytes: 10, Number: 3})
	wantRefusal(t, "larger than all", f.reply(t, s, "a", "large", "eleven char"), stored.OverQuota)
	begin(t, f, recordOf("a", "large"), idempotency.Spent, "")
	wantRefusal(t, "first", f.reply(t, s, "a", "1", "12345"), "")
	wantRefusal(t, "second", f.respond(t, s, "a", "r", "12345"), "")
	wantRefusal(t, "a byte too many", f.reply(t, s, "a", "2", "1"), stored.OverQuota)
	wantRefusal(t, "a byte too many", f.respond(t, s, "a", "r2", "1"), stored.OverQuota)
	wantResponse(t, f, "r2", "")
	wantRefusal(t, "smaller, in its place", f.respond(t, s, "a", "r", "1"), "")
	wantRefusal(t, "third", f.reply(t, s, "a", "3", "1"), "")
	wantRefusal(t, "one too many", f.reply(t, s, "a", "4", "1"), stored.OverQuota)
	wantRefusal(t, "another account's", f.reply(t, s, "b", "1", "1234567890"), "")
	wantRefusal(t, "the administration's", f.reply(t, s, "", "1", "more than ten"), "")
	begin(t, f, recordOf("a", "1"), idempotency.Done, "12345")
	must.Do(t, s.Kept.DeleteResponse(t.Context(), "r"))
	wantRefusal(t, "after one was deleted", f.reply(t, s, "a", "5", "1234"), "")
	wantKept(t, s, "in the end", stored.Usage{Replies: 1, ReplyBytes: 13}, stored.Usage{
		Account: "a", Replies: 3,
		ReplyBytes: 10,
	}, stored.Usage{Account: "b", Replies: 1, ReplyBytes: 10})
}

// testKeptAtOnce checks that concurrent nodes do not exceed the quota, and that all of it is released.
func testKeptAtOnce(t *testing.T, f *fixture) {
	const nodes, each, room = 3, 20, 30
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for node := range nodes {
		s := f.limited(t, stored.Quota{Bytes: room * 10})
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprint(node, "-", i)
				err := f.respond(t, s, "a", id, "0123456789")
				if i%2 == 0 {
					err = f.reply(t, s, "a", id, "0123456789")
				}
				if errors.Is(err, stored.OverQuota) {
					mu.Lock()
					refused++
					mu.Unlock()
				} else if err != nil {
					t.Errorf("keep %s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	got, err := f.Kept.Usage(t.Context())
	if err != nil || len(got) != 1 || got[0].Replies+got[0].Responses != room || got[0].ReplyBytes+
		got[0].ResponseBytes != room*10 {
		t.Errorf("stored: got %+v, %v; want %d", got, err, room)
	}
	f.advance(7 * day)
	for range nodes {
		s := f.open(t)
		wg.Go(func() {
			_, err1 := s.Kept.IdempotencySweep(t.Context())
			_, err2 := s.Kept.SweepResponses(t.Context())
			if err := errors.Join(err1, err2); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantKept(t, f.DB, "after sweeps")
}

// testKeptTogether checks that concurrent responses are each stored completely or not at all, even if clients leave,
// and that the sums match the stored ones.
func testKeptTogether(t *testing.T, f *fixture) {
	const many, room = 120, 25
	s := f.limited(t, stored.Quota{Bytes: room * 10})
	var wg sync.WaitGroup
	var refused, left atomic.Int64
	for i := range many {
		account, id := string(rune('a'+i%3)), fmt.Sprint(i)
		if i%10 == 0 {
			id = "the same of " + account
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		wg.Go(func() {
			if i%7 == 0 {
				leave()
			}
			err := s.Kept.KeepResponse(ctx, &conversation.Record{
				Account: account, Scope: "key", ID: id, Created: f.clock(), Expires: f.clock().Add(day),
				Sealed: []byte("0123456789"),
			})
			switch {
			case errors.Is(err, stored.OverQuota):
				refused.Add(1)
			case errors.Is(err, context.Canceled) && i%7 == 0:
				left.Add(1)
			case err != nil:
				t.Errorf("keep %s: %v", id, err)
			}
		})
	}
	wg.Wait()
	got, err := s.Kept.Usage(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("stored: got %+v, %v; want three accounts", got, err)
	}
	for _, u := range got {
		if u.Responses > room || u.ResponseBytes != 10*u.Responses {
			t.Errorf("stored: got %+v, want up to %d of 10 bytes", u, room)
		}
	}
	f.advance(2 * day)
	must.Get(s.Kept.SweepResponses(t.Context()))(t)
	wantKept(t, s, "after a sweep")
	if refused.Load() == 0 || left.Load() == 0 {
		t.Errorf("%d refused, %d left; want some of both", refused.Load(), left.Load())
	}
}

// testKeptDisk checks that nothing is stored while the database's disk, if it is local, has too little space.
func testKeptDisk(t *testing.T, f *fixture) {
	s := f.limited(t, stored.Quota{FreeDisk: math.MaxInt64})
	version := must.Get(s.Version(t.Context()))(t)
	want := stored.Refusal("")
	if version[0] == 'S' {
		want = stored.DiskFull
	}
	wantRefusal(t, "reply", f.reply(t, s, "a", "1", "x"), want)
	wantRefusal(t, "response", f.respond(t, s, "a", "r", "x"), want)
	wantRefusal(t, "the administration's", f.reply(t, s, "", "1", "x"), "")
	if want != "" {
		begin(t, f, recordOf("a", "1"), idempotency.Spent, "")
	}
	wantRefusal(t, "with room", f.reply(t, f.limited(t, stored.Quota{FreeDisk: 1}), "a", "2", "x"), "")
}

// testKeptPurged checks that a purge leaves the keys of deleted replies spent, and that the audit log names its
// actor.
func testKeptPurged(t *testing.T, f *fixture) {
	const many = 600 // more than one transaction purges
	s := f.DB
	for i := range many {
		wantRefusal(t, "response", f.respond(t, s, "a", fmt.Sprint(i), "x"), "")
	}
	wantRefusal(t, "reply", f.reply(t, s, "a", "old", "reply"), "")
	begun(t, s, "a", "runs")
	wantRefusal(t, "another's", f.reply(t, s, "b", "old", "reply"), "")
	f.advance(time.Hour)
	wantRefusal(t, "reply", f.reply(t, s, "a", "young", "young"), "")
	wantRefusal(t, "response", f.respond(t, s, "a", "young", "young"), "")

	a := audit.Object{Kind: "account", ID: "a", Name: "name"}
	for _, want := range []stored.Usage{{Replies: 1, ReplyBytes: 5, Responses: many, ResponseBytes: many}, {}} {
		if got, err := s.Kept.Purge(t.Context(), ann(), a, f.clock()); got != want || err != nil {
			t.Errorf("purge: got %+v, %v; want %+v", got, err, want)
		}
	}
	wantKept(t, s, "after it", stored.Usage{Account: "a", Replies: 1, ReplyBytes: 5, Responses: 1, ResponseBytes: 5},
		stored.Usage{Account: "b", Replies: 1, ReplyBytes: 5})
	begin(t, f, recordOf("a", "old"), idempotency.Spent, "")
	begin(t, f, recordOf("a", "young"), idempotency.Done, "young")
	begin(t, f, recordOf("a", "runs"), idempotency.Running, "")
	wantResponse(t, f, "0", "")
	wantResponse(t, f, "young", "young")
	log := logged(t, f, audit.Query{Action: audit.KeptPurged, Limit: 9})
	if len(log) != 1 || log[0].Object != a || log[0].Account != "a" ||
		string(log[0].After) != `{"before":"2026-11-21T13:00:00Z"}` {
		t.Errorf("logged %+v, want the purge once", log)
	}
	f.advance(day)
	if n, err := s.Kept.IdempotencySweep(t.Context()); n != 4 || err != nil {
		t.Errorf("sweep: got %d, %v; want 4", n, err)
	}
	wantKept(t, s, "after a sweep", stored.Usage{Account: "a", Responses: 1, ResponseBytes: 5})
}
