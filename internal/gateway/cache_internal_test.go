package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"weir/internal/answercache"
	"weir/internal/capacity"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestOnlyWholeAnswersFinishForTheCache lists the ends of answers. One that was filtered, broke off, or was cut by the
// cap of a budget is not stored; one with calls of tools is if tools are asked for.
func TestOnlyWholeAnswersFinishForTheCache(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		all           []llm.FinishReason
		tools, capped bool
		want          bool
	}{
		{nil, false, false, true}, // vectors
		{[]llm.FinishReason{llm.FinishStop, llm.FinishStop}, false, true, true},
		{[]llm.FinishReason{llm.FinishStop, llm.FinishContentFilter}, true, false, false},
		{[]llm.FinishReason{llm.FinishError}, true, false, false},
		{[]llm.FinishReason{llm.FinishLength}, false, false, true},
		{[]llm.FinishReason{llm.FinishLength}, false, true, false},
		{[]llm.FinishReason{llm.FinishToolCalls}, false, false, false},
		{[]llm.FinishReason{llm.FinishToolCalls}, true, false, true},
	} {
		c := caching{tools: test.tools}
		if got := c.finishes(test.all, test.capped); got != test.want {
			t.Errorf("%v, tools %t, capped %t: got %t, want %t", test.all, test.tools, test.capped, got, test.want)
		}
	}
}

// noAnswers stores no answers, and counts those that it should have.
type noAnswers struct{ puts int }

func (*noAnswers) Answer(context.Context, answercache.ID) (answercache.Entry, error) {
	return answercache.Entry{}, answercache.ErrNotFound
}

func (s *noAnswers) PutAnswer(context.Context, *answercache.Entry) error {
	s.puts++
	return nil
}

// TestAnswersAreStoredWithinMemory stores answers of an account that has less than 2 MiB: the copies that this takes count.
func TestAnswersAreStoredWithinMemory(t *testing.T) {
	t.Parallel()
	node := newCapacity(4 << 20)
	for size, want := range map[int]int{100: 1, 100 << 10: 1, 800 << 10: 0} {
		s := &noAnswers{}
		seal := func(context.Context, []byte, string) (string, error) { return "", nil }
		cache := answercache.New(answercache.Options{Store: s, Now: time.Now, Seal: seal})
		_, claim, err := cache.Begin(t.Context(), answercache.Ask{MaxAge: time.Hour})
		must.Do(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		held := node.Hold(&capacity.Client{Request: r}, "a")
		c := caching{claim: claim, held: &held, log: slog.New(slog.DiscardHandler), r: r, most: 1 << 20, keeps: true}
		c.keepWhole(make([]byte, size), "")
		held.EndAnswer()
		if s.puts != want {
			t.Errorf("an answer of %d bytes: stored %d times, want %d", size, s.puts, want)
		}
	}
}
