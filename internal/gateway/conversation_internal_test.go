package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/must"
	"weir/internal/route"
)

// turnOf is a request of a client API.
type turnOf struct {
	dialect, body string
	header        http.Header
}

func (x turnOf) conversation(t *testing.T) route.Conversation {
	t.Helper()
	for _, d := range registrytest.All() {
		if d.Name == x.dialect {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.SetPathValue("target", "gemini-3.8-flash:generateContent")
			head := must.Get(d.Scan([]byte(x.body), r))(t)
			return conversationOf(1, head.Conversation, []byte(x.body), x.header)
		}
	}
	t.Fatalf("no wire format %s", x.dialect)
	return 0
}

// TestConversationIsRecognised compares a first request of a conversation with a later one, and with one of another
// conversation.
func TestConversationIsRecognised(t *testing.T) {
	t.Parallel()
	named := func(name, value string) http.Header { return http.Header{name: {value}} }
	const later = `,{"role":"assistant","content":"Yes."},{"role":"user","content":"And now?"}]`
	tests := map[string]struct {
		dialect             string
		first, later, other string
	}{
		"the beginning, chat completions": {
			"openai", `{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"A"}]}`,
			`{"messages":[{"role":"system","content":"S"},{"role":"user","content":"A"}` + later + `,"model":"m"}`,
			`{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"B"}]}`,
		},
		"another system prompt": {
			"openai", `{"model":"m","messages":[{"role":"developer","content":"S"},{"role":"user","content":"A"}]}`,
			`{"model":"m","messages":[{"role":"developer","content":"S"},{"role":"user","content":"A"}` + later + `}`,
			`{"model":"m","messages":[{"role":"developer","content":"T"},{"role":"user","content":"A"}]}`,
		},
		"prompt_cache_key": {
			"openai", `{"model":"m","prompt_cache_key":"k","messages":[{"role":"user","content":"A"}]}`,
			`{"model":"m","prompt_cache_key":"k","messages":[{"role":"user","content":"compacted"}]}`,
			`{"model":"m","prompt_cache_key":"l","messages":[{"role":"user","content":"A"}]}`,
		},
		"a mark that moves to the newest message": {
			"anthropic",
			`{"model":"m","max_tokens":9,"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"A","cache_control":{"type":"ephemeral"}}]}]}`,
			`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":"A"}` + later + `}`,
			`{"model":"m","max_tokens":9,"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"B"}]}]}`,
		},
		"a picture": {
			"anthropic",
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"data":"AA"}}]}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"data":"AA"},"cache_control":{}}]}` + later + `}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"data":"BB"}}]}]}`,
		},
		"metadata.user_id of Claude Code": {
			"anthropic",
			`{"model":"m","max_tokens":9,"metadata":{"user_id":"user_1_session_1"},"messages":[{"role":"user","content":"A"}]}`,
			`{"model":"m","max_tokens":9,"metadata":{"user_id":"user_1_session_1"},"messages":[{"role":"user","content":"B"}]}`,
			`{"model":"m","max_tokens":9,"metadata":{"user_id":"user_1_session_2"},"messages":[{"role":"user","content":"A"}]}`,
		},
		"responses, instructions": {
			"responses", `{"model":"m","instructions":"S","input":"A"}`,
			`{"model":"m","instructions":"S","input":[{"role":"user","content":[{"type":"input_text","text":"A"}]},{"type":"reasoning"}]}`,
			`{"model":"m","instructions":"S","input":"B"}`,
		},
		"gemini": {
			"gemini", `{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"parts":[{"text":"A"}]}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"A"}]},{"role":"model","parts":[{"text":"B"}]}],"systemInstruction":{"parts":[{"text":"S"}]}}`,
			`{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"parts":[{"text":"B"}]}]}`,
		},
		"weir's own": {
			"native", `{"messages":[{"role":"system","prompt":"S"},{"role":"user","prompt":"A"}]}`,
			`{"messages":[{"role":"system","prompt":"S"},{"role":"user","prompt":"A"},{"role":"user","prompt":"B"}]}`,
			`{"messages":[{"role":"system","prompt":"S"},{"role":"user","prompt":"B"}]}`,
		},
	}
	for name, test := range tests {
		first := turnOf{test.dialect, test.first, nil}.conversation(t)
		if got := (turnOf{test.dialect, test.later, nil}).conversation(t); first == 0 || got != first {
			t.Errorf("%s: the later request is of conversation %x, want %x", name, got, first)
		}
		if got := (turnOf{test.dialect, test.other, nil}).conversation(t); got == 0 || got == first {
			t.Errorf("%s: the other conversation is %x, too", name, got)
		}
		for _, header := range sessionHeaders() {
			one := turnOf{test.dialect, test.first, named(header, "1")}.conversation(t)
			two := turnOf{test.dialect, test.other, named(header, "1")}.conversation(t)
			three := turnOf{test.dialect, test.first, named(header, "2")}.conversation(t)
			if keyed := name == "prompt_cache_key"; keyed != (one != two) || keyed != (one == three) {
				t.Errorf("%s: with %s the conversations are %x, %x and %x", name, header, one, two, three)
			}
		}
	}
	if got := (turnOf{"openai", `{"model":"m","messages":[]}`, nil}).conversation(t); got != 0 {
		t.Errorf("a request without messages is of conversation %x, want none", got)
	}
}

func TestConversationIsFoundWithoutAllocating(t *testing.T) {
	body := []byte(`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":[{"type":"text","text":"A","cache_control":{}}]}]}`)
	for _, d := range registrytest.All() {
		if d.Name != "anthropic" {
			continue
		}
		head := must.Get(d.Scan(body, httptest.NewRequest(http.MethodPost, "/", nil)))(t)
		if n := testing.AllocsPerRun(100, func() { conversationOf(1, head.Conversation, body, nil) }); n > 0 {
			t.Errorf("%v allocations, want none", n)
		}
	}
}
