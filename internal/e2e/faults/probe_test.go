package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestProbeThatTakesLong probes a target after an outage with a very slow client's request: others are admitted as soon
// as the target begins to answer.
func TestProbeThatTakesLong(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	done := make(chan struct{})
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !up.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"id":"x","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"Hm"},"finish_reason":null}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-done
	}))
	t.Cleanup(sick.Close)
	t.Cleanup(func() { close(done) })
	s := harness.NewStoryProvider(t)
	var later atomic.Int64
	h := harness.Open(t, harness.Setup{
		YAML: "default_model: all\nproviders:" + harness.ProviderYAML("sick", sick.URL) + harness.ProviderYAML("one", s.URL) + "aliases:\n  all: {targets: [sick/m, one/go], rescue: off}\n",
		Now:  func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	request := harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"all","stream":true,"messages":[{"role":"user","content":"Tell me."}]}`}
	for range 5 {
		h.Do(request)
	}
	later.Store(int64(time.Minute))
	up.Store(true)
	for i := range 2 {
		resp := must.Get(h.Client.Do(h.Request(request)))(t)
		t.Cleanup(func() { _ = resp.Body.Close() })
		if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil || resp.Header.Get("X-Weir-Provider") != "sick" {
			t.Errorf("request %d was sent to %s, %v; want sick", i, resp.Header.Get("X-Weir-Provider"), err)
		}
	}
}
