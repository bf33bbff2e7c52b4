package quote

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/quotetest"
)

// TestUsualRequestsNeedNoTree checks which requests are read without their tree.
func TestUsualRequestsNeedNoTree(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"Hi"}]`
	tests := []struct {
		name string
		of   quotetest.Asked
		want bool
	}{
		{"texts", quotetest.Asked{Body: `{` + hi + `}`}, true},
		{"with a cap", quotetest.Asked{Body: `{"max_tokens":5,` + hi + `}`}, true},
		{"a stream", quotetest.Asked{Body: `{"stream":true,"stream_options":{"include_usage":true},"temperature":0.5,` + hi + `}`}, true},
		{"Anthropic's", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":5,"system":"Be brief.",` + hi + `}`}, true},
		{"two caps", quotetest.Asked{Body: `{"max_tokens":5,"max_completion_tokens":9,` + hi + `}`}, false},
		{"a name that stands twice in a message", quotetest.Asked{Body: `{"messages":[{"role":"user","content":"Hi","content":"Ho"}]}`}, false},
		{"a name that stands twice in the options", quotetest.Asked{Body: `{"stream_options":{"a":1,"a":2},` + hi + `}`}, false},
		{"a cap of 0", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":0,` + hi + `}`}, false},
		{"a cap of null", quotetest.Asked{Body: `{"max_tokens":null,` + hi + `}`}, false},
		{"several answers", quotetest.Asked{Body: `{"n":3,` + hi + `}`}, false},
		{"tools", quotetest.Asked{Body: `{"tools":[],` + hi + `}`}, false},
		{"something unknown", quotetest.Asked{Body: `{"conversation":"c",` + hi + `}`}, false},
		{"a name with an escape", quotetest.Asked{Body: `{"\u0074ools":[{"type":"web_search"}],` + hi + `}`}, false},
		{"parts", quotetest.Asked{Body: `{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`}, false},
		{"an unknown field of a message", quotetest.Asked{Body: `{"messages":[{"role":"user","content":"Hi","file_id":"f"}]}`}, false},
		{"a tool's result", quotetest.Asked{Body: `{"messages":[{"role":"tool","tool_call_id":"c","content":"Hi"}]}`}, false},
		{"no messages", quotetest.Asked{Body: `{"messages":[]}`}, false},
		{"blocks of system", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":5,"system":[{"type":"text","text":"x"}],` + hi + `}`}, false},
		{"OpenAI's system", quotetest.Asked{Body: `{"system":"x",` + hi + `}`}, false},
		{"a model that searches", quotetest.Asked{Model: "sonar", Body: `{` + hi + `}`}, false},
		{"another wire format", quotetest.Asked{Target: "anthropic", Body: `{` + hi + `}`}, false},
		{"a client API without a list", quotetest.Asked{ClientAPI: "responses", Body: `{"input":"Hi"}`}, false},
	}
	for _, test := range tests {
		if test.of.ClientAPI == "" {
			test.of.ClientAPI = "openai"
		}
		q := newAsked(t, test.of)
		if _, got := q.PlainText(); got != test.want {
			t.Errorf("%s: %s: got %t, want %t", test.name, test.of.Body, got, test.want)
		}
	}
}

// TestReadingWithoutTreeMatchesTree compares the reading without the tree with the tree, for requests of usual and of
// odd pieces.
func TestReadingWithoutTreeMatchesTree(t *testing.T) {
	t.Parallel()
	members := []string{
		`"temperature":1`, `"top_p":0.5`, `"stream":true`, `"max_tokens":7`, `"max_completion_tokens":9`, `"max_tokens":0`, `"max_tokens":null`,
		`"stream_options":{"include_usage":true}`, `"system":"Be brief."`, `"system":[{"type":"text","text":"x"}]`, `"n":2`, `"best_of":4`,
		`"prediction":{"type":"content","content":"abc"}`, `"web_search_options":{}`, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`,
		`"container":"c"`, `"temperature":{"file_id":"f"}`, `"user":"u"`, `"seed":4`, `"plugins":[{"id":"web"}]`, `"Max_Tokens":8`,
	}
	messages := []string{
		`{"role":"user","content":"Hi"}`, `{"role":"system","content":"Be brief."}`, `{"content":"a\nb","role":"assistant"}`, `{"role":"developer","content":""}`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/i.png"}}]}`, `{"role":"assistant","content":null}`,
		`{"role":"user","content":"Hi","audio":{"id":"a"}}`, `{"role":"user"}`, `{"role":"tool","content":"x","tool_call_id":"1"}`, `"Hi"`, `{"role":"user","content":5}`,
	}
	usual := 0
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfNDistinct(rapid.SampledFrom(members), 0, 4, func(s string) string { name, _, _ := strings.Cut(s, ":"); return name }).Draw(t, "members")
		some := rapid.SliceOfN(rapid.SampledFrom(messages), 0, 3).Draw(t, "messages")
		body := "{" + strings.Join(append(parts, `"messages":[`+strings.Join(some, ",")+`]`), ",") + "}"
		a := quotetest.Asked{ClientAPI: rapid.SampledFrom([]string{"openai", "anthropic"}).Draw(t, "client API"), Body: body}
		if _, err := quotetest.Dialect(t, a.ClientAPI).Scan([]byte(body), nil); err != nil {
			t.Skip("refused on arrival:", err)
		}
		q := newAsked(t, a)
		got, ok := q.PlainText()
		if err := q.unpriced(); ok && err != nil {
			t.Fatalf("%s: %s is usual, and has no price: %v", a.ClientAPI, body, err)
		}
		if _, err := q.Tree(); err != nil || !ok {
			return // no parser accepts it: there is nothing to compare
		}
		usual++
		want := q.inputs() // by the tree, which is there now
		if diff := cmp.Diff(got, want, cmp.AllowUnexported(Inputs{}, enclosed{}, recordings{}, openCalls{})); diff != "" {
			t.Fatalf("%s: %s (-got +want):\n%s", a.ClientAPI, body, diff)
		}
	})
	if usual == 0 {
		t.Error("no request was usual")
	}
}
