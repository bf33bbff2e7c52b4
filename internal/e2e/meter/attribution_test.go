package meter_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestAttributionIsInRows checks that a request's row has its end user and tags, from the header and from the vendors'
// own members, which go to the provider unchanged.
func TestAttributionIsInRows(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	long := strings.Repeat("x", 513)
	openai := `{"model":"house/echo","messages":[{"role":"user","content":"Hello!"}]`
	anthropic := strings.Replace(openai, "}]", `}],"max_tokens":9`, 1)
	gemini := `{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]`
	for _, test := range []struct {
		name, path, body, header string
		user, tags               string
	}{
		{name: "nothing", path: "/v1/chat", body: harness.Hello("house/echo")},
		{name: "header", path: "/v1/chat", body: harness.Hello("house/echo"), header: "project=alpha, team=search", tags: "project=alpha,team=search"},
		{name: "openai", path: "/v1/chat/completions", body: openai + `,"user":"u1","metadata":{"project":"beta","a":"b"}}`, user: "u1", tags: "project=beta,a=b"},
		{name: "both", path: "/v1/chat/completions", body: openai + `,"metadata":{"project":"beta","a":"b"}}`, header: "project=alpha", tags: "project=alpha,a=b"},
		{name: "safety_identifier", path: "/v1/chat/completions", body: openai + `,"safety_identifier":"s1","user":"u1"}`, user: "s1"},
		{name: "empty safety_identifier", path: "/v1/chat/completions", body: openai + `,"user":"u1","safety_identifier":""}`, user: "u1"},
		{name: "escapes", path: "/v1/chat/completions", body: openai + `,"user":"\u00fc","metadata":{"a\"":"\u00fc,"}}`, user: "ü", tags: `a"=ü%2C`},
		{name: "no strings", path: "/v1/chat/completions", body: openai + `,"metadata":{"a":1,"b":"c"}}`, tags: "b=c"},
		{name: "no object", path: "/v1/chat/completions", body: openai + `,"metadata":"x"}`},
		{name: "null", path: "/v1/chat/completions", body: openai + `,"user":null,"metadata":null}`},
		{name: "too long", path: "/v1/chat/completions", body: openai + `,"metadata":{"a":"` + long + `","b":"c"}}`, tags: "b=c"},
		{name: "too long a user", path: "/v1/messages", body: anthropic + `,"metadata":{"user_id":"` + long + `"}}`},
		{name: "responses", path: "/v1/responses", body: `{"model":"house/echo","input":"Hello!","user":"u1","metadata":{"a":"b"}}`, user: "u1", tags: "a=b"},
		{name: "anthropic", path: "/v1/messages", body: anthropic + `,"metadata":{"user_id":"u2","a":"b"}}`, user: "u2"},
		{name: "gemini", path: "/v1beta/models/house/echo:generateContent", body: gemini + `,"labels":{"a":"b"}}`, tags: "a=b"},
		{name: "embeddings", path: "/v1/embeddings", body: `{"model":"house/echo","input":"Hello!","user":"u3"}`, user: "u3"},
	} {
		ask := harness.Ask{Path: test.path, Body: test.body}
		if test.header != "" {
			ask.Header = []string{"X-Weir-Tags", test.header}
		}
		r := h.Do(ask)
		if r.Status != http.StatusOK {
			t.Errorf("%s: got %d %s", test.name, r.Status, r.Body)
			continue
		}
		got := h.Entry(t, r.Header.Get("X-Request-Id")).Attribution
		if got.User != test.user || llm.FormatTags(got.Tags) != test.tags {
			t.Errorf("%s: got user %q, tags %q; want %q, %q", test.name, got.User, llm.FormatTags(got.Tags), test.user, test.tags)
		}
	}
	if got := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body; !strings.Contains(got, "weir_attribution_left_out_total 3\n") {
		t.Errorf("metrics: %s", grep(got, "weir_attribution"))
	}
	if p := grouped(t, h, "?group_by=tag:a,user&tag.a=b"); fmt.Sprint(p.words()) != "[tag:a=b user=u1 2 tag:a=b user=- 2]" {
		t.Errorf("by tag and user: got %q", p.words())
	}
	if p := grouped(t, h, "?group_by=tag:a&tag.a="); len(p.Data) != 0 {
		t.Errorf("by an empty tag, which none has: got %q", p.words())
	}
	if p := grouped(t, h, "?group_by=tag:project"); fmt.Sprint(p.words()) != "[tag:project=alpha 2 tag:project=beta 1 tag:project=- 13]" {
		t.Errorf("by project: got %q", p.words())
	}
}

// TestTagsHeaderMistakes checks that an invalid header is refused in the client API's format.
func TestTagsHeaderMistakes(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	for _, header := range []string{"project", "a=", "a=b,a=c", "a=" + strings.Repeat("x", 513), strings.Repeat("a", 65) + "=b"} {
		r := h.Chat("house/echo", "X-Weir-Tags", header)
		if e := harness.WantError(t, r, 400, "INVALID_REQUEST"); e.Named() != "X-Weir-Tags" {
			t.Errorf("%.80s: param %q, want X-Weir-Tags", header, e.Named())
		}
	}
	must.Equal(t, len(up.Records(t)), 0, "requests at the provider")
}

// TestTagsOfKeys checks that requests inherit the tags of their key unless they have others, and are refused without a
// tag that their key requires.
func TestTagsOfKeys(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	key := h.NewKey(account.KeyOptions{Account: "default", Tags: account.KeyTags{
		Defaults: []llm.Tag{{Name: "team", Value: "search"}, {Name: "b c", Value: "\"ü"}}, Required: []string{"team", "project"},
	}})
	for header, want := range map[string]string{
		"project=alpha":           `project=alpha,team=search,b c="ü`,
		"project=alpha, team=ads": `project=alpha,team=ads,b c="ü`,
	} {
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key, Header: []string{"X-Weir-Tags", header}})
		h.MustAnswer(r)
		if got := h.Entry(t, r.Header.Get("X-Request-Id")).Attribution; llm.FormatTags(got.Tags) != want {
			t.Errorf("%s: got %q, want %q", header, llm.FormatTags(got.Tags), want)
		}
	}
	r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key})
	if e := harness.WantError(t, r, 400, "INVALID_REQUEST"); e.Named() != "X-Weir-Tags" || !strings.Contains(r.Body, "project") {
		t.Errorf("got %s, want that the tag project is required", r.Body)
	}
	blank := `{"model":"house/echo","messages":[{"role":"user","content":"Hi"}],"metadata":{"project":" "}}`
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: blank, Key: key}); r.Status != 400 {
		t.Errorf("a blank tag: got %d %s, want 400", r.Status, r.Body)
	}
	must.Equal(t, len(up.Records(t)), 2, "requests at the provider")
}
