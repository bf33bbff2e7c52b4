package contentlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"weir/internal/contentlog"
	"weir/internal/llm"
	"weir/internal/must"
)

// shelf stores records in memory. Its master key changes nothing.
type shelf struct {
	mu      sync.Mutex
	keys    map[string]string
	records map[uuid.UUID]contentlog.Record
	batches [][]string // accounts
	fails   bool
	dropped map[contentlog.Reason]int
	log     strings.Builder
}

var errAway = errors.New("away")

func (s *shelf) ContentKey(_ context.Context, account string, _ int64, sealed string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return "", errAway
	}
	if s.keys[account] == "" {
		s.keys[account] = sealed
	}
	return s.keys[account], nil
}

func (s *shelf) write(_ context.Context, list []contentlog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var accounts []string
	for _, r := range list {
		s.records[r.Request] = r
		accounts = append(accounts, r.Account)
	}
	s.batches = append(s.batches, accounts)
	return nil
}

func (s *shelf) drop(why contentlog.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped[why]++
}

func (s *shelf) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// logger is a recorder over a shelf.
type logger struct {
	*contentlog.Recorder
	keys  *contentlog.Keys
	shelf *shelf
}

func newLogger(most int) *logger {
	s := &shelf{
		keys: map[string]string{}, records: map[uuid.UUID]contentlog.Record{}, dropped: map[contentlog.Reason]int{},
	}
	keys := &contentlog.Keys{
		Store: s,
		Seal: func(_ context.Context, text []byte, about string) (string, error) {
			return about + "\n" + string(text), nil
		},
		Open: func(sealed, about string) ([]byte, error) {
			text, ok := strings.CutPrefix(sealed, about+"\n")
			if !ok {
				return nil, errors.New("the key of another account or day")
			}
			return []byte(text), nil
		},
	}
	return &logger{keys: keys, shelf: s, Recorder: contentlog.NewRecorder(contentlog.Options{
		Keys: keys, Write: s.write, Dropped: s.drop, Most: most, Now: time.Now, Log: slog.New(slog.NewTextHandler(s, nil)),
	})}
}

// written writes the ended requests, as far as a stop waits for it.
func (l *logger) written() {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	l.Run(ctx)
}

// allWritten writes all ended requests, however long it takes.
func (l *logger) allWritten() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		l.Run(ctx)
		close(ended)
	}()
	for l.Queued() > 0 {
		l.Await(ctx)
	}
	stop()
	<-ended
}

// content returns the content of a request.
func (l *logger) content(t require, id uuid.UUID) contentlog.Content {
	t.Helper()
	r, ok := l.shelf.records[id]
	if !ok {
		t.Fatalf("no content of %s: %s", id, &l.shelf.log)
	}
	if strings.Contains(string(r.Sealed), "choices") || strings.Contains(string(r.Sealed), "prompt") {
		t.Fatalf("the content is not encrypted: %s", r.Sealed)
	}
	c, err := l.keys.Read(context.Background(), &r)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return c
}

// require is a test, or a check of one.
type require interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newID() contentlog.Request {
	return contentlog.Request{ID: uuid.Must(uuid.NewV7()), Account: "a", Key: "k"}
}

// token ends with a digit, and pushToken with a hyphen.
const (
	token     = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	pushToken = "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6-"
)

// TestSecretSplitOverPiecesIsReplaced cuts an answer with a secret into pieces of a stream at any place, with pieces of
// other kinds between them. The same text without the secret is the negative control.
func TestSecretSplitOverPiecesIsReplaced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, secret := newLogger(10_000), rapid.Bool().Draw(t, "secret")
		word := "nothing"
		if secret {
			word = token
		}
		text, of := "The token is "+word+", he said.", newID()
		kind := rapid.SampledFrom([]llm.EventKind{llm.EventText, llm.EventReasoning, llm.EventToolCall}).Draw(t, "kind")
		c := l.Begin(of, []byte(`{"prompt":"Hi"}`), false)
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, "piece")
			c.Event(&llm.Event{Kind: kind, Text: text[:n]})
			other := llm.EventText
			if kind == other {
				other = llm.EventReasoning
			}
			c.Event(&llm.Event{Kind: other, Text: "-"})
			text = text[n:]
		}
		c.Event(&llm.Event{Kind: llm.EventFinish, Finish: llm.FinishStop})
		c.End()
		l.written()
		got := l.content(t, of.ID)
		want := "The token is " + word + ", he said."
		if secret {
			want = "The token is [redacted: github-pat], he said."
		}
		if !strings.Contains(string(got.Answer), want) || strings.Contains(string(got.Answer), token) ||
			(got.Redacted == 1) != secret {
			t.Fatalf("got %s with %d marks, want %q", got.Answer, got.Redacted, want)
		}
	})
}

// TestLongContentIsCutWithMark checks that content beyond the bound is shortened and marked, that JSON stays JSON, and
// that no part of a secret at the cut survives.
func TestLongContentIsCutWithMark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2_000, 9_000).Draw(t, "most")
		l, of := newLogger(most), newID()
		space := rapid.SampledFrom([]string{" ", "\n", "\t", " \\ ", "\""}).Draw(t, "space")
		token := rapid.SampledFrom([]string{token, token[:39] + "x", pushToken, "4111 1111 1111 1111"}).Draw(t, "token")
		words, n := strings.Repeat("word ", 3_000), rapid.IntRange(0, 15_000).Draw(t, "bytes")
		fill, rest := words[:n], words[:n]
		if rapid.Bool().Draw(t, "cut at the token") {
			n = 1<<rapid.IntRange(10, 12).Draw(t, "bound") - len(token) + rapid.IntRange(-10, 5).Draw(t, "more")
			fill, rest = words[:n], words
		}
		body, err := json.Marshal(map[string]any{"messages": []any{
			map[string]any{"role": "user", "content": fill + space + token + space + rest},
			map[string]any{"role": "user", "content": "data:image/png;base64," + strings.Repeat("QUJD", 4_000)},
			map[string]any{"role": "user", "content": "the last question"},
		}})
		if err != nil {
			t.Fatalf("%v", err)
		}
		c := l.Begin(of, body, false)
		c.Event(&llm.Event{Kind: llm.EventText, Text: fill + space + token + space + "word"})
		c.End()
		l.written()
		got := l.content(t, of.ID)
		request, answer := string(got.Request), string(got.Answer)
		if !json.Valid(got.Request) || !json.Valid(got.Answer) || strings.Contains(request+answer, token[:8]) {
			t.Fatalf("got %s and %s", request, answer)
		}
		if !got.RequestTruncated || !strings.Contains(request, "bytes left out]") || len(request) > most+500 {
			t.Fatalf("got the request %t with %d bytes, want a mark and at most %d: %s", got.RequestTruncated, len(request), most, request)
		}
		if !strings.Contains(request, "the last question") || strings.Contains(request, "QUJDQUJD") {
			t.Fatalf("want the last question and no data in %s", request)
		}
		if cut := len(fill)+len(token)+2*len(space)+4 > most; got.AnswerTruncated != cut || len(answer) > most+500 {
			t.Fatalf("got the answer truncated %t with %d bytes of %d", got.AnswerTruncated, len(answer), len(fill))
		}
	})
}

// TestContentBeyondMemoryIsCountedAndNamed holds more requests than the memory permits: the others are logged, and
// memory is free again afterwards.
func TestContentBeyondMemoryIsCountedAndNamed(t *testing.T) {
	t.Parallel()
	l := newLogger(1 << 20)
	body := []byte(`"` + strings.Repeat("x ", 500_000) + `"`)
	var held []*contentlog.Capture
	for range 100 {
		if c := l.Begin(newID(), body, false); c != nil {
			held = append(held, c)
		}
	}
	must.Equal(t, len(held)+l.shelf.dropped[contentlog.NoRoom], 100, "requests")
	if len(held) < 25 || len(held) > 33 {
		t.Errorf("got %d requests in memory, want about 32 of a MB each: half of the memory", len(held))
	}
	if log := l.shelf.log.String(); !strings.Contains(log, "reason=queue") || !strings.Contains(log, "account=a") {
		t.Errorf("got the log %q, want the reason and the account", log)
	}
	for _, c := range held {
		c.End()
	}
	l.allWritten()
	must.Equal(t, len(l.shelf.records), len(held), "records")
	must.Equal(t, l.Queued(), int64(0), "bytes in memory")
}

// TestAccountsAreLoggedInTurn floods the memory with the content of an account: the content of another one that comes
// later has room, and is in the first batch.
func TestAccountsAreLoggedInTurn(t *testing.T) {
	t.Parallel()
	l := newLogger(1 << 20)
	body := []byte(`"` + strings.Repeat("x ", 50_000) + `"`)
	flood := 0
	for range 1000 {
		if c := l.Begin(newID(), body, false); c != nil {
			c.End()
			flood++
		}
	}
	for _, name := range []string{"b", "c"} {
		of := newID()
		of.Account = name
		c := l.Begin(of, body, false)
		if c == nil {
			t.Fatalf("%s has no room after a flood of %d requests of another account", name, flood)
		}
		c.End()
	}
	l.allWritten()
	must.Equal(t, len(l.shelf.records), flood+2, "records")
	if flood < 2*64 || !slices.Contains(l.shelf.batches[0], "b") || !slices.Contains(l.shelf.batches[0], "c") {
		t.Errorf("got a flood of %d and the accounts %v in the first batch, want b and c among them", flood, l.shelf.batches[0])
	}
	must.Equal(t, l.Queued(), int64(0), "bytes in memory")
}

// TestContentIsDroppedWhileDatabaseIsAway checks that a failed write is counted, and that a later one succeeds.
func TestContentIsDroppedWhileDatabaseIsAway(t *testing.T) {
	t.Parallel()
	l := newLogger(1 << 20)
	l.shelf.fails = true
	l.Begin(newID(), []byte(`"lost"`), false).End()
	l.written()
	l.shelf.fails = false
	of := newID()
	l.Begin(of, []byte(`"kept"`), false).End()
	l.written()
	got := l.content(t, of.ID)
	must.Equal(t, string(got.Request)+string(got.Answer), `"kept"null`, "content")
	must.Equal(t, len(l.shelf.records), 1, "records")
	must.Equal(t, l.shelf.dropped, map[contentlog.Reason]int{contentlog.NoWrite: 1}, "dropped requests")
}

// TestRequestsAreSampledByID checks that the choice depends on the id alone, and that the share is right.
func TestRequestsAreSampledByID(t *testing.T) {
	t.Parallel()
	for _, percent := range []int64{0, 1, 30, 99, 100} {
		n := int64(0)
		for range 20_000 {
			id := uuid.Must(uuid.NewV7())
			if contentlog.Sampled(id, percent) {
				n++
			}
			if contentlog.Sampled(id, percent) && !contentlog.Sampled(id, min(100, percent+1)) {
				t.Errorf("%s is sampled at %d and not above", id, percent)
			}
		}
		if share := n / 200; share < percent-2 || share > percent+2 || percent%100 == 0 && share != percent {
			t.Errorf("%d %%: got %d %% of the requests", percent, share)
		}
	}
}

// TestContentOfFormIsLeftOut checks that files are not logged.
func TestContentOfFormIsLeftOut(t *testing.T) {
	t.Parallel()
	l, of := newLogger(1<<20), newID()
	c := l.Begin(of, []byte("--x\r\nfile"), true)
	c.JSON([]byte(`{"text":"said"}`))
	c.End()
	l.written()
	got := l.content(t, of.ID)
	must.Equal(t, string(got.Request)+string(got.Answer), `"a form of 9 bytes, which is not logged"{"text":"said"}`, "content")
}

// TestPartsOfOneAnswerAreBounded checks that an answer of many choices and calls leaves memory to other requests.
func TestPartsOfOneAnswerAreBounded(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 500)
	for _, kind := range []llm.EventKind{llm.EventText, llm.EventToolCall, llm.EventFinish} {
		l, of := newLogger(1<<20), newID()
		c := l.Begin(of, []byte(`"many"`), false)
		for i := range 30_000 {
			e := llm.Event{Kind: kind, Choice: i, Text: "x", Tool: llm.ToolDelta{Index: i, Name: name}}
			if kind == llm.EventToolCall {
				e.Choice = 0
			}
			c.Event(&e)
		}
		if held := l.Queued(); held > 2<<20 {
			t.Errorf("%v: one answer holds %d bytes of the memory of all", kind, held)
		}
		c.End()
		l.written()
		must.Equal(t, l.content(t, of.ID).AnswerTruncated, true, "truncated")
		must.Equal(t, l.Queued(), int64(0), "bytes in memory")
	}
}

// TestNoChoiceKeepsHalfSecret cuts an answer in one choice while another one is in the middle of a secret.
func TestNoChoiceKeepsHalfSecret(t *testing.T) {
	t.Parallel()
	l, of := newLogger(2_000), newID()
	c := l.Begin(of, []byte(`"two"`), false)
	c.Event(&llm.Event{Kind: llm.EventText, Choice: 1, Text: "The token is " + token[:20]})
	c.Event(&llm.Event{Kind: llm.EventText, Text: strings.Repeat("word ", 1_000)})
	c.Event(&llm.Event{Kind: llm.EventText, Choice: 1, Text: token[20:]})
	c.End()
	l.written()
	if got := string(l.content(t, of.ID).Answer); strings.Contains(got, token[:8]) || !strings.Contains(got, "The token is") {
		t.Errorf("got %s, want no part of the token", got)
	}
}

// TestLongNumbersAreCutToo checks that a request without long strings holds no more memory than its bound.
func TestLongNumbersAreCutToo(t *testing.T) {
	l, body := newLogger(10_000), []byte(`{"input": [`+strings.Repeat("101, ", 2<<20)+`1], "model": "m"}`)
	before := heap()
	of := newID()
	c := l.Begin(of, body, false)
	if held := heap() - before; held > 1<<20 {
		t.Errorf("a request of %d bytes holds %d, want about 10,000", len(body), held)
	}
	runtime.KeepAlive(body)
	c.End()
	l.written()
	got := l.content(t, of.ID)
	if !got.RequestTruncated || len(got.Request) > 10_500 || !strings.Contains(string(got.Request), "101, 101") {
		t.Errorf("got %d bytes, truncated %t: %.100s", len(got.Request), got.RequestTruncated, got.Request)
	}
}

// heap returns the bytes of memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
