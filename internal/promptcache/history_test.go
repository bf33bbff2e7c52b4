package promptcache_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/promptcache"
	"weir/internal/simulator"
)

// history is a conversation with one provider that goes wrong at random, and the account of a simulator that caches.
type history struct {
	rng    *rand.Rand
	format string
	models []string
	mark   string // the marks' lifetime; empty for none
	sim    *simulator.Server
	now    time.Time
	words  int // words of texts so far, so that no two texts are equal

	tools, system string
	messages      []string
	model, key    int
}

// formats are wire formats with prompt caches, with their paths.
var formats = map[string]string{
	"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages",
	"bedrock": "/model/%s/converse", "gemini": "/v1beta/models/%s:generateContent",
}

func newHistory(seed uint64) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	h.format = []string{"openai", "responses", "anthropic", "bedrock", "gemini"}[h.rng.IntN(5)]
	h.models = [][]string{
		{"chat:tokens=1", "chat:tokens=2"},
		{"claude-opus-4-5/chat:tokens=1", "claude-opus-5/chat:tokens=1"},
		{"gpt-5.6/chat:tokens=1", "gemini-2.5-flash/chat:tokens=1"},
	}[h.rng.IntN(3)]
	h.mark = []string{"5m", "1h"}[h.rng.IntN(2)]
	h.sim = simulator.New(simulator.Options{
		Dialects: registrytest.All(), PromptCache: true, Clock: func() time.Time { return h.now },
	})
	h.tools, h.system, h.messages = h.text(300), h.text(3000), []string{h.text(1500)}
	return h
}

// text returns a text of at most so many tokens that is like no other.
func (h *history) text(most int) string {
	var b strings.Builder
	for range 20 + h.rng.IntN(most) {
		h.words++
		fmt.Fprintf(&b, "%03x ", h.words%0xfff)
	}
	fmt.Fprintf(&b, "%x", h.words)
	return b.String()
}

// happens reports whether something of that probability in percent happens.
func (h *history) happens(percent int) bool { return h.rng.IntN(100) < percent }

// turn changes the conversation at random, and adds a message to it, nearly always.
func (h *history) turn() {
	switch last := len(h.messages) - 1; {
	case h.happens(10):
		h.messages[last] = h.text(1500) // another question
		return
	case h.happens(8):
		return // the same again
	case last >= 4 && h.happens(15):
		h.messages[h.rng.IntN(last-1)] = h.text(1500)
	case last >= 6 && h.happens(15):
		h.messages = append(h.messages[:1:1], h.messages[3:]...) // the oldest are left out
	case h.happens(6):
		h.system = h.text(1500)
	case h.happens(6):
		h.tools = h.text(300)
	}
	h.messages = append(h.messages, h.text(200), h.text(1500))
}

// wait lets time pass.
func (h *history) wait() {
	h.now = h.now.Add(time.Duration(h.rng.IntN(100)) * time.Second)
	switch {
	case h.happens(8):
		h.now = h.now.Add(time.Duration(5+h.rng.IntN(30)) * time.Minute)
	case h.happens(2):
		h.now = h.now.Add(65 * time.Minute)
	}
}

// body returns the request of the conversation so far. With marks it has one behind the system prompt and one behind
// the last message.
func (h *history) body(marked bool) string {
	q := strconv.Quote // texts are ASCII
	mark, point := "", ""
	if marked {
		mark = fmt.Sprintf(`,"cache_control":{"type":"ephemeral","ttl":%q}`, h.mark)
		point = fmt.Sprintf(`,{"cachePoint":{"type":"default","ttl":%q}}`, h.mark)
	}
	tool := q(h.tools)
	var list []string
	for i, text := range h.messages {
		role, isLast := []string{"user", "assistant"}[i%2], i == len(h.messages)-1
		if isLast {
			role = "user"
		}
		message := fmt.Sprintf(`{"role":%q,"content":%s}`, role, q(text))
		switch {
		case h.format == "bedrock" && isLast:
			message = fmt.Sprintf(`{"role":%q,"content":[{"text":%s}%s]}`, role, q(text), point)
		case h.format == "bedrock":
			message = fmt.Sprintf(`{"role":%q,"content":[{"text":%s}]}`, role, q(text))
		case h.format == "gemini":
			role = strings.Replace(role, "assistant", "model", 1)
			message = fmt.Sprintf(`{"role":%q,"parts":[{"text":%s}]}`, role, q(text))
		case (h.format == "anthropic" || h.format == "openai") && isLast:
			message = fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%s%s}]}`, role, q(text), mark)
		}
		list = append(list, message)
	}
	all, model := strings.Join(list, ","), q(h.models[h.model])
	switch h.format {
	case "anthropic":
		return fmt.Sprintf(`{"model":%s,"max_tokens":9,"tools":[{"name":"t","description":%s,"input_schema":{"type":"object"}}],`+
			`"system":[{"type":"text","text":%s%s}],"messages":[%s]}`, model, tool, q(h.system), mark, all)
	case "bedrock":
		return fmt.Sprintf(`{"toolConfig":{"tools":[{"toolSpec":{"name":"t","description":%s,"inputSchema":{"json":{"type":"object"}}}}]},`+
			`"system":[{"text":%s}%s],"messages":[%s]}`, tool, q(h.system), point, all)
	case "gemini":
		return fmt.Sprintf(`{"tools":[{"functionDeclarations":[{"name":"t","description":%s}]}],`+
			`"systemInstruction":{"parts":[{"text":%s}]},"contents":[%s]}`, tool, q(h.system), all)
	case "responses":
		return fmt.Sprintf(`{"model":%s,"tools":[{"type":"function","name":"t","description":%s,"parameters":{"type":"object"}}],`+
			`"instructions":%s,"input":[%s]}`, model, tool, q(h.system), all)
	}
	return fmt.Sprintf(`{"model":%s,"tools":[{"type":"function","function":{"name":"t","description":%s}}],`+
		`"messages":[{"role":"system","content":%s},%s]}`, model, tool, q(h.system), all)
}

// ask sends a request to the simulator and returns its record.
func (h *history) ask(t *testing.T, body string) (record simulator.Record) {
	t.Helper()
	path := strings.Replace(formats[h.format], "%s", strings.ReplaceAll(h.models[h.model], "/", "%2F"), 1)
	r := must.Get(http.NewRequest(http.MethodPost, "http://simulator"+path, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", fmt.Sprint("Bearer key ", h.key))
	r.Header.Set("Content-Type", "application/json")
	resp := must.Get(h.sim.RoundTripper().RoundTrip(r))(t)
	defer resp.Body.Close()
	answer := must.Get(io.ReadAll(resp.Body))(t)
	for r := range h.sim.Ledger().Records(0) {
		record = r
	}
	if record.Status != http.StatusOK || record.Reported == nil {
		t.Fatalf("POST %s: %s %+v", path, answer, record)
	}
	return record
}

// missed holds the tokens that a request missed, by both accounts.
type missed struct{ got, want promptcache.Miss }

// play plays a history of ten requests. blind does not tell the memory which key and model a request had.
func (h *history) play(t *testing.T, memory *promptcache.Memory, id uint64, blind bool) (list []missed) {
	for range 10 {
		if h.happens(10) {
			h.key = 1 - h.key
		}
		if h.happens(6) {
			h.model = 1 - h.model
		}
		h.wait()
		body := h.body(!h.happens(12))
		u := h.ask(t, body)
		rule, _ := promptcache.RuleOf(h.format, h.models[h.model])
		sent := promptcache.Sent{
			Account: "a", Conversation: id, Target: h.models[h.model], Key: h.key, Rule: rule, Body: []byte(body),
			Sent: []byte(body), Total: u.Usage.InputTokens(), Read: u.Usage[llm.CacheRead],
			Written: u.Usage[llm.CacheWrite] + u.Usage[llm.CacheWrite1h], At: h.now,
		}
		if blind {
			sent.Target, sent.Key = "t", 0
		}
		m := missed{got: memory.Look(&sent)}
		if u.Missed != nil {
			m.want = promptcache.Miss{Tokens: u.Missed.Tokens, Cause: promptcache.Cause(u.Missed.Cause), Message: u.Missed.Place}
		}
		list = append(list, m)
		h.turn()
	}
	return list
}

// TestMissesEqualTheProvidersOwnAccount plays random histories of conversations with a simulator that caches prompts as
// the vendors do, and compares what the memory says with the simulator's own account. Both see the same requests; only
// the simulator knows its cache.
func TestMissesEqualTheProvidersOwnAccount(t *testing.T) {
	t.Parallel()
	const histories = 1000
	memory, blind := promptcache.NewMemory(), promptcache.NewMemory()
	causes, different := map[promptcache.Cause]int{}, 0
	for seed := range uint64(histories) {
		for i, m := range newHistory(seed).play(t, memory, seed+1, false) {
			if m.got != m.want {
				t.Errorf("history %d, request %d: missed %+v, the provider says %+v", seed, i, m.got, m.want)
			}
			if m.got.Tokens > 0 {
				causes[m.got.Cause]++
			}
		}
		if seed >= histories/20 {
			continue
		}
		for _, m := range newHistory(seed).play(t, blind, seed+1, true) {
			if m.got != m.want {
				different++
			}
		}
	}
	t.Log("misses by cause:", causes)
	for _, cause := range promptcache.Causes() {
		if causes[cause] < 100 && cause != promptcache.MarkDropped && cause != promptcache.Unknown {
			t.Errorf("cause %s: %d misses, want at least 100", cause, causes[cause])
		}
	}
	if different == 0 {
		t.Error("without keys and models the memory says the same: the test shows nothing")
	}
}
