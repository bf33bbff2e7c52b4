package budget_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// counter forwards to a simulator, and records the requests for token counts, which it can answer itself.
type counter struct {
	path    string // the end of the path of such a request
	instead http.HandlerFunc
	up      *harness.Upstream

	mu     sync.Mutex
	bodies [][]byte
	atOnce int
	most   int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, c.path) {
		c.up.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	c.enter(body)
	defer c.leave()
	if c.instead != nil {
		c.instead(w, r)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.up.ServeHTTP(w, r)
}

func (c *counter) enter(body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, body)
	c.atOnce++
	c.most = max(c.most, c.atOnce)
}

func (c *counter) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atOnce--
}

// asked returns the number of requests for a count.
func (c *counter) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bodies)
}

// passages is a text of 8 KB. The simulator counts it, with the question around it, as 2048 tokens, and the fine bound
// as about 5000.
var passages = strings.Repeat(`Retrieval finds passages that answer a question. `, 8192/49)

const (
	countTokensPath = "/v1/messages/count_tokens"
	perToken        = llm.USD / 100_000 // of input and of output
	truly           = 2049              // tokens of input of passages
)

// counted opens a gateway with a budget and a provider that counts.
func counted(t *testing.T, c *counter, yaml string, tokens int64) *harness.Gateway {
	t.Helper()
	c.up = harness.NewUpstream(t)
	server := httptest.NewServer(c)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	h := harness.Open(t, harness.Setup{YAML: strings.ReplaceAll(yaml, "UPSTREAM", server.URL)})
	if tokens > 0 {
		h.SetBudget(llm.Money(tokens)*perToken, budget.PeriodTotal)
	}
	return h
}

// counting configures a provider with a wire format below a path, and an operation that counts.
func counting(name, dialect, prefix, way string) string {
	yaml := strings.NewReplacer("dialect: openai", "dialect: "+dialect, "UPSTREAM/v1", "UPSTREAM"+prefix).Replace(harness.ProviderYAML(name, "UPSTREAM"))
	return yaml + "    counter: " + way + "\n    also: [responses]\n"
}

func pricesOf(names ...string) (yaml string) {
	yaml = "prices:\n"
	for _, name := range names {
		yaml += fmt.Sprintf("  %s/*: {input: \"10\", output: \"10\"}\n", name)
	}
	return yaml + "models:\n  " + names[0] + "/*: {context: 100000, max_output: 4096}\n"
}

func asking(model string) harness.Ask {
	return harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + model + `","max_tokens":9,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + passages + `"}],` +
		`"tools":[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object"}}}]}`}
}

// TestOwnCounter checks that a request whose bound does not fit into the budget is served if the provider's count fits,
// that the count is of the sent request, and that its true cost is booked.
func TestOwnCounter(t *testing.T) {
	t.Parallel()
	responses := harness.Ask{Path: "/v1/responses", Body: `{"model":"house/chat:tokens=5","max_output_tokens":16,"instructions":"Be brief.","input":"` + passages + `"}`}
	for _, tt := range []struct {
		way, dialect, prefix, path string
		ask                        harness.Ask
		sent, left                 []string // members of the question, and texts that it lacks
	}{
		{"anthropic", "anthropic", "/v1", countTokensPath, asking("house/chat:tokens=5"), []string{"messages", "system", "tools", "model"}, []string{"max_tokens", "stream"}},
		{"gemini", "gemini", "/v1beta", ":countTokens", asking("house/chat:tokens=5"), []string{"generateContentRequest"}, []string{"contents"}},
		{"bedrock", "bedrock", "", "/count-tokens", asking("house/chat:tokens=5"), []string{"input"}, []string{"inferenceConfig"}},
		{"llamacpp", "openai", "/v1", "/v1/chat/completions/input_tokens", asking("house/chat:tokens=5"), []string{"messages", "tools", "model"}, nil},
		{"vllm", "openai", "/v1", "/tokenize", asking("house/chat:tokens=5"), []string{"messages", "tools", "model"}, []string{"max_tokens"}},
		{"responses", "openai", "/v1", "/v1/responses/input_tokens", responses, []string{"input", "instructions", "model"}, []string{"max_output_tokens"}},
	} {
		t.Run(tt.way, func(t *testing.T) {
			t.Parallel()
			c := &counter{path: tt.path}
			h := counted(t, c, "providers:"+counting("house", tt.dialect, tt.prefix, tt.way)+pricesOf("house"), 3000)
			if r := h.Do(tt.ask); r.Status != 200 {
				t.Fatalf("got %d %s, want 200; %d counts", r.Status, r.Body, c.asked())
			}
			if c.asked() != 1 {
				t.Fatalf("counted %d times, want once", c.asked())
			}
			question := c.bodies[0]
			for _, name := range tt.sent {
				if !rawjson.Present(rawjson.Get(question, name)) {
					t.Errorf("the question has no %s: %.200s", name, question)
				}
			}
			for _, name := range tt.left {
				if rawjson.Present(rawjson.Get(question, name)) {
					t.Errorf("the question has %s: %.200s", name, question)
				}
			}
			if !bytes.Contains(question, []byte(passages)) || !bytes.Contains(question, []byte("Be brief.")) {
				t.Errorf("the counted body is not the sent one: %.200s", question)
			}
			if err := h.Stop(); err != nil {
				t.Fatal(err)
			}
			h.Verify(t)
			if got, least := spent(h, t), llm.Money(truly)*perToken; got < least || got > 3000*perToken {
				t.Errorf("spent $%s, want at least $%s and no more than the budget", got, least)
			}
		})
	}
}

// TestOwnCounterFails checks that a request is refused, as without a counter, if none is configured or if it returns no
// usable figure; and that a figure above the bound does not count.
func TestOwnCounterFails(t *testing.T) {
	t.Parallel()
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name, way string
		instead   http.HandlerFunc
		asked     int
	}{
		{"none", "none", nil, 0},
		{"of another wire format", "bedrock", nil, 0},
		{"unknown path", "anthropic", say(404, `{"type":"error","error":{"type":"not_found_error","message":"no"}}`), 1},
		{"too many", "anthropic", say(429, `{}`), 1},
		{"broken", "anthropic", say(500, `{}`), 1},
		{"no count", "anthropic", say(200, `{}`), 1},
		{"no number", "anthropic", say(200, `{"input_tokens":"5"}`), 1},
		{"below 0", "anthropic", say(200, `{"input_tokens":-5}`), 1},
		{"garbage", "anthropic", say(200, `{"input_tokens":5`), 1},
		{"endless", "anthropic", say(200, `{"input_tokens":5,"x":"`+strings.Repeat("x", 2<<20)+`"}`), 1},
		{"too high", "anthropic", say(200, `{"input_tokens":90000}`), 1},
		{"beyond all", "anthropic", say(200, `{"input_tokens":9223372036854775807}`), 1},
		{"silent", "anthropic", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &counter{path: countTokensPath, instead: tt.instead}
			h := counted(t, c, "providers:"+counting("house", "anthropic", "/v1", tt.way)+pricesOf("house"), 3000)
			r := h.Do(asking("house/chat:tokens=5"))
			if r.Status != 429 || !strings.Contains(r.Body, "insufficient_quota") || c.asked() != tt.asked {
				t.Errorf("got %d %s after %d counts, want a refusal by the budget after %d", r.Status, r.Body, c.asked(), tt.asked)
			}
			if n := len(c.up.Records(t)); n != 0 {
				t.Errorf("the provider got %d requests", n)
			}
		})
	}
}

// TestOwnCounterIsUsedNearRefusals checks that nothing is counted if the bound fits, if even the smallest count would
// not fit, if the budget is spent, or without a budget.
func TestOwnCounterIsUsedNearRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		tokens         int64 // of the budget; 0 for none
		ask            harness.Ask
		status, counts int
	}{
		{"no budget", 0, asking("house/chat:tokens=5"), 200, 0},
		{"ample", 20_000, asking("house/chat:tokens=5"), 200, 0},
		{"near", 3000, asking("house/chat:tokens=5"), 200, 1},
		{"counted, and too much all the same", 2000, asking("house/chat:tokens=5"), 429, 1},
		{"far too little", 700, asking("house/chat:tokens=5"), 429, 0},
		{"an image that the body does not show", 3000, harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/chat","max_tokens":9,"messages":[{"role":"user","content":` +
			`[{"type":"text","text":"` + passages + `"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`}, 429, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &counter{path: countTokensPath}
			h := counted(t, c, "providers:"+counting("house", "anthropic", "/v1", "anthropic")+pricesOf("house"), tt.tokens)
			if r := h.Do(tt.ask); r.Status != tt.status || c.asked() != tt.counts {
				t.Errorf("got %d %s after %d counts, want %d after %d", r.Status, r.Body, c.asked(), tt.status, tt.counts)
			}
			if tt.tokens == 3000 && tt.counts == 1 { // the rest covers no more
				for range 20 {
					if r := h.Do(tt.ask); r.Status != 429 {
						t.Errorf("got %d %s where the budget is spent", r.Status, r.Body)
					}
				}
				if c.asked() != 1 {
					t.Errorf("%d counts where the budget is spent", c.asked()-1)
				}
			}
		})
	}
}

// TestOwnCounterIsUsedOnce checks that a request is counted at one of its targets at most, and that a key has one
// count at a time: a hundred concurrent requests do not cause a hundred counts.
func TestOwnCounterIsUsedOnce(t *testing.T) {
	t.Parallel()
	all := make(chan struct{})
	c := &counter{path: countTokensPath, instead: func(w http.ResponseWriter, _ *http.Request) {
		<-all
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":90000}`)
	}}
	yaml := "providers:" + counting("house", "anthropic", "/v1", "anthropic") + counting("other", "anthropic", "/v1", "anthropic") + pricesOf("house", "other") +
		"aliases:\n  both: {targets: [\"house/chat:tokens=5\", \"other/chat:tokens=5\"], strategy: fallback}\n"
	h := counted(t, c, yaml, 3000)
	var clients sync.WaitGroup
	refused := make(chan struct{}, 100)
	for range 100 {
		clients.Go(func() {
			if r := h.Do(asking("both")); r.Status != 429 {
				t.Errorf("got %d %s, want 429", r.Status, r.Body)
			}
			refused <- struct{}{}
		})
	}
	for range 99 { // while one of them waits for its count
		<-refused
	}
	close(all)
	clients.Wait()
	if n := c.asked(); n != 1 || c.most != 1 {
		t.Errorf("%d counts, %d at once, want 1", n, c.most)
	}
	if n := len(c.up.Records(t)); n != 0 {
		t.Errorf("the providers got %d requests for a count", n)
	}
}

// TestOwnCounterThatReportsTooLittle checks that a counter that reports too little has a request served, that its true
// cost is booked and the next one refused: at least a quarter of the bound is held.
func TestOwnCounterThatReportsTooLittle(t *testing.T) {
	t.Parallel()
	c := &counter{path: countTokensPath, instead: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":1}`)
	}}
	h := counted(t, c, "providers:"+counting("house", "anthropic", "/v1", "anthropic")+pricesOf("house"), 2000)
	if r := h.Do(asking("house/chat:tokens=5")); r.Status != 200 {
		t.Fatalf("got %d %s, want 200", r.Status, r.Body)
	}
	if r := h.Do(asking("house/chat:tokens=5")); r.Status != 429 || c.asked() != 1 {
		t.Errorf("got %d %s after %d counts, want 429 after 1", r.Status, r.Body, c.asked())
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	h.Verify(t)
	if got := spent(h, t); got <= 2000*perToken || got < truly*perToken {
		t.Errorf("spent $%s, want the true cost: more than the budget of $%s", got, 2000*perToken)
	}
}
