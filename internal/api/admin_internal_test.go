package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/account"
	"weir/internal/idempotency"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/rawjson"

	"weir/internal/worktest"
)

// memoryStore stores records in memory.
type memoryStore struct {
	mu       sync.Mutex
	states   map[string]idempotency.State
	kept     map[string][]byte
	body     map[string]string
	beginErr error // the error of Begin
	keepErr  error // the error of Keep
	blind    bool  // the negative control: it finds every record new
}

func newRecords() *memoryStore {
	return &memoryStore{states: map[string]idempotency.State{}, kept: map[string][]byte{}, body: map[string]string{}}
}

func (c *memoryStore) Begin(_ context.Context, record idempotency.Record, _ time.Duration) (idempotency.State, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := record.Scope + " " + record.Key
	state, known := c.states[name]
	switch {
	case c.beginErr != nil:
		return "", nil, c.beginErr
	case !known || c.blind:
		c.states[name], c.body[name] = idempotency.Running, record.Body
		return idempotency.New, nil, nil
	case c.body[name] != record.Body:
		return idempotency.Other, nil, nil
	}
	return state, c.kept[name], nil
}

func (c *memoryStore) Keep(_ context.Context, record idempotency.Record, reply []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keepErr != nil {
		return c.keepErr
	}
	name := record.Scope + " " + record.Key
	c.states[name], c.kept[name] = idempotency.Done, reply
	if reply == nil {
		c.states[name] = idempotency.Spent
	}
	return nil
}

func (c *memoryStore) Forget(_ context.Context, record idempotency.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, record.Scope+" "+record.Key)
	return nil
}

// newOnce returns an administration over records, and requests to it with one Idempotency-Key.
func newOnce(c *memoryStore) (*Admin, func(ctx context.Context) *adminRequest) {
	s := &Admin{records: c, log: slog.New(slog.DiscardHandler)}
	visitor := people.KeyHolder(&account.Key{ID: "key", Permissions: []account.Permission{account.Admin}})
	return s, func(ctx context.Context) *adminRequest {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/admin/v1/accounts", nil)
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set("Authorization", "Bearer wk_secret")
		return &adminRequest{Request: r, visit: &people.Visit{Visitor: visitor, Origin: people.Origin{Request: "r"}}, body: []byte("{}")}
	}
}

// timesDone returns how often many concurrent equal requests are carried out.
func timesDone(t *testing.T, c *memoryStore) int64 {
	s, request := newOnce(c)
	var done atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, err := s.once(request(t.Context()), func(*adminRequest) (answer, error) {
				time.Sleep(time.Millisecond)
				return found(done.Add(1))
			})
			if err != nil && llm.AsError(err).Code != llm.CodeIdempotencyConflict {
				t.Errorf("got %v, want an answer or 409", err)
			}
		})
	}
	all.Wait()
	return done.Load()
}

func TestOperationRunsOnce(t *testing.T) {
	t.Parallel()
	if n := timesDone(t, newRecords()); n != 1 {
		t.Errorf("16 requests at once: got it done %d times, want 1", n)
	}
	sabotaged := newRecords()
	sabotaged.blind = true
	if n := timesDone(t, sabotaged); n == 1 {
		t.Error("the negative control: got one run without stored records, want several")
	}
}

// TestOnceAfterFailure checks the effect of an Idempotency-Key after a failure.
func TestOnceAfterFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk of the database is gone")
	for _, tt := range []struct {
		name  string
		setup func(*memoryStore)
		fails error    // of the first call
		first llm.Code // of the first request; empty for success
		next  llm.Code
		says  string // of the next one
	}{
		{"well", func(*memoryStore) {}, nil, "", "", ""},
		{"refused", func(*memoryStore) {}, llm.Invalid("name", "no"), llm.CodeInvalidRequest, "", ""},
		{"failed", func(*memoryStore) {}, broken, llm.CodeInternal, llm.CodeIdempotencyConflict, "failed in the gateway"},
		{"busy", func(*memoryStore) {}, &llm.Error{Code: llm.CodeOverloaded}, llm.CodeOverloaded, llm.CodeIdempotencyConflict, "failed in the gateway"},
		{"done, and not noted", func(c *memoryStore) { c.keepErr = broken }, nil, "", llm.CodeIdempotencyConflict, "still running"},
		{"no record", func(c *memoryStore) { c.beginErr = broken }, nil, llm.CodeOverloaded, llm.CodeOverloaded, "Try again"},
	} {
		c := newRecords()
		tt.setup(c)
		s, request := newOnce(c)
		fails := tt.fails
		call := func(*adminRequest) (answer, error) {
			a, err := found("done")
			return a, cmp.Or(fails, err)
		}
		a, err := s.once(request(t.Context()), call)
		if got := codeOf(err); got != tt.first || got == "" && string(a.Body) != `"done"` {
			t.Errorf("%s: got %s %v, want %q", tt.name, a.Body, err, tt.first)
		}
		fails = nil
		again, err := s.once(request(t.Context()), call)
		if got := codeOf(err); got != tt.next || got != "" && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s, again: got %s %v, want %q that contains %s", tt.name, again.Body, err, tt.next, tt.says)
		}
		if want := tt.fails == nil && tt.next == ""; again.replayed != want {
			t.Errorf("%s, again: got it replayed %t, want %t", tt.name, again.replayed, want)
		}
	}
}

func codeOf(err error) llm.Code {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Code
}

// TestOnceCompletesAfterDisconnect has a client disconnect: the operation still completes, for the repeated request.
func TestOnceCompletesAfterDisconnect(t *testing.T) {
	t.Parallel()
	s, request := newOnce(newRecords())
	ctx, leave := context.WithCancel(t.Context())
	_, err := s.once(request(ctx), func(r *adminRequest) (answer, error) {
		leave()
		if err := r.Context().Err(); err != nil {
			return answer{}, err
		}
		return found("done")
	})
	if err != nil {
		t.Errorf("a client who left: got %v, want it done", err)
	}
	if a, err := s.once(request(t.Context()), nil); err != nil || string(a.Body) != `"done"` || !a.replayed {
		t.Errorf("again: got %s %v, want the first answer", a.Body, err)
	}
}

// TestOnceIsSealed checks that a stored answer can be decrypted only with its own key.
func TestOnceIsSealed(t *testing.T) {
	t.Parallel()
	c := newRecords()
	s, request := newOnce(c)
	must.Get(s.once(request(t.Context()), func(*adminRequest) (answer, error) { return found("the secret") }))(t)
	for name, kept := range c.kept {
		if strings.Contains(string(kept), "secret") {
			t.Errorf("%s: got %q, want it sealed", name, kept)
		}
	}
	thief := request(t.Context()) // with the database and the key's id, and without the key
	thief.Header.Set("Authorization", "Bearer wk_other")
	if a, err := s.once(thief, nil); err == nil || a.Body != nil {
		t.Errorf("another secret: got %s, want nothing", a.Body)
	}
	thief.Header.Del("Authorization")
	if _, err := s.once(thief, nil); !errors.Is(err, errNoSecret) {
		t.Errorf("no secret: got %v, want %v", err, errNoSecret)
	}
}

// TestPagesSkipNoMember reads lists that lose members meanwhile, and gets every remaining one once, in order.
func TestPagesSkipNoMember(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfDistinct(rapid.StringN(1, 6, -1), rapid.ID[string]).Draw(t, "all")
		q := &query{limit: rapid.IntRange(1, 7).Draw(t, "limit")}
		gone := map[string]bool{}
		var met []string
		for {
			p := pageOf(q, slices.Clone(all), func(s *string) string { return *s }, func(s *string) string { return *s })
			met = append(met, p.Data...)
			if len(p.Data) > q.limit {
				t.Fatalf("a page: got %d, want at most %d", len(p.Data), q.limit)
			}
			if p.NextCursor == nil {
				break
			}
			if len(all) > 1 && rapid.Bool().Draw(t, "remove") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				gone[all[i]] = true
				all = slices.Delete(all, i, i+1)
			}
			var err error
			if q.cursor, err = openCursor(*p.NextCursor); err != nil {
				t.Fatal(err)
			}
		}
		met = slices.DeleteFunc(met, func(s string) bool { return gone[s] })
		slices.Sort(all)
		if !slices.Equal(met, all) {
			t.Fatalf("met %q, want %q", met, all)
		}
	})
}

// FuzzFields reads any input: it is accepted, or refused with a readable error.
func FuzzFields(f *testing.F) {
	for _, body := range []string{
		`{"label":"x","models":["a"],"expires":"2027-01-31T00:00:00Z","limits":{"rpm":1},"budget":{"limit_usd":"1","period":"day"}}`,
		`{"limits":{"rpm":1e99}}`, `{"budget":{"limit_usd":1}}`, `{"models":[[]]}`, `{"":{}}`, `{"LABEL":null}`, `{"\u006cabel":"\ud800"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if rawjson.Validate(body, maxDepth) != nil {
			return
		}
		worktest.Check(t, body, func(body []byte) { _, _ = keyUpdateOf(body, &account.Key{}) })
		k := account.Key{Label: "before", Budget: account.Budget{Limit: llm.USD, Period: "day"}}
		u, err := keyUpdateOf(body, &k)
		if e, ok := errors.AsType[*llm.Error](err); err != nil && (!ok || e.Code != llm.CodeInvalidRequest || e.Message == "") {
			t.Errorf("%s: got %v, want a refusal of the request", body, err)
		}
		if l := u.Limits; err == nil && l != nil && (l.RPM < 0 || l.TPM < 0 || l.Concurrency < 0) {
			t.Errorf("%s: got the limits %+v", body, *l)
		}
		if b := u.Budget; err == nil && b != nil && *b != (account.Budget{}) && (b.Limit <= 0 || !slices.Contains([]string{"day", "month", "total"}, fmt.Sprint(b.Period))) {
			t.Errorf("%s: got the budget %+v", body, *b)
		}
	})
}
