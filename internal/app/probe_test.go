package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestProbeThatTakesLong is a target that is asked again after an outage, and
// answers, to a client that takes very long: others are let through as soon as
// it is seen to answer.
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
	s := newStoryProvider(t)
	var later atomic.Int64
	h := open(t, setup{
		yaml: "default_model: all\nproviders:" + providerYAML("sick", sick.URL) + providerYAML("one", s.url) + "aliases:\n  all: {targets: [sick/m, one/go], rescue: off}\n",
		now:  func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	request := ask{path: "/v1/chat/completions", body: `{"model":"all","stream":true,"messages":[{"role":"user","content":"Tell me."}]}`}
	for range 5 {
		h.do(request)
	}
	later.Store(int64(time.Minute))
	up.Store(true)
	for i := range 2 {
		resp, err := h.client.Do(h.request(request))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil || resp.Header.Get("X-Weir-Provider") != "sick" {
			t.Errorf("request %d went to %s, %v; want sick", i, resp.Header.Get("X-Weir-Provider"), err)
		}
	}
}
