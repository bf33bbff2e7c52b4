package app_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/account"
)

// keyed is a request with an Idempotency-Key.
func keyed(path, body, key string, header ...string) ask {
	return ask{path: path, body: body, header: append([]string{"Idempotency-Key", key}, header...)}
}

// TestIdempotentReplay is a reply that is given a second time, in every part
// the same, and charged once.
func TestIdempotentReplay(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	bodies := map[string]string{"/v1/chat": hello("house/echo"), "/api/chat": hello("house/echo"), "/v1/chat/completions": completion("house/echo", "")}
	for path, body := range bodies {
		first := h.do(keyed(path, body, "key of "+path))
		if first.status != http.StatusOK || first.header.Get("Idempotent-Replayed") != "" {
			t.Fatalf("%s: the first reply: %d, Idempotent-Replayed %q", path, first.status, first.header.Get("Idempotent-Replayed"))
		}
		for range 2 {
			again := h.do(keyed(path, body, "key of "+path))
			if again.status != http.StatusOK || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: again %d, Idempotent-Replayed %q: %s\nfirst %s", path, again.status, again.header.Get("Idempotent-Replayed"), again.body, first.body)
			}
			wantCommonHeaders(t, again.header)
			for _, name := range []string{"X-Request-Id", "Content-Type", "X-Weir-Provider", "X-Weir-Model", "X-Weir-Cost-Usd", "X-Weir-Attempts", "X-Weir-Requested-Model"} {
				if first.header.Get(name) != again.header.Get(name) {
					t.Errorf("%s: %s was %q, is %q", path, name, first.header.Get(name), again.header.Get(name))
				}
			}
		}
	}
	if n := len(up.records(t)); n != len(bodies) {
		t.Errorf("%d requests reached the provider, want %d", n, len(bodies))
	}
	if u := h.uses(""); u.Total.Requests != "3" || u.Total.Cost != "0.0000126" {
		t.Errorf("uses %+v, want 3 requests, each charged once", u.Total)
	}
}

// TestIdempotencyConflicts is a key that cannot be used for this request.
func TestIdempotencyConflicts(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	conflict := func(what string, a ask) {
		t.Helper()
		r := h.do(a)
		if e := wantError(t, r, 409, "IDEMPOTENCY_CONFLICT"); !strings.Contains(e.Message, what) {
			t.Errorf("message %q, want %q in it", e.Message, what)
		}
	}
	h.mustAnswer(h.do(keyed("/v1/chat", hello("house/echo"), "used")))
	conflict("another request", keyed("/v1/chat", hello("house/chat"), "used"))
	conflict("another request", keyed("/v1/chat", hello("house/echo")+" ", "used"))
	conflict("another request", keyed("/v1/chat", hello("house/echo"), "used", "Accept", "text/event-stream"))

	h.do(keyed("/v1/chat", hello("house/echo"), "streamed", "Accept", "text/event-stream"))
	conflict("stream", keyed("/v1/chat", hello("house/echo"), "streamed", "Accept", "text/event-stream"))
	conflict("another request", keyed("/v1/chat", hello("house/echo"), "streamed"))

	for _, accept := range []string{"application/json", "text/event-stream"} {
		before := len(up.records(t))
		slow := keyed("/v1/chat", hello("house/echo:ttft=300ms"), "running "+accept, "Accept", accept)
		first := make(chan reply)
		go func() { first <- h.do(slow) }()
		await(t, "the first request", func() bool { return up.Ledger().Totals().Requests > int64(before) })
		conflict("still running", slow)
		if r := <-first; r.status != http.StatusOK {
			t.Errorf("the first request: %d %s", r.status, r.body)
		}
	}
	if n := up.Ledger().Totals().Requests; n != 4 {
		t.Errorf("%d requests reached the provider, want 4", n)
	}
}

// TestIdempotencyAfterFailure is a first request that came to nothing: the key
// is free again.
func TestIdempotencyAfterFailure(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	body := hello("house/echo:status=500,once")
	wantError(t, h.do(keyed("/v1/chat", body, "failing")), 502, "PROVIDER_ERROR")
	if r := h.do(keyed("/v1/chat", body, "failing")); r.status != http.StatusOK || r.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the second try: %d, Idempotent-Replayed %q", r.status, r.header.Get("Idempotent-Replayed"))
	}
	if r := h.do(keyed("/v1/chat", body, "failing")); r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the third try was not replayed: %d %s", r.status, r.body)
	}

	cut := keyed("/v1/chat", hello("house/echo:fault=cut,at=2,once"), "cut", "Accept", "text/event-stream")
	if _, e := splitStream(t, h.do(cut).body); e == nil {
		t.Error("the stream was not cut")
	}
	if events, e := splitStream(t, h.do(cut).body); e != nil || text(events) != "Say it again, please" {
		t.Errorf("after a stream that was cut: %q, %+v", text(events), e)
	}

	ctx, leave := context.WithCancel(t.Context())
	slow := keyed("/v1/chat", hello("house/echo:ttft=300ms"), "left")
	before := up.Ledger().Totals().Requests
	gone := make(chan error)
	go func() {
		resp, err := h.client.Do(h.request(slow).WithContext(ctx))
		if err == nil {
			err = resp.Body.Close()
		}
		gone <- err
	}()
	await(t, "the first request", func() bool { return up.Ledger().Totals().Requests > before })
	leave()
	<-gone
	await(t, "the key to be free again", func() bool { return h.do(slow).status == http.StatusOK })

	wantError(t, h.do(keyed("/v1/chat", `{}`, "wrong")), 400, "INVALID_REQUEST")
	h.mustAnswer(h.do(keyed("/v1/chat", hello("house/echo"), "wrong")))
}

// TestIdempotencyOfKeys is one Idempotency-Key from two API keys.
func TestIdempotencyOfKeys(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	other := h.newKey(account.KeyOptions{Account: "default"})
	a := keyed("/v1/chat", hello("house/echo"), "the same")
	first := h.mustAnswer(h.do(a))
	a.key = other
	r := h.do(a)
	if second := h.mustAnswer(r); second.ID == first.ID || r.header.Get("Idempotent-Replayed") != "" {
		t.Error("one key was given the reply of another")
	}
}

// TestIdempotencyRestart is a reply that outlives the process, and is kept so
// that the database alone does not give it away.
func TestIdempotencyRestart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url)})
	a := keyed("/v1/chat", hello("house/echo"), "lasting")
	first := h.do(a)
	h.mustAnswer(first)
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	wantNowhere(t, h.data, "Say it again", h.key, h.key[3:20], upstreamKey)
	again := open(t, setup{yaml: providersYAML(up.url), dir: h.data, key: h.key})
	r := again.do(a)
	if r.body != first.body || r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("after a restart: %d, Idempotent-Replayed %q: %s", r.status, r.header.Get("Idempotent-Replayed"), r.body)
	}
	if u := again.uses(""); u.Total.Requests != "1" {
		t.Errorf("%s requests, want 1", u.Total.Requests)
	}
}

// wantNowhere looks for texts in every file of a directory.
func wantNowhere(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the gateway renames what it writes
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files++
		for _, s := range texts {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds %q", path, s)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
