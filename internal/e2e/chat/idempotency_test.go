package chat_test

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
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestIdempotentReplay checks that a reply is repeated, equal in every part, and charged once.
func TestIdempotentReplay(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	bodies := map[string]string{"/v1/chat": harness.Hello("house/echo"), "/api/chat": harness.Hello("house/echo"), "/v1/chat/completions": harness.Completion("house/echo", "")}
	for path, body := range bodies {
		first := h.Do(harness.Keyed(path, body, "key of "+path))
		if first.Status != http.StatusOK || first.Header.Get("Idempotent-Replayed") != "" {
			t.Fatalf("%s: the first reply: %d, Idempotent-Replayed %q", path, first.Status, first.Header.Get("Idempotent-Replayed"))
		}
		for range 2 {
			again := h.Do(harness.Keyed(path, body, "key of "+path))
			if again.Status != http.StatusOK || again.Body != first.Body || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: again %d, Idempotent-Replayed %q: %s\nfirst %s", path, again.Status, again.Header.Get("Idempotent-Replayed"), again.Body, first.Body)
			}
			harness.WantCommonHeaders(t, again.Header)
			for _, name := range []string{"X-Request-Id", "Content-Type", "X-Weir-Provider", "X-Weir-Model", "X-Weir-Cost-Usd", "X-Weir-Attempts", "X-Weir-Requested-Model"} {
				if first.Header.Get(name) != again.Header.Get(name) {
					t.Errorf("%s: %s was %q, is %q", path, name, first.Header.Get(name), again.Header.Get(name))
				}
			}
		}
	}
	if n := len(up.Records(t)); n != len(bodies) {
		t.Errorf("%d requests reached the provider, want %d", n, len(bodies))
	}
	if u := h.Uses(""); u.Total.Requests != "3" || u.Total.Cost != "0.0000126" {
		t.Errorf("uses %+v, want 3 requests, each charged once", u.Total)
	}
}

// TestIdempotencyConflicts uses keys that another request occupies.
func TestIdempotencyConflicts(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	conflict := func(what string, a harness.Ask) {
		t.Helper()
		r := h.Do(a)
		if e := harness.WantError(t, r, 409, "IDEMPOTENCY_CONFLICT"); !strings.Contains(e.Message, what) {
			t.Errorf("message %q, want %q in it", e.Message, what)
		}
	}
	h.MustAnswer(h.Do(harness.Keyed("/v1/chat", harness.Hello("house/echo"), "used")))
	conflict("another request", harness.Keyed("/v1/chat", harness.Hello("house/chat"), "used"))
	conflict("another request", harness.Keyed("/v1/chat", harness.Hello("house/echo")+" ", "used"))
	conflict("another request", harness.Keyed("/v1/chat", harness.Hello("house/echo"), "used", "Accept", "text/event-stream"))

	h.Do(harness.Keyed("/v1/chat", harness.Hello("house/echo"), "streamed", "Accept", "text/event-stream"))
	conflict("stream", harness.Keyed("/v1/chat", harness.Hello("house/echo"), "streamed", "Accept", "text/event-stream"))
	conflict("another request", harness.Keyed("/v1/chat", harness.Hello("house/echo"), "streamed"))

	for _, accept := range []string{"application/json", "text/event-stream"} {
		before := len(up.Records(t))
		slow := harness.Keyed("/v1/chat", harness.Hello("house/echo:ttft=2s"), "running "+accept, "Accept", accept)
		first := make(chan harness.Reply)
		go func() { first <- h.Do(slow) }()
		harness.Await(t, "the first request", func() bool { return up.Ledger().Totals().Requests > int64(before) })
		conflict("still running", slow)
		if r := <-first; r.Status != http.StatusOK {
			t.Errorf("the first request: %d %s", r.Status, r.Body)
		}
	}
	if n := up.Ledger().Totals().Requests; n != 4 {
		t.Errorf("%d requests reached the provider, want 4", n)
	}
}

// TestIdempotencyAfterFailure checks that a failed first request leaves the key free.
func TestIdempotencyAfterFailure(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	body := harness.Hello("house/echo:status=500,once")
	harness.WantError(t, h.Do(harness.Keyed("/v1/chat", body, "failing")), 502, "PROVIDER_ERROR")
	if r := h.Do(harness.Keyed("/v1/chat", body, "failing")); r.Status != http.StatusOK || r.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the second try: %d, Idempotent-Replayed %q", r.Status, r.Header.Get("Idempotent-Replayed"))
	}
	if r := h.Do(harness.Keyed("/v1/chat", body, "failing")); r.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the third try was not replayed: %d %s", r.Status, r.Body)
	}

	cut := harness.Keyed("/v1/chat", harness.Hello("house/echo:fault=cut,at=2,once"), "cut", "Accept", "text/event-stream")
	if _, e := harness.SplitStream(t, h.Do(cut).Body); e == nil {
		t.Error("the stream was not cut")
	}
	if events, e := harness.SplitStream(t, h.Do(cut).Body); e != nil || harness.Text(events) != "Say it again, please" {
		t.Errorf("after a stream that was cut: %q, %+v", harness.Text(events), e)
	}

	ctx, leave := context.WithCancel(t.Context())
	slow := harness.Keyed("/v1/chat", harness.Hello("house/echo:ttft=2s"), "left")
	before := up.Ledger().Totals().Requests
	gone := make(chan error)
	go func() {
		resp, err := h.Client.Do(h.Request(slow).WithContext(ctx))
		if err == nil {
			err = resp.Body.Close()
		}
		gone <- err
	}()
	harness.Await(t, "the first request", func() bool { return up.Ledger().Totals().Requests > before })
	leave()
	<-gone
	harness.Await(t, "the key to be free again", func() bool { return h.Do(slow).Status == http.StatusOK })

	harness.WantError(t, h.Do(harness.Keyed("/v1/chat", `{}`, "wrong")), 400, "INVALID_REQUEST")
	h.MustAnswer(h.Do(harness.Keyed("/v1/chat", harness.Hello("house/echo"), "wrong")))
}

// TestIdempotencyOfKeys sends one Idempotency-Key with two API keys.
func TestIdempotencyOfKeys(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	other := h.NewKey(account.KeyOptions{Account: "default"})
	a := harness.Keyed("/v1/chat", harness.Hello("house/echo"), "the same")
	first := h.MustAnswer(h.Do(a))
	a.Key = other
	r := h.Do(a)
	if second := h.MustAnswer(r); second.ID == first.ID || r.Header.Get("Idempotent-Replayed") != "" {
		t.Error("one key got the reply of another")
	}
}

// TestIdempotencyRestart checks that a reply outlives the process, and is stored encrypted.
func TestIdempotencyRestart(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	a := harness.Keyed("/v1/chat", harness.Hello("house/echo"), "lasting")
	first := h.Do(a)
	h.MustAnswer(first)
	must.Do(t, h.Stop())
	wantNowhere(t, h.Data, "Say it again", h.Key, h.Key[3:20], harness.UpstreamKey)
	again := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Dir: h.Data, Key: h.Key})
	r := again.Do(a)
	if r.Body != first.Body || r.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("after a restart: %d, Idempotent-Replayed %q: %s", r.Status, r.Header.Get("Idempotent-Replayed"), r.Body)
	}
	if u := again.Uses(""); u.Total.Requests != "1" {
		t.Errorf("%s requests, want 1", u.Total.Requests)
	}
}

// wantNowhere searches every file of a directory for texts.
func wantNowhere(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the gateway may have renamed a file
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
				t.Errorf("%s contains %q", path, s)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
