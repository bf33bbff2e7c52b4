package chat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestChatOnBothPaths checks the documented reply, in both forms of the path.
func TestChatOnBothPaths(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, path := range []string{"/v1/chat", "/api/chat"} {
		before := time.Now().Unix()
		r := h.Do(harness.Ask{Path: path, Body: harness.Hello("house/echo")})
		got := h.MustAnswer(r)
		if got.Created < before || got.Created > time.Now().Unix() {
			t.Errorf("created %d, want now", got.Created)
		}
		if id, err := uuid.Parse(got.ID); err != nil || id.Version() != 7 || got.ID != r.Header.Get("X-Request-Id") {
			t.Errorf("id %q, X-Request-Id %q: want one UUID of version 7", got.ID, r.Header.Get("X-Request-Id"))
		}
		if got.Model != "house/echo" || got.ResponseType != "stream" {
			t.Errorf("model %q, responsetype %q", got.Model, got.ResponseType)
		}
		c := got.Choices[0]
		if c.Index != 0 || c.Message.Role != "assistant" || c.Message.Content != "Say it again, please" || c.FinishReason != "stop" {
			t.Errorf("choice %+v", c)
		}
		if want := (harness.Tokens{Prompt: 12, Completion: 4, Total: 16}); got.Usage != want {
			t.Errorf("usage %+v, want %+v", got.Usage, want)
		}
		harness.WantNames(t, r.Body, "id created model responsetype choices usage")
		harness.WantHeaders(t, r.Header, map[string]string{
			"Content-Type": "application/json", "X-Weir-Provider": "house", "X-Weir-Model": "house/echo",
			"X-Weir-Cost-Usd": "0.0000042", "X-Weir-Attempts": "1", "X-Weir-Requested-Model": "",
		})
		harness.WantCommonHeaders(t, r.Header)
	}
}

// spy is a provider that records its requests, and answers shortly.
type spy struct {
	url     string
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

func newSpy(t testing.TB) *spy {
	s := &spy{}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	s.url = ts.URL
	return s
}

func (s *spy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies, s.headers = append(s.bodies, string(body)), append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
}

// last returns the latest request.
func (s *spy) last() (body string, header http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1], s.headers[len(s.headers)-1]
}

// TestUpstreamRequest checks the provider's request for a client's request.
func TestUpstreamRequest(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(s.url)})
	type message struct{ Role, Content string }
	tests := []struct {
		name, body string
		model      string
		want       []message
		extra      map[string]string
	}{
		{
			name: "system messages in front, joined", model: "m",
			body: `{"model":"house/m","messages":[{"role":"user","prompt":"One"},{"role":"system","prompt":"A"},{"role":"user","prompt":"Two"},{"role":"system","prompt":"B\nC"},{"role":"user","prompt":"Three"}]}`,
			want: []message{{"system", "A\n\nB\nC"}, {"user", "One"}, {"user", "Two"}, {"user", "Three"}},
		},
		{
			name: "default model", model: "chat",
			body: `{"messages":[{"role":"user","prompt":"Hi"}]}`, want: []message{{"user", "Hi"}},
		},
		{
			name: "model name with slashes", model: "meta/llama/70b",
			body: `{"model":"house/meta/llama/70b","messages":[{"role":"user","prompt":"Hi"}]}`, want: []message{{"user", "Hi"}},
		},
		{
			name: "text as it is", model: "m",
			body: `{"model":"house/m","messages":[{"role":"user","prompt":"\u00e9\n\t\"\\ \ud83d\ude00 <b>"}]}`, want: []message{{"user", "é\n\t\"\\ 😀 <b>"}},
		},
		{
			name: "options", model: "m",
			body:  `{"model":"house/m","messages":[{"role":"user","prompt":"Hi"}],"max_tokens":7,"temperature":0.30,"top_p":0.5,"stop":["x","y"]}`,
			want:  []message{{"user", "Hi"}},
			extra: map[string]string{"max_completion_tokens": "7", "temperature": "0.30", "top_p": "0.5", "stop": `["x","y"]`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: test.body}))
			body, header := s.last()
			var got struct {
				Model    string
				Stream   bool
				Messages []message
			}
			must.Do(t, json.Unmarshal([]byte(body), &got))
			if got.Model != test.model || got.Stream {
				t.Errorf("model %q, stream %v: want %q and false", got.Model, got.Stream, test.model)
			}
			must.Equal(t, got.Messages, test.want, "messages")
			members := harness.RawMembers(t, body)
			for _, name := range []string{"max_completion_tokens", "max_tokens", "temperature", "top_p", "stop"} {
				if got := string(members[name]); got != test.extra[name] {
					t.Errorf("%s is %q, want %q", name, got, test.extra[name])
				}
			}
			harness.WantHeaders(t, header, map[string]string{
				"Authorization": "Bearer " + harness.UpstreamKey, "Content-Type": "application/json", "User-Agent": "weir/test",
			})
		})
	}
}

// TestUpstreamHeaders checks that no header that identifies the client is forwarded to a provider.
func TestUpstreamHeaders(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(s.url)})
	r := h.Chat("house/m", "Idempotency-Key", "once", "Cookie", "a=b", "X-Forwarded-For", "10.1.2.3", "User-Agent", "client/1",
		"X-Api-Key", "something", "OpenAI-Organization", "org-x", "X-Client-Request-Id", "mine")
	id := h.MustAnswer(r).ID
	_, header := s.last()
	var names []string
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Client-Request-Id"}
	must.Equal(t, names, want, "headers")
	if got := header.Get("X-Client-Request-Id"); got != id+".1" {
		t.Errorf("X-Client-Request-Id %q, want the attempt's id %q", got, id+".1")
	}
}

// TestAliasNeedsPermission sends a request for an alias, with and without a key's permission.
func TestAliasNeedsPermission(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(harness.ProvidersYAML(up.URL), "default_model: house/chat", "default_model: quick", 1) +
		"aliases:\n  quick: {targets: [house/echo]}\n"})
	for name, body := range map[string]string{"asked": harness.Hello("quick"), "default": harness.Messages(`[{"role":"user","prompt":"Hi"}]`)} {
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: body})
		if got := h.MustAnswer(r); got.Model != "house/echo" {
			t.Errorf("%s: model %q, want the one that answered", name, got.Model)
		}
		harness.WantHeaders(t, r.Header, map[string]string{"X-Weir-Model": "house/echo", "X-Weir-Requested-Model": "quick"})
	}
}

// TestFinishReasons checks the finish reasons of answers.
func TestFinishReasons(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	tests := []struct{ model, options, want string }{
		{"house/chat", "", "stop"},
		{"house/chat", `,"max_tokens":2`, "length"},
		{"house/chat:fault=content-filter", "", "content_filter"},
	}
	for _, test := range tests {
		body := strings.TrimSuffix(harness.Hello(test.model), "}") + test.options + "}"
		if got := h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: body})).Choices[0].FinishReason; got != test.want {
			t.Errorf("%s%s: finish_reason %q, want %q", test.model, test.options, got, test.want)
		}
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: body, Header: []string{"Accept", "text/event-stream"}})
		events, _ := harness.SplitStream(t, r.Body)
		if got := events[len(events)-1].Choices[0].FinishReason; got == nil || *got != test.want {
			t.Errorf("%s%s in a stream: finish_reason %v, want %q", test.model, test.options, got, test.want)
		}
	}
}

// TestUnpricedModelIsMarked uses a model without a price: it is answered, costs nothing, and is marked as unpriced.
func TestUnpricedModelIsMarked(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "default_model: house/chat\n"})
	r := h.Chat("house/echo")
	h.MustAnswer(r)
	if _, there := r.Header["X-Weir-Cost-Usd"]; there {
		t.Errorf("X-Weir-Cost-USD is %q, want it absent", r.Header.Get("X-Weir-Cost-USD"))
	}
	events, _ := harness.SplitStream(t, h.Stream("house/echo").Body)
	if got := events[len(events)-1].Usage.Cost; got != "" {
		t.Errorf("usage.cost is %s, want it absent", got)
	}
	u := h.Uses("")
	if len(u.Data) != 1 || !u.Data[0].Unpriced || u.Data[0].Cost != "0" || u.Data[0].Tokens != "32" || u.Total.Cost != "0" {
		t.Errorf("uses %+v, want one unpriced entry of 32 tokens at 0", u)
	}
}
