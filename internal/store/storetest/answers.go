package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/answercache"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/store"
)

// answerOf returns an answer of n bytes that an account paid for.
func answerOf(scope, key, account string, at time.Time, n int) *answercache.Entry {
	return &answercache.Entry{
		ID: answercache.ID{Scope: scope, Key: key}, Account: account, Created: at, Expires: at.Add(time.Hour),
		Sealed: strings.Repeat("x", n),
	}
}

// answers returns the names of the stored answers and checks that the sums are theirs.
func answers(t *testing.T, s *store.DB, keys ...string) (found string) {
	t.Helper()
	bytes, number := int64(0), int64(0)
	for _, name := range keys {
		scope, key, _ := strings.Cut(name, "/")
		e, err := s.Answers.Answer(t.Context(), answercache.ID{Scope: scope, Key: key})
		if errors.Is(err, answercache.ErrNotFound) {
			continue
		}
		must.Do(t, err)
		found += name + " "
		bytes, number = bytes+int64(len(e.Sealed)), number+1
	}
	for _, u := range must.Get(s.Answers.Usage(t.Context()))(t) {
		bytes, number = bytes-u.Bytes, number-u.Items
	}
	if bytes != 0 || number != 0 {
		t.Errorf("the sums lack %d answers of %d bytes", number, bytes)
	}
	return strings.TrimSpace(found)
}

// testAnswers checks that answers are found until they expire, by their scope and key alone, that a later one replaces
// an earlier one, and what deletes them.
func testAnswers(t *testing.T, f *fixture) {
	s := f.DB
	for _, id := range []string{"a", "b"} {
		must.Do(t, s.Accounts.CreateAccount(t.Context(), ann(), account.Account{ID: id, Name: "account " + id, Created: f.clock()}))
	}
	all := []string{"a/1", "a/2", "b/1", "/1", "a/old"}
	put := func(e *answercache.Entry) { t.Helper(); must.Do(t, s.Answers.PutAnswer(t.Context(), e)) }
	now := f.clock()
	put(answerOf("a", "1", "a", now, 10))
	put(answerOf("a", "1", "a", now, 30))
	put(answerOf("a", "2", "a", now, 20))
	put(answerOf("b", "1", "b", now, 5))
	put(answerOf("", "1", "b", now, 7))
	put(answerOf("c", "1", "c", now, 7)) // of no account
	put(answerOf("a", "old", "a", now.Add(-2*time.Hour), 7))
	if u := must.Get(s.Answers.Usage(t.Context()))(t); len(u) != 2 || u[0].Items != 3 || u[0].Bytes != 57 {
		t.Errorf("the sums %+v, want three answers of a with the expired one, and none of c", u)
	}
	must.Do(t, s.Answers.Retain(t.Context()))
	must.Equal(t, answers(t, s, all...), "a/1 a/2 b/1 /1", "after the expiry")
	e := must.Get(s.Answers.Answer(t.Context(), answercache.ID{Scope: "a", Key: "1"}))(t)
	must.Equal(t, e, *answerOf("a", "1", "a", now, 30), "the later answer")
	of := audit.Object{Kind: "account", ID: "b", Name: "account b"}
	gone := must.Get(s.Answers.Purge(t.Context(), ann(), of, now))(t)
	must.Equal(t, gone, store.SealedUsage{Account: "b"}, "purged of earlier ones")
	gone = must.Get(s.Answers.Purge(t.Context(), ann(), of, now.Add(time.Second)))(t)
	must.Equal(t, gone, store.SealedUsage{Account: "b", Items: 2, Bytes: 12}, "purged")
	must.Equal(t, answers(t, s, all...), "a/1 a/2", "after the purge")
	log := must.Get(s.Audit.Entries(t.Context(), audit.Query{Limit: 10}))(t)
	if n := len(log); n == 0 || log[0].Action != audit.AnswersPurged || log[0].Account != "b" {
		t.Errorf("the audit log %+v, want the purge first", log)
	}
	must.Get(s.Accounts.CloseAccount(t.Context(), ann(), "a", now))(t)
	must.Equal(t, answers(t, s, all...), "", "after the account is closed")
	put(answerOf("a", "1", "a", now, 10))
	must.Equal(t, answers(t, s, all...), "", "of a closed account")
}

// testAnswersQuota stores more than the quotas on several goroutines: the oldest are deleted.
func testAnswersQuota(t *testing.T, f *fixture) {
	f.options.Answers = store.SealedQuota{Account: 100, All: 150}
	s := f.open(t)
	for _, id := range []string{"a", "b"} {
		must.Do(t, s.Accounts.CreateAccount(t.Context(), ann(), account.Account{ID: id, Name: "account " + id, Created: f.clock()}))
	}
	var all []string
	var running sync.WaitGroup
	for n := range 20 {
		for _, id := range []string{"a", "b"} {
			all = append(all, fmt.Sprint(id, "/", n))
			running.Go(func() {
				if err := s.Answers.PutAnswer(t.Context(), answerOf(id, fmt.Sprint(n), id, f.clock().Add(time.Duration(n)*time.Second), 10)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
	if n := len(strings.Fields(answers(t, s, all...))); n != 15 {
		t.Errorf("%d answers are stored, want 15", n)
	}
	must.Do(t, s.Answers.PutAnswer(t.Context(), answerOf("a", "large", "a", f.clock(), 101)))
	if _, err := s.Answers.Answer(t.Context(), answercache.ID{Scope: "a", Key: "large"}); !errors.Is(err, answercache.ErrNotFound) {
		t.Errorf("an answer beyond the quota: got %v, want it not to be stored", err)
	}
}
