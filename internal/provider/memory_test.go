package provider_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"weir/internal/provider"
)

// TestFailedCallsHoldNoMemory checks that the memory of a request is free once its call has failed: a timer that is
// still set must not keep it.
func TestFailedCallsHoldNoMemory(t *testing.T) {
	t.Parallel()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(broken.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, url := range map[string]string{"an error": broken.URL, "no connection": closed.URL} {
		p := newProvider(t, provider.Options{BaseURL: url})
		free := make(chan struct{})
		func() {
			c := chat(false)
			c.Body = append(make([]byte, 0, 1<<20), c.Body...)
			runtime.AddCleanup(&c.Body[0], func(free chan struct{}) { close(free) }, free)
			if _, err := p.Do(t.Context(), c); err == nil {
				t.Errorf("%s: got an answer", name)
			}
		}()
		for end := time.Now().Add(patience / 2); ; {
			runtime.GC()
			select {
			case <-free:
			case <-time.After(10 * time.Millisecond):
				if time.Now().Before(end) {
					continue
				}
				t.Errorf("%s: the request's body is still in memory", name)
			}
			break
		}
	}
}
