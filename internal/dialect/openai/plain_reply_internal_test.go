package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/stamp"
	"weir/internal/fixturetest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/rawjson"
	"weir/internal/worktest"
)

// usualReply is a plain reply. Replies below differ from it in one place.
const usualReply = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"H\u00e9llo \"you\"","refusal":null,"annotations":[]},"logprobs":null,` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,` +
	`"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":1}},` +
	`"service_tier":"default","system_fingerprint":"fp_1"}`

// variations are changes of usualReply, and whether the result is plain.
var variations = []struct {
	old, new string
	plain    bool
}{
	{"", "", true},
	{`"stop"`, `"length"`, true},
	{`"stop"`, `"tool_calls"`, true},
	{`"stop"`, `null`, true},
	{`"finish_reason"`, `"f\u0069nish_reason"`, true},
	{`"refusal":null`, `"tool_calls":null,"x":{"y":[1]}`, true},
	{`"logprobs":null`, `"content_filter_results":{"hate":{}}`, true},
	{`"usage":{`, `"usage":{"cost":0.5,"service_tier":"priority","search_context_size":"low",`, true},
	{`"usage":{`, `"error":null,"usage":{"cost":{"total_cost":2},"queue_time":1.5,`, true},
	{`"gpt-5"`, `"gpt-4o-search-preview"`, true},
	{`"index":0`, `"index":7`, true},
	{`"index":0`, `"index":-1`, true},
	{`,"service_tier":"default","system_fingerprint":"fp_1"`, ``, true},
	{`"gpt-5"`, `null`, true},
	{`"completion_tokens":3`, `"completion_tokens":0`, true},
	{`"refusal":null`, `"refusal":"no"`, false},
	{`"annotations":[]`, `"annotations":[{}]`, false},
	{`"annotations":[]`, `"annotations":{}`, false},
	{`"annotations":[]`, `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`, false},
	{`"annotations":[]`, `"reasoning_content":"hm"`, false},
	{`"annotations":[]`, `"content":"again"`, false},
	{`"annotations":[]`, `"executed_tools":[{"type":"search"}]`, false},
	{`"H\u00e9llo \"you\""`, `""`, false},
	{`"H\u00e9llo \"you\""`, `null`, false},
	{`"H\u00e9llo \"you\""`, `[{"type":"text","text":"a"}]`, false},
	{`"H\u00e9llo \"you\""`, "\"\xff\"", false},
	{`"H\u00e9llo \"you\""`, `"\x"`, false},
	{`"logprobs":null`, `"logprobs":{"content":[]}`, false},
	{`"logprobs":null`, `"error":{"message":"m"}`, false},
	{`"choices":[`, `"choices":[{"message":{"content":"b"}},`, false},
	{`"choices":[`, `"choices":[{}],"choices":[`, false},
	{`"usage":{`, `"usage":null,"usage":{`, false},
	{`"usage":{`, `"citations":["https://a"],"usage":{`, false},
	{`"usage":{`, `"error":{"message":"m"},"usage":{`, false},
	{`"prompt_tokens":9`, `"prompt_tokens":-9`, false},
	{`"usage"`, `"use"`, false},
	{`"fp_1"}`, `"fp_1"`, false},
	{`"fp_1"}`, `"fp_1"} x`, false},
	{`"fp_1"}`, `"fp_1",}`, false},
	{`{"id"`, `[{"id"`, false},
}

func variation(i int) string {
	return strings.Replace(usualReply, variations[i].old, variations[i].new, 1)
}

// TestPlainRepliesAreMeasuredAsDecoded checks which replies are plain, and that reading them in one pass gives what
// decoding them by members does.
func TestPlainRepliesAreMeasuredAsDecoded(t *testing.T) {
	t.Parallel()
	for i, v := range variations {
		if plain := checkPlain(t, []byte(variation(i)), nil); plain != v.plain {
			t.Errorf("%s: plain is %t, want %t", variation(i), plain, v.plain)
		}
	}
}

// TestRecordedRepliesAreMeasuredAsDecoded does the same with replies of real providers and those of the tests of
// translations. Many of them must be plain.
func TestRecordedRepliesAreMeasuredAsDecoded(t *testing.T) {
	t.Parallel()
	plain := 0
	note := func(body []byte) {
		for _, q := range []*llm.Quirks{nil, {ReasoningBesideOutput: true}} {
			if checkPlain(t, body, q) {
				plain++
			}
		}
	}
	for _, path := range must.Get(filepath.Glob("../testdata/*/*.txtar"))(t) {
		for _, part := range bytes.Split(must.Get(os.ReadFile(path))(t), []byte("\n-- ")) {
			if _, body, ok := bytes.Cut(part, []byte("\n")); ok {
				note(bytes.TrimSpace(body))
			}
		}
	}
	for _, x := range fixturetest.Exchanges(t, func(string) bool { return true }) {
		if !x.Stream {
			note(x.Response)
		}
	}
	if plain < 100 {
		t.Errorf("%d replies are plain, want at least 100", plain)
	}
}

// TestComparisonOfPlainRepliesFindsDifferences is the negative control of checkPlain.
func TestComparisonOfPlainRepliesFindsDifferences(t *testing.T) {
	t.Parallel()
	body := []byte(usualReply)
	want := must.Get(decodeReply(body, nil))(t)
	for name, change := range map[string]func(r *llm.Reply){
		"usage":  func(r *llm.Reply) { r.Usage[llm.CacheRead]++ },
		"finish": func(r *llm.Reply) { r.Choices[0].Finish = llm.FinishLength },
		"text":   func(r *llm.Reply) { r.Choices[0].Message.Parts[0].Text += "." },
		"extra":  func(r *llm.Reply) { r.Extra = nil },
	} {
		got := decodePlain(body, nil)
		change(got)
		if cmp.Equal(got, want) {
			t.Errorf("a changed %s was not found", name)
		}
	}
}

func FuzzPlainReply(f *testing.F) {
	for i := range variations {
		f.Add([]byte(variation(i)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		checkPlain(t, body, nil)
		worktest.Check(t, body, func(b []byte) { MeasureReply(b, nil, &llm.Measured{}) })
	})
}

// checkPlain compares the readings of a reply, and reports whether it is plain.
func checkPlain(t *testing.T, body []byte, q *llm.Quirks) bool {
	t.Helper()
	want, err := decodeReply(body, q)
	got := decodePlain(body, q)
	var m llm.Measured
	if measured := MeasureReply(body, q, &m); measured != (got != nil) {
		t.Fatalf("%q: measured %t, decoded %t", body, measured, got != nil)
	}
	if got == nil {
		return false
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Fatalf("%q: %v\n%s", body, err, cmp.Diff(want, got))
	}
	if text := want.Choices[0].Message.Parts[0].Text; m.Text < len(text) || m.Text > 6*len(text) {
		t.Fatalf("%q: measured %d bytes for a text of %d", body, m.Text, len(text))
	}
	bare := *want
	bare.Extra, bare.Choices = nil, []llm.Choice{{
		Index: want.Choices[0].Index, Finish: want.Choices[0].Finish, Message: llm.Message{Role: llm.RoleAssistant},
	}}
	if !cmp.Equal(m.Reply, bare) {
		t.Fatalf("%q measured:\n%s", body, cmp.Diff(bare, m.Reply))
	}
	for _, f := range []llm.Final{{Cost: new(llm.Money(12_300))}, {Attempts: 2, Models: []string{"a"}}, {}} {
		usage := rawjson.Member{Start: m.Place.Start, Value: body[m.Place.Start:m.Place.End]}
		if stamped := stamp.At(nil, body, usage, m.Last, &f); !bytes.Equal(stamped, Stamp(nil, body, &f)) {
			t.Fatalf("%q was stamped %q, want %q", body, stamped, Stamp(nil, body, &f))
		}
	}
	return true
}
