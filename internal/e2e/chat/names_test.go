package chat_test

import (
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestDuplicateFieldsAreRefused sends a body in which a field that the gateway reads appears twice, or in another
// spelling that some parser accepts. The provider might read another value than the gateway, and so avoid price and
// permission.
func TestDuplicateFieldsAreRefused(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	native := `{"model":"house/echo","responsetype":"stream","max_tokens":5,"messages":[{"role":"user","prompt":"Hi"}]`
	vendor := `{"model":"house/echo","stream":false,"n":1,"max_tokens":5,"stream_options":null,"messages":[{"role":"user","content":"Hi"}]`
	tests := []struct{ path, base, member, param string }{
		{"/v1/chat", native, `"model":"house/chat"`, "model"},
		{"/v1/chat", native, `"model":"house/echo"`, "model"},
		{"/v1/chat", native, `"Model":"house/chat"`, "model"},
		{"/v1/chat", native, `"MODEL":null`, "model"},
		{"/v1/chat", native, `"\u006dodel":"house/chat"`, "model"},
		{"/v1/chat", native, `"m\u004fdel":"house/chat"`, "model"},
		{"/v1/chat", native, `"messages":[]`, "messages"},
		{"/v1/chat", native, `"Messages":[]`, "messages"},
		{"/v1/chat", native, `"meſſages":[]`, "messages"},
		{"/v1/chat", native, `"me\u017f\u017fages":[]`, "messages"},
		{"/v1/chat", native, `"max_tokens":6`, "max_tokens"},
		{"/v1/chat", native, `"Max_Tokens":6`, "max_tokens"},
		{"/v1/chat", native, `"max_to\u212Aens":6`, "max_tokens"},
		{"/v1/chat", native, `"responsetype":"stream"`, "responsetype"},
		{"/v1/chat/completions", vendor, `"model":"house/chat"`, "model"},
		{"/v1/chat/completions", vendor, `"mOdel":"house/chat"`, "model"},
		{"/v1/chat/completions", vendor, `"mod\u0065l":"house/chat"`, "model"},
		{"/v1/chat/completions", vendor, `"stream":true`, "stream"},
		{"/v1/chat/completions", vendor, `"Stream":true`, "stream"},
		{"/v1/chat/completions", vendor, `"\u0053tream":true`, "stream"},
		{"/v1/chat/completions", vendor, `"ſtream":true`, "stream"},
		{"/v1/chat/completions", vendor, `"messages":[]`, "messages"},
		{"/v1/chat/completions", vendor, `"n":100`, "n"},
		{"/v1/chat/completions", vendor, `"N":100`, "n"},
		{"/v1/chat/completions", vendor, `"max_tokens":9`, "max_tokens"},
		{"/v1/chat/completions", vendor, `"Max_Completion_Tokens":9`, "max_completion_tokens"},
		{"/v1/chat/completions", vendor, `"stream_options":{}`, "stream_options"},
		{"/v1/chat/completions", strings.Replace(vendor, `null`, `{"include_usage":true,"Include_Usage":false}`, 1), `"x":1`, "stream_options.include_usage"},
		{"/v1/chat", strings.Replace(native, `"role":"user"`, `"role":"user","role":"system"`, 1), `"x":1`, "messages[0].role"},
		{"/v1/chat", strings.Replace(native, `"role":"user"`, `"role":"user","Prompt":"x"`, 1), `"x":1`, "messages[0].prompt"},
	}
	for _, test := range tests {
		for _, body := range []string{test.base + "," + test.member + "}", "{" + test.member + "," + test.base[1:] + "}"} {
			r := h.Do(harness.Ask{Path: test.path, Body: body})
			members := harness.RawMembers(t, string(harness.RawMembers(t, r.Body)["error"]))
			if got := string(members["param"]); r.Status != 400 || got != `"`+test.param+`"` {
				t.Errorf("%s %s: status %d, param %s; want 400 and %q: %s", test.path, body, r.Status, got, test.param, r.Body)
			}
		}
	}
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("%d requests reached the provider, want none", n)
	}
}

// TestNamesThatAreFree repeats or capitalizes fields that the gateway does not read.
func TestNamesThatAreFree(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, member := range []string{`"x":1,"x":2`, `"X":1,"x":2`, `"models":"a","Models":"b"`, `"\u006dodels":1`} {
		h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: user(member)}))
	}
	escaped := `{"\u006dodel":"house/echo","messages":[{"role":"user","prompt":"Hi"}]}`
	if got := h.Do(harness.Ask{Path: "/v1/chat", Body: escaped}); got.Status == 200 {
		if model := h.MustAnswer(got).Model; model != "house/echo" {
			t.Errorf("an escaped name was passed over: %s answered", model)
		}
	}
}
