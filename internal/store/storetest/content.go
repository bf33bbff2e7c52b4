package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/contentlog"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/seal"
	"weir/internal/store"
)

// vault holds master keys like an installation.
type vault struct {
	mu   sync.Mutex
	keys []seal.Key
	ring *seal.Ring
	s    *store.DB
}

func newVault(t *testing.T, s *store.DB) *vault {
	t.Helper()
	v := &vault{keys: []seal.Key{seal.NewKey()}, s: s}
	v.ring = must.Get(seal.NewRing(v.load))(t)
	return v
}

func (v *vault) load() ([]seal.Key, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.keys, nil
}

// keysOf returns the keys of the content log on a node.
func (v *vault) keysOf(s *store.DB) *contentlog.Keys {
	sealed := func(ctx context.Context, text []byte, about string) (string, error) {
		name, err := v.s.Webhooks.MasterKey(ctx, v.ring.Newest())
		if err != nil {
			return "", err
		}
		return v.ring.Seal(name, text, about)
	}
	return &contentlog.Keys{Store: s.Content, Seal: sealed, Open: v.ring.Open}
}

// contentLog is the content log of one node.
type contentLog struct {
	*contentlog.Recorder
	keys *contentlog.Keys
	s    *store.DB
	f    *fixture
}

func (f *fixture) contentLog(t *testing.T, v *vault, s *store.DB) *contentLog {
	t.Helper()
	l := &contentLog{keys: v.keysOf(s), s: s, f: f}
	l.Recorder = contentlog.NewRecorder(contentlog.Options{
		Keys: l.keys, Write: s.Content.Write, Most: 10_000, Now: f.clock, Log: slog.New(slog.DiscardHandler),
		Dropped: func(why contentlog.Reason) { t.Errorf("content was dropped: %s", why) },
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return l
}

// say logs a request with a text and returns its id.
func (l *contentLog) say(t *testing.T, account, text string) uuid.UUID {
	t.Helper()
	id := must.Get(uuid.NewV7())(t)
	c := l.Begin(contentlog.Request{ID: id, Account: account, Key: account + "_key"}, []byte(`{"prompt":"`+text+`"}`), false)
	c.Event(&llm.Event{Kind: llm.EventText, Text: "said " + text})
	c.End()
	l.Await(t.Context())
	return id
}

// read returns the content of a request; empty if there is none.
func (l *contentLog) read(t *testing.T, account string, id uuid.UUID) string {
	t.Helper()
	r, err := l.s.Content.Read(t.Context(), ann(), account, id, l.f.clock().Add(-day))
	if errors.Is(err, contentlog.ErrNotFound) {
		return ""
	}
	must.Do(t, err)
	c := must.Get(l.keys.Read(t.Context(), &r))(t)
	return string(c.Request) + string(c.Answer)
}

func saidBy(text string) string {
	return `{"prompt":"` + text + `"}{"choices":[{"index":0,"text":"said ` + text + `"}]}`
}

func (f *fixture) makeAccounts(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		must.Do(t, f.Accounts.CreateAccount(t.Context(), ann(), account.Account{ID: name, Name: name, Created: f.clock()}))
	}
}

func wantContent(t *testing.T, s *store.DB, when string, want ...store.SealedUsage) {
	t.Helper()
	got := must.Get(s.Content.Usage(t.Context()))(t)
	for i := range got {
		got[i].Bytes = min(got[i].Bytes, 1)
	}
	must.Equal(t, got, want, "%s", when)
}

// testContent checks that only the account's own content is found, that two nodes share a key, and that each look and
// export is in the audit log.
func testContent(t *testing.T, f *fixture) {
	f.makeAccounts(t, "a", "b")
	v := newVault(t, f.DB)
	one, two := f.contentLog(t, v, f.DB), f.contentLog(t, v, f.open(t))
	first := one.say(t, "a", "first")
	f.advance(time.Second)
	second, other := two.say(t, "a", "second"), two.say(t, "b", "other")
	must.Equal(t, two.read(t, "a", first), saidBy("first"), "content of another node")
	must.Equal(t, one.read(t, "a", second), saidBy("second"), "content of another node")
	must.Equal(t, one.read(t, "a", other), "", "content of another account")
	wantContent(t, f.DB, "amounts", store.SealedUsage{Account: "a", Items: 2, Bytes: 1},
		store.SealedUsage{Account: "b", Items: 1, Bytes: 1})

	var exported []uuid.UUID
	err := f.Content.Export(t.Context(), ann(), audit.Object{Kind: "account", ID: "a", Name: "a"},
		store.ContentQuery{Account: "a", From: f.clock().Add(-time.Hour), Until: f.clock().Add(time.Hour)},
		func(r *contentlog.Record) error { exported = append(exported, r.Request); return nil })
	must.Do(t, err)
	must.Equal(t, exported, []uuid.UUID{first, second}, "exported requests")
	log := logged(t, f, audit.Query{Action: "content.", Limit: 9})
	if len(log) != 3 || log[0].Action != audit.ContentExported || log[2].Object.ID != first.String() {
		t.Errorf("got %+v, want two looks and an export", log)
	}
	gone := must.Get(f.Content.Purge(t.Context(), ann(), audit.Object{Kind: "account", ID: "a", Name: "a"}, time.Time{}, first))(t)
	must.Equal(t, gone.Items, int64(1), "purged requests")
	must.Equal(t, one.read(t, "a", first)+one.read(t, "a", second), saidBy("second"), "content after the purge of one")
}

// testContentQuota checks that the oldest content goes first, of an account and of all.
func testContentQuota(t *testing.T, f *fixture) {
	f.options.Content = store.SealedQuota{Account: 900, All: 1500}
	s := f.open(t)
	f.makeAccounts(t, "a", "b")
	l := f.contentLog(t, newVault(t, f.DB), s)
	var a, b []uuid.UUID
	for i := range 10 {
		f.advance(time.Second)
		a, b = append(a, l.say(t, "a", fmt.Sprint(i))), append(b, l.say(t, "b", fmt.Sprint(i)))
	}
	sum := int64(0)
	for _, u := range must.Get(s.Content.Usage(t.Context()))(t) {
		if sum += u.Bytes; u.Bytes > 900 || u.Items == 0 {
			t.Errorf("account %s has %d bytes of %d requests, want 900 at most and some", u.Account, u.Bytes, u.Items)
		}
	}
	if sum > 1500 {
		t.Errorf("all have %d bytes, want 1500 at most", sum)
	}
	must.Equal(t, l.read(t, "a", a[0])+l.read(t, "b", b[0]), "", "the oldest content")
	must.Equal(t, l.read(t, "a", a[9])+l.read(t, "b", b[9]), saidBy("9")+saidBy("9"), "the latest content")
}

// testContentQuotaOfTwoNodes checks that two nodes that write at the same time hold the quotas together: the amount is
// exceeded by their last batches at most, and no more is deleted than needed.
func testContentQuotaOfTwoNodes(t *testing.T, f *fixture) {
	const quota, size, perBatch, batches, nodes = 3000, 100, 5, 30, 2
	f.options.Content = store.SealedQuota{Account: quota}
	f.makeAccounts(t, "a")
	var all sync.WaitGroup
	for range nodes {
		s := f.open(t)
		all.Go(func() {
			for range batches {
				var list []contentlog.Record
				for range perBatch {
					list = append(list, contentlog.Record{
						Account: "a", Key: "k", Request: uuid.Must(uuid.NewV7()), Created: f.clock(), Sealed: make([]byte, size),
					})
				}
				must.Do(t, s.Content.Write(t.Context(), list))
				if u := must.Get(s.Content.Usage(t.Context()))(t); u[0].Bytes > quota+nodes*perBatch*size {
					t.Errorf("the account has %d bytes, want at most a batch of each node beyond %d", u[0].Bytes, quota)
				}
			}
		})
	}
	all.Wait()
	wantContent(t, f.DB, "amount at the end", store.SealedUsage{Account: "a", Items: quota / size, Bytes: 1})
}

// testContentRetained checks that content and keys are deleted by age, and only then.
func testContentRetained(t *testing.T, f *fixture) {
	f.makeAccounts(t, "a")
	l := f.contentLog(t, newVault(t, f.DB), f.DB)
	old := l.say(t, "a", "old")
	first := contentlog.DayOf(f.clock())
	f.advance(12 * time.Hour)
	young := l.say(t, "a", "young")
	for id, want := range map[uuid.UUID]bool{old: false, young: true} { // before the deletion
		since := f.clock().Add(-time.Hour)
		has := must.Get(f.Content.Has(t.Context(), "a", id, since))(t)
		_, err := f.Content.Read(t.Context(), ann(), "a", id, since)
		if has != want || errors.Is(err, contentlog.ErrNotFound) == want {
			t.Errorf("content that is too old is there: got %t, %v; want %t", has, err, want)
		}
	}
	must.Do(t, f.Content.Retain(t.Context(), f.clock().Add(-time.Hour)))
	must.Equal(t, l.read(t, "a", old)+l.read(t, "a", young), saidBy("young"), "content")
	f.advance(3 * day)
	must.Do(t, f.Content.Retain(t.Context(), f.clock().Add(-5*day)))
	must.Get(f.Content.ContentKey(t.Context(), "a", first+1, ""))(t)
	must.Do(t, f.Content.Retain(t.Context(), f.clock().Add(-time.Hour)))
	for _, day := range []int64{first, first + 1} {
		if _, err := f.Content.ContentKey(t.Context(), "a", day, ""); !errors.Is(err, contentlog.ErrNotFound) {
			t.Errorf("key of day %d: got %v, want none", day, err)
		}
	}
	wantContent(t, f.DB, "amounts at the end")
}

// testContentResealed checks that content stays readable after a rotation of the master key, and that a node that knew
// only the former key goes on with the new one.
func testContentResealed(t *testing.T, f *fixture) {
	f.makeAccounts(t, "a", "b")
	v := newVault(t, f.DB)
	l := f.contentLog(t, v, f.DB)
	before := l.say(t, "a", "before")
	v.mu.Lock()
	v.keys = append([]seal.Key{seal.NewKey()}, v.keys...)
	v.mu.Unlock()
	rotating := must.Get(seal.NewRing(v.load))(t)
	if n, err := f.Webhooks.Reseal(t.Context(), audit.Gateway(), rotating); err != nil || n != 1 {
		t.Fatalf("resealed %d: %v, want the key of the content", n, err)
	}
	v.mu.Lock()
	v.keys = v.keys[:1]
	v.mu.Unlock()
	counts := must.Get(f.Webhooks.SealedWith(t.Context()))(t)
	must.Equal(t, counts, map[string]int{rotating.Newest(): 1}, "keys by master key")
	must.Equal(t, l.read(t, "a", before), saidBy("before"), "content from before the rotation")
	after := l.say(t, "b", "after")
	must.Equal(t, l.read(t, "b", after), saidBy("after"), "content from after the rotation")

	v.mu.Lock()
	v.keys = []seal.Key{seal.NewKey()} // the other one is lost
	v.mu.Unlock()
	anew := must.Get(seal.NewRing(v.load))(t)
	if _, err := f.Webhooks.Reseal(t.Context(), audit.Gateway(), anew); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("without the master key of content: got %v, want %v", err, seal.ErrNoKey)
	}
	for _, id := range []string{"a", "b"} {
		_, err := f.Content.Purge(t.Context(), ann(), audit.Object{Kind: "account", ID: id}, f.clock().Add(time.Hour), uuid.Nil)
		must.Do(t, err)
	}
	if n, err := f.Webhooks.Reseal(t.Context(), audit.Gateway(), anew); n != 0 || err != nil {
		t.Errorf("after the purge: resealed %d, %v; want no key left", n, err)
	}
}

// testContentOfClosed checks that closing an account deletes its content, and that content that was on its way is not
// written.
func testContentOfClosed(t *testing.T, f *fixture) {
	f.makeAccounts(t, "a", "b")
	l := f.contentLog(t, newVault(t, f.DB), f.DB)
	before, others := l.say(t, "a", "before"), l.say(t, "b", "others")
	must.Get(f.Accounts.CloseAccount(t.Context(), ann(), "a", f.clock()))(t)
	after := l.say(t, "a", "after")
	must.Equal(t, l.read(t, "a", before)+l.read(t, "a", after), "", "content of the closed account")
	must.Equal(t, l.read(t, "b", others), saidBy("others"), "content of another account")
	wantContent(t, f.DB, "amounts", store.SealedUsage{Account: "b", Items: 1, Bytes: 1})
}

// testContentSwitched checks that the settings of accounts and keys are stored and in the audit log, and off at first.
func testContentSwitched(t *testing.T, f *fixture) {
	f.makeAccounts(t, "a")
	k := account.Key{ID: "k", AccountID: "a", Label: "k", Permissions: []account.Permission{account.Chat}, Created: f.clock()}
	must.Do(t, f.Accounts.CreateKey(t.Context(), ann(), k, account.Hash{1}))
	for _, want := range []int64{0, 30} {
		a, k, err := f.Accounts.KeyByHash(t.Context(), account.Hash{1})
		must.Do(t, err)
		must.Equal(t, account.NewPrincipal(&a, &k).ContentPercent(), want, "percentage")
		must.Get(f.Accounts.UpdateAccount(t.Context(), ann(), "a", account.Update{ContentPercent: new(int64(30))}))(t)
	}
	must.Get(f.Accounts.UpdateKey(t.Context(), ann(), "k", account.KeyUpdate{NoContent: new(true)}))(t)
	a, k, err := f.Accounts.KeyByHash(t.Context(), account.Hash{1})
	must.Do(t, err)
	must.Equal(t, account.NewPrincipal(&a, &k).ContentPercent(), int64(0), "percentage of the key")
	_, err = f.Accounts.UpdateKey(t.Context(), ann(), "k", account.KeyUpdate{NoContent: new(false), Tighten: true})
	must.Equal(t, llm.AsError(err).Code, llm.CodeForbidden, "code for a member who switches it on again")
	log := logged(t, f, audit.Query{Limit: 2})
	must.Equal(t, string(log[0].After)+string(log[1].After), `{"no_content":true}{"content_percent":30}`, "audit log")
}
