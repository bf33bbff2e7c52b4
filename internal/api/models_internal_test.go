package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/gemini"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/route"
)

func someModels(n int) *route.Listing {
	l := &route.Listing{}
	for i := range n {
		l.Models = append(l.Models, route.Model{Name: fmt.Sprintf("acme/m%04d", i), Provider: "acme", Context: 1000})
	}
	return l
}

// TestModelsAreMadeOnce checks that a list is encoded once for each listing, for all clients, and that a key with
// patterns gets parts of the encoded list.
func TestModelsAreMadeOnce(t *testing.T) {
	t.Parallel()
	listing := someModels(1000)
	own := &modelShape{list: listModels, one: oneModel}
	for name, shape := range map[string]*modelShape{"own": own, "anthropic": modelsOf(anthropic.Dialect()), "gemini": modelsOf(gemini.Dialect())} {
		m := must.Get(shape.make(listing))(t)
		if again := must.Get(shape.make(listing))(t); again != m {
			t.Errorf("%s: got the same listing made twice", name)
		}
		if other := must.Get(shape.make(someModels(2)))(t); len(other.each) != 2 {
			t.Errorf("%s: got %d models of another listing, want 2", name, len(other.each))
		}
		for _, test := range []struct {
			uses func(string) bool
			want int
		}{
			{nil, 1000},
			{func(model string) bool { return strings.HasPrefix(model, "acme/m000") }, 10},
			{func(string) bool { return false }, 0},
		} {
			r := &request{Request: must.Get(http.NewRequest(http.MethodGet, "/?limit=1000&pageSize=1000", nil))(t)}
			body := must.Get(shape.visible(r, m, test.uses))(t)
			var list struct{ Data, Models []json.RawMessage }
			must.Do(t, json.Unmarshal(body, &list))
			if got := len(list.Data) + len(list.Models); got != test.want {
				t.Errorf("%s: got %d models, want %d", name, got, test.want)
			}
		}
	}
	m := must.Get(own.make(listing))(t)
	first, second := must.Get(own.visible(nil, m, nil))(t), must.Get(own.visible(nil, m, nil))(t)
	if &first[0] != &second[0] {
		t.Error("got the list of all models encoded for each client, want once for all")
	}
}

// TestListsOfAnAccount checks that an account has a few lists at once, that some more wait and others are refused, and
// that no other account waits for it.
func TestListsOfAnAccount(t *testing.T) {
	t.Parallel()
	s := newShares()
	var leave []func()
	for range listsAtOnce {
		leave = append(leave, must.Get(s.take(t.Context(), "a"))(t))
	}
	ended := make(chan error, mostListsWaiting)
	waiting, stop := context.WithCancel(t.Context())
	for range mostListsWaiting {
		go func() {
			leave, err := s.take(waiting, "a")
			if err == nil {
				leave()
			}
			ended <- err
		}()
	}
	for begun := time.Now(); s.asking("a") < listsAtOnce+mostListsWaiting && time.Since(begun) < 5*time.Second; {
		time.Sleep(time.Millisecond)
	}
	_, err := s.take(t.Context(), "a")
	if e := llm.AsError(err); err == nil || e.Code != llm.CodeRateLimited || e.RetryAfter == 0 {
		t.Errorf("one more than may wait: got %v, want RATE_LIMITED with a time", err)
	}
	other := must.Get(s.take(t.Context(), "b"))(t)
	other()
	leave[0]()
	if err := <-ended; err != nil {
		t.Errorf("when one is left: got %v", err)
	}
	for _, f := range leave[1:] {
		f()
	}
	for range mostListsWaiting - 1 {
		if err := <-ended; err != nil {
			t.Errorf("when all are left: got %v", err)
		}
	}
	stop()
	if s.asking("a") != 0 || len(s.of) != 0 {
		t.Errorf("got %d accounts in the table, want none", len(s.of))
	}
}

func (s *shares) asking(account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.of[account]; own != nil {
		return own.asking
	}
	return 0
}
