package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestKeptQuota is an account that has as much kept as it may: it gets its answers, is
// told what is not kept, and is charged for nothing twice. Others keep theirs.
func TestKeptQuota(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url) + "kept: {replies_per_account: 1}\n"})
	other := h.keyOfNew("another")
	body := hello("house/echo")
	type try struct {
		what   string
		ask    ask
		status int
		header string // that is true or false
		want   string
	}
	responses := ask{path: "/v1/responses", body: `{"model":"house/chat","input":"Hi"}`}
	others := responses
	others.key = other
	for _, test := range []try{
		{"the first", keyed("/v1/chat", body, "1"), 200, "", ""},
		{"the first again", keyed("/v1/chat", body, "1"), 200, "Idempotent-Replayed", "true"},
		{"one too many", keyed("/v1/chat", body, "2"), 200, "Idempotent-Kept", "false"},
		{"one too many again", keyed("/v1/chat", body, "2"), 409, "", ""},
		{"a response", responses, 200, "X-Weir-Kept", "false"},
		{"another's response", others, 200, "", ""},
	} {
		r := h.do(test.ask)
		if r.status != test.status {
			t.Errorf("%s: %d %s, want %d", test.what, r.status, r.body, test.status)
		}
		for _, name := range []string{"Idempotent-Replayed", "Idempotent-Kept", "X-Weir-Kept"} {
			want := ""
			if name == test.header {
				want = test.want
			}
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", test.what, name, got, want)
			}
		}
	}
	if n := len(up.records(t)); n != 4 {
		t.Errorf("%d requests reached the provider, want 4", n)
	}
	metrics := h.do(ask{path: "/metrics", key: noKey}).body
	for _, want := range []string{
		`weir_kept{kind="reply"} 1`, `weir_kept{kind="response"} 1`, `weir_kept_bytes{kind="reply"} `,
		`weir_kept_refused_total{kind="reply",reason="quota"} 1`, `weir_kept_refused_total{kind="response",reason="quota"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

// TestKeptDisk is a disk without room to keep anything: answers are given all the same.
func TestKeptDisk(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url) + "kept: {min_free_disk: 1000000GiB}\n"})
	r := h.do(keyed("/v1/chat", hello("house/echo"), "1"))
	if r.status != http.StatusOK || r.header.Get("Idempotent-Kept") != "false" {
		t.Errorf("got %d, Idempotent-Kept %q: %s", r.status, r.header.Get("Idempotent-Kept"), r.body)
	}
	wantError(t, h.do(keyed("/v1/chat", hello("house/echo"), "1")), 409, "IDEMPOTENCY_CONFLICT")
	if n := len(up.records(t)); n != 1 {
		t.Errorf("%d requests reached the provider, want 1", n)
	}
}
