package answercache_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/answercache"
	"weir/internal/must"
	"weir/internal/worktest"
)

// memory is a store and a cipher for tests.
type memory struct {
	mu   sync.Mutex
	rows map[answercache.ID]answercache.Entry
	err  error
}

func (m *memory) Answer(_ context.Context, id answercache.ID) (answercache.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, there := m.rows[id]
	if !there && m.err == nil {
		return e, answercache.ErrNotFound
	}
	return e, m.err
}

func (m *memory) PutAnswer(_ context.Context, e *answercache.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.rows[e.ID] = *e
	}
	return m.err
}

func newCache(m *memory, now func() time.Time) *answercache.Cache {
	m.rows = map[answercache.ID]answercache.Entry{}
	return answercache.New(answercache.Options{
		Store: m, Now: now,
		Seal: func(_ context.Context, text []byte, about string) (string, error) {
			return about + "\x00" + string(text), nil
		},
		Open: func(sealed, about string) ([]byte, error) {
			text, ok := strings.CutPrefix(sealed, about+"\x00")
			if !ok {
				return nil, errors.New("of another answer")
			}
			return []byte(text), nil
		},
		Policy: answercache.Policy{Longest: time.Hour, Wait: time.Minute},
	})
}

func hashOf(text string) string {
	h := answercache.NewHash()
	h.JSON([]byte(text))
	return h.Key()
}

// TestHashIgnoresOrderAndSpaceOnly compares requests that are equal, and requests that differ in one thing.
func TestHashIgnoresOrderAndSpaceOnly(t *testing.T) {
	t.Parallel()
	const one = `{"model":"m","messages":[{"role":"user","content":"a \" b"}],"schema":{"x":1,"y":2}}`
	for _, equal := range []string{
		` { "messages" : [ { "role":"user" , "content":"a \" b" } ],` + "\n\t" + `"schema":{"x":1,"y":2}, "model":"m"}`,
		`{"mod\u0065l":"m","messages":[{"role":"user","content":"a \" b"}],"schema":{"x":1,"y":2}}`,
	} {
		if hashOf(equal) != hashOf(one) {
			t.Errorf("%s: the hash differs from that of %s", equal, one)
		}
	}
	for _, other := range []string{
		`{"model":"m","messages":[{"role":"user","content":"a  \" b"}],"schema":{"x":1,"y":2}}`,
		`{"model":"m","messages":[{"role":"user","content":"a \" b"}],"schema":{"y":2,"x":1}}`,
		`{"model":"m","messages":[{"role":"user","content":"a \" b"}],"schema":{"x":1,"y":2},"n":1}`,
		`{"model":"n","messages":[{"role":"user","content":"a \" b"}],"schema":{"x":1,"y":2}}`,
		`{"model":"m","messages":[{"role":"user","content":"a \\\" b"}],"schema":{"x":1,"y":2}}`,
	} {
		if hashOf(other) == hashOf(one) {
			t.Errorf("%s: the hash equals that of %s", other, one)
		}
	}
}

// TestHashSeparatesTexts checks that the border between two texts counts.
func TestHashSeparatesTexts(t *testing.T) {
	t.Parallel()
	a, b := answercache.NewHash(), answercache.NewHash()
	a.Text("ab", "c")
	b.Text("a", "bc")
	if a.Key() == b.Key() {
		t.Error("two lists of texts have one hash")
	}
}

func FuzzHash(f *testing.F) {
	f.Add(`{"a":[1,"\\",{"b":" c "}], "a" : null}`)
	f.Fuzz(func(t *testing.T, text string) {
		worktest.Check(t, []byte(text), func(b []byte) {
			hashOf(string(b))
			answercache.HasTools(b)
		})
	})
}

func TestWishesAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]answercache.Wish{
		"1h": {MaxAge: time.Hour}, "90s": {MaxAge: 90 * time.Second}, "7d": {MaxAge: 168 * time.Hour}, " 15m ; tools": {MaxAge: 15 * time.Minute, Tools: true},
		"off": {},
	} {
		if got := must.Get(answercache.ParseWish(text))(t); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"", "1", "0s", "-1h", "soon", "1h; shared", "1h;", "off; tools", "; tools", "1ns", "999999999d", "213504d", "7dd"} {
		if got, err := answercache.ParseWish(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

// TestToolsAreFoundByName lists names of tools in several wire formats.
func TestToolsAreFoundByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"tools":[]}`: true, `{"toolConfig":{}}`: true, `{"functions":[1]}`: true, `{"mcp_servers":[]}`: true, `{"web_search_options":{}}`: true,
		`{"tools":null,"messages":["tools"]}`: false, `{"model":"m","metadata":{"tools":1}}`: false,
	} {
		if got := answercache.HasTools([]byte(text)); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
}

// TestCacheFollowsModel runs random steps on a cache and on a map. An answer is found exactly if it was stored for the
// same ID and is younger than the request accepts, and its bytes are those of the map.
func TestCacheFollowsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		m := &memory{}
		c := newCache(m, func() time.Time { return now })
		type stored struct {
			body string
			at   time.Time
		}
		model := map[answercache.ID]stored{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 900).Draw(rt, "seconds")) * time.Second)
			id := answercache.ID{Scope: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "scope"), Key: rapid.SampledFrom([]string{"k", "l"}).Draw(rt, "key")}
			age := time.Duration(rapid.IntRange(1, 60).Draw(rt, "minutes")) * time.Minute
			a, claim, err := c.Begin(t.Context(), answercache.Ask{ID: id, Account: "x", MaxAge: age})
			before, there := model[id]
			if err != nil || (a != nil) != (there && now.Sub(before.at) < age) || (a == nil) == (claim == nil) {
				rt.Fatalf("answer %v, claim %v, error %v: want that of %v at %v", a, claim, err, before, now)
			}
			switch {
			case a != nil && string(a.Body) != before.body:
				rt.Fatalf("got %q, want %q", a.Body, before.body)
			case a != nil:
			case rapid.Bool().Draw(rt, "fails"):
				claim.Release()
			default:
				body := rapid.String().Draw(rt, "body")
				must.Do(t, claim.Keep(t.Context(), &answercache.Answer{Body: []byte(body)}))
				claim.Release() // has no effect
				model[id] = stored{body, now}
			}
		}
	})
}

// TestFollowersGetOneAnswer checks the requests that wait for another one: they get its answer, or a claim each if it
// fails, is late, or if they end before.
func TestFollowersGetOneAnswer(t *testing.T) {
	t.Parallel()
	ask := answercache.Ask{ID: answercache.ID{Key: "k"}, MaxAge: time.Hour}
	for _, test := range []struct {
		name   string
		end    func(*answercache.Claim)
		answer bool
	}{
		{"answered", func(l *answercache.Claim) {
			must.Do(t, l.Keep(t.Context(), &answercache.Answer{Body: []byte("one")}))
		}, true},
		{"failed", (*answercache.Claim).Release, false},
		{"late", func(*answercache.Claim) {}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCache(&memory{}, time.Now)
			if test.name == "late" {
				c.Wait = 10 * time.Millisecond
			}
			a, leader, err := c.Begin(t.Context(), ask)
			if a != nil || leader == nil || err != nil {
				t.Fatalf("the first request: got %v, %v, %v, want a claim", a, leader, err)
			}
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					a, claim, err := c.Begin(t.Context(), ask)
					if err != nil || (a != nil) != test.answer || (claim != nil) == test.answer {
						t.Errorf("got %v, %v, %v, want an answer: %t", a, claim, err, test.answer)
					}
					claim.Release()
				})
			}
			if test.name != "late" {
				gone, leave := context.WithCancelCause(t.Context())
				leave(context.Canceled)
				if _, claim, err := c.Begin(gone, ask); claim != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("a request that has ended: got %v, %v, want its error", claim, err)
				}
				test.end(leader)
			}
			all.Wait()
			leader.Release()
		})
	}
}

// TestFailedStoreLetsRequestsThrough checks that a request whose look-up fails gets a claim and the error.
func TestFailedStoreLetsRequestsThrough(t *testing.T) {
	t.Parallel()
	m := &memory{}
	c := newCache(m, time.Now)
	m.err = errors.New("no database")
	a, claim, err := c.Begin(t.Context(), answercache.Ask{ID: answercache.ID{Key: "k"}, MaxAge: time.Hour})
	if a != nil || claim == nil || !errors.Is(err, m.err) {
		t.Errorf("got %v, %v, %v, want a claim and the store's error", a, claim, err)
	}
	if err := claim.Keep(t.Context(), &answercache.Answer{}); !errors.Is(err, m.err) {
		t.Errorf("got %v, want the store's error", err)
	}
}

// TestForeignAnswerIsNotOpened checks that an answer that was moved to another ID is not returned.
func TestForeignAnswerIsNotOpened(t *testing.T) {
	t.Parallel()
	m := &memory{}
	c := newCache(m, time.Now)
	mine, theirs := answercache.ID{Scope: "a", Key: "k"}, answercache.ID{Scope: "b", Key: "k"}
	_, claim, _ := c.Begin(t.Context(), answercache.Ask{ID: theirs, MaxAge: time.Hour})
	must.Do(t, claim.Keep(t.Context(), &answercache.Answer{Body: []byte("theirs")}))
	m.rows[mine] = m.rows[theirs]
	if a, _, _ := c.Begin(t.Context(), answercache.Ask{ID: mine, MaxAge: time.Hour}); a != nil {
		t.Errorf("got %q of another account", a.Body)
	}
	if a, _, _ := c.Begin(t.Context(), answercache.Ask{ID: theirs, MaxAge: time.Hour}); a == nil { // control
		t.Error("the answer was not found in its own place")
	}
}

// TestAnswerInUnknownFormIsNotReturned checks that an answer that cannot be read, such as that of a later version, goes
// to the provider, with the error.
func TestAnswerInUnknownFormIsNotReturned(t *testing.T) {
	t.Parallel()
	m := &memory{}
	c := newCache(m, time.Now)
	id := answercache.ID{Scope: "a", Key: "k"}
	for _, text := range []string{"no head", `{"saved":"1"}` + "\nbody"} {
		sealed := must.Get(c.Seal(t.Context(), []byte(text), "answer a k"))(t)
		m.rows[id] = answercache.Entry{ID: id, Created: time.Now(), Sealed: sealed}
		a, claim, err := c.Begin(t.Context(), answercache.Ask{ID: id, MaxAge: time.Hour})
		if a != nil || claim == nil || err == nil {
			t.Errorf("%q: got %+v, %v, %v, want a claim and an error", text, a, claim, err)
		}
		claim.Release()
	}
}
