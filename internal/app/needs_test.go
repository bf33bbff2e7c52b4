package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestTargetsThatCannot holds that a target which cannot take a request is
// passed over, where another one can.
func TestTargetsThatCannot(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("one", s.url) + `
models:
  one/whole-plain: {context: 1000, images: false, documents: false, audio: false, tools: false, structured: false}
  one/whole-small: {context: 1000}
aliases:
  both: {targets: [one/whole-plain, one/whole-able]}
  neither: {targets: [one/whole-plain, one/whole-small]}
`})
	const able, plain = "one/whole-able", "one/whole-plain"
	image := `[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`
	tests := []struct{ name, alias, content, members, want string }{
		{"nothing asked of it", "both", `"Hello"`, "", plain},
		{"an image", "both", image, "", able},
		{"a document", "both", `[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]`, "", able},
		{"a sound", "both", `[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]`, "", able},
		{"a tool", "both", `"Hello"`, `,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]`, able},
		{"a schema", "both", `"Hello"`, `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`, able},
		{"a long text", "both", `"` + strings.Repeat("word ", 2000) + `"`, "", able},
		{"a long answer", "both", `"Hello"`, `,"max_tokens":2000`, able},
		{"an image that none can take for certain", "neither", image, "", "one/whole-small"},
		{"a text that none can take", "neither", `"` + strings.Repeat("word ", 2000) + `"`, "", plain},
	}
	for _, test := range tests {
		r := h.do(ask{path: "/v1/chat/completions", body: `{"model":"` + test.alias + `","messages":[{"role":"user","content":` + test.content + `}]` + test.members + `}`})
		if got := r.header.Get("X-Weir-Model"); r.status != http.StatusOK || got != test.want {
			t.Errorf("%s: %d by %q, want it from %q: %.300s", test.name, r.status, got, test.want, r.body)
		}
	}
}
