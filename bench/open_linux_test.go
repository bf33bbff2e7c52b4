package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOpenLoop is an open loop on a server that answers, refuses, or breaks off:
// every request is counted once, as what became of it.
func TestOpenLoop(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "2")
		if r.Header.Get("X-Weir-Priority") == "batch" {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	r := runOpenLoad(t, "--target", strings.TrimPrefix(server.URL, "http://"), "--open", "--rate", "400", "--batch", "0.5", "--conns", "64", "--duration", "500ms")
	i, b := r.Interactive, r.Batch
	if i.Sent < 40 || i.OK != i.Sent || i.Latency.Count != i.OK {
		t.Errorf("interactive: got %+v, want about 100, all answered", i)
	}
	if b.Sent < 40 || b.Refused != b.Sent || r.Refusal.Count != b.Sent || r.Unsaid != 0 {
		t.Errorf("batch: got %+v of %+v, want about 100, all refused with Retry-After", b, r)
	}
	if r.LastRefusal != 0 {
		t.Errorf("the last interactive refusal: got %v s, want none", r.LastRefusal)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(broken.Close)
	r = runOpenLoad(t, "--target", strings.TrimPrefix(broken.URL, "http://"), "--open", "--rate", "400", "--conns", "64", "--duration", "200ms")
	if i := r.Interactive; i.Sent == 0 || i.Failed != i.Sent || r.Failure == "" {
		t.Errorf("a server that breaks off: got %+v, want all failed", r)
	}
}

func runOpenLoad(t *testing.T, args ...string) (r openResult) {
	t.Helper()
	var out, said strings.Builder
	if err := dispatch(t.Context(), append([]string{"load"}, args...), &out, &said); err != nil {
		t.Fatalf("load %v: %v", args, err)
	}
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("load %v: got %q: %v", args, out.String(), err)
	}
	return r
}
