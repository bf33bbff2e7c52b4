package dashboard_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/internal/dashboard"
	"weir/internal/people"
)

// slowClient reads no piece of a file until the test releases it.
type slowClient struct {
	http.ResponseWriter
	asked chan<- struct{}
	let   <-chan struct{}
}

func (c slowClient) Write(p []byte) (int, error) {
	if c.Header().Get("Content-Disposition") != "" {
		select {
		case c.asked <- struct{}{}:
			<-c.let
		case <-c.let:
		}
	}
	return c.ResponseWriter.Write(p)
}

// TestFilesAtOnce downloads as many files as permitted at once, of one person and in all: the next one is told to wait,
// and succeeds after one has ended.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path     string
		who      []string // one after the other, until one is refused
		says     string
		operator bool
	}{
		{"/accounts/acme/usage.csv", []string{"ada", "ada", "ada"}, "You already have other downloads running.", false},
		{"/accounts/acme/usage.csv", []string{"ada", "bob", "ada", "bob", "cy"}, "The maximum number of downloads is running.", false},
		{"/operator/audit/export?format=csv", []string{"ada", "ada", "bob"}, "The maximum number of downloads is running.", true},
	} {
		asked, let := make(chan struct{}), make(chan struct{})
		s := newSite(t, true)
		s.answers = func(w http.ResponseWriter) http.ResponseWriter { return slowClient{w, asked, let} }
		role := people.Viewer
		if test.operator {
			role = ""
		}
		done := make(chan int)
		last := len(test.who) - 1
		for _, who := range test.who[:last] {
			s.come(who, role)
			go func() { done <- s.status(t, test.path) }()
			<-asked // it has its place
		}
		s.come(test.who[last], role)
		got := s.send(t, "GET", test.path, nil, nil)
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "10" || !strings.Contains(got.text, test.says) || len(dashboard.Check(got.text)) > 0 {
			t.Errorf("%s by %v: got %d, Retry-After %q, want 429 after 10 seconds, and a page with %q", test.path, test.who, got.status, got.header.Get("Retry-After"), test.says)
		}
		close(let)
		for range test.who[:last] {
			if status := <-done; status != http.StatusOK {
				t.Errorf("%s: got %d, want 200 of all before", test.path, status)
			}
		}
		if status := s.status(t, test.path); status != http.StatusOK {
			t.Errorf("%s after all have arrived: got %d, want 200", test.path, status)
		}
	}
}

// status downloads a file, and returns the status.
func (s *site) status(t *testing.T, path string) int {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}
