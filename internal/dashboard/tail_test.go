package dashboard_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/sse"
)

// follow opens a live tail.
func (s *site) follow(t *testing.T, path string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil))(t)
	if s.cookie != "" {
		r.Header.Set("Cookie", s.cookie)
	}
	resp := must.Get(s.client.Do(r))(t)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// next returns the next event of a tail, by its name.
func next(t *testing.T, events *sse.Reader) (name, data string) {
	t.Helper()
	for {
		e, err := events.Next()
		if err != nil {
			t.Fatalf("next event: %v", err)
		}
		if len(e.Name) > 0 {
			return string(e.Name), string(e.Data)
		}
	}
}

func TestTailStreamsRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	resp := s.follow(t, "/accounts/acme/requests/tail?model=openai%2Fgpt")
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("got %d, %q", resp.StatusCode, got)
	}
	events := sse.NewReader(resp.Body, 1<<20)
	j := s.journal()
	open := used(s.acme, now.Add(-2*time.Second), "openai/gpt")
	open.Requested = "fa\r\rst"
	whole := used(s.acme, now.Add(-time.Second), "openai/gpt")
	j.apply(t, []ledger.Attempt{open.Attempt}, whole, used(s.other, now, "openai/gpt"), used(s.acme, now, "openai/another"), used(s.acme, now.Add(-time.Hour), "openai/gpt"))
	for _, want := range []struct {
		e    ledger.Entry
		word string
	}{{open, "Running"}, {whole, "Answered"}} {
		name, data := next(t, events)
		if name != "request" || !strings.HasPrefix(data, `<tr class="leads dense" id="r-`+want.e.ID.Request.String()) || !strings.Contains(data, want.word) {
			t.Errorf("got %s %q, want a row of %s with %q", name, data, want.e.ID.Request, want.word)
		}
	}
	j.apply(t, nil, open)
	if _, data := next(t, events); !strings.Contains(data, open.ID.Request.String()) || !strings.Contains(data, "$0.002275") {
		t.Errorf("after its end: got %q, want its row once more, with its cost", data)
	}
	s.dashboard.Stop()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("when the server stops: got %v, want the end", err)
	}
}

// TestTailsAreBounded opens as many as permitted, and one more.
func TestTailsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	var last *http.Response
	for i := range 32 {
		role := people.Viewer
		if i >= 16 {
			role = "" // operators do not count in an account's share
		}
		s.come(fmt.Sprint("viewer-", i/8), role)
		if last = s.follow(t, "/accounts/acme/requests/tail"); last.StatusCode != http.StatusOK {
			t.Fatalf("the %d-th: got %d, want 200", i+1, last.StatusCode)
		}
	}
	s.come("ada", "")
	over := s.follow(t, "/accounts/acme/requests/tail")
	if over.StatusCode != http.StatusServiceUnavailable || over.Header.Get("Retry-After") != "59" {
		t.Errorf("the 33rd: got %d, Retry-After %q, want 503 and 59", over.StatusCode, over.Header.Get("Retry-After"))
	}
	must.Do(t, last.Body.Close())
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		again := s.follow(t, "/accounts/acme/requests/tail")
		if again.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("after one left: got none in, want the place of the one that left")
		}
	}
}

// TestTailsOfOnePersonAreBounded checks that one person does not occupy the places of all.
func TestTailsOfOnePersonAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("mallory", people.Viewer)
	for i := range 9 {
		want := http.StatusOK
		if i == 8 {
			want = http.StatusServiceUnavailable
		}
		if got := s.follow(t, "/accounts/acme/requests/tail").StatusCode; got != want {
			t.Errorf("the %d-th of one person: got %d, want %d", i+1, got, want)
		}
	}
	s.come("ada", people.Viewer)
	if got := s.follow(t, "/accounts/acme/requests/tail").StatusCode; got != http.StatusOK {
		t.Errorf("the first one of another person: got %d, want 200", got)
	}
}

// TestTailRefusesFilters checks that a tail accepts only the filters of the list.
func TestTailRefusesFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	if got := s.send(t, "GET", "/accounts/acme/requests/tail?ended=maybe", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("got %d, want 400", got.status)
	}
}

// TestTailEndsWithTheSession signs out while a tail is open.
func TestTailEndsWithTheSession(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.dashboard.LookOften(10 * time.Millisecond)
	resp := s.follow(t, "/accounts/default/requests/tail")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("got %d, want 200", resp.StatusCode)
	}
	signs := make([]byte, 64) // the tail continues while the session is valid
	must.Get(io.ReadFull(resp.Body, signs))(t)
	s.do(t, "/sign-out", url.Values{}, "/sign-in?done=signed-out")
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("after signing out: got %v, want the end", err)
	}
}
