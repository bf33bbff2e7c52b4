package simulator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/simulator"
)

// cacheClient sends chats to a simulator with a prompt cache, whose clock it sets.
type cacheClient struct {
	t   *testing.T
	way way
	sim *simulator.Server
	now time.Time
}

func newCacheClient(t *testing.T) *cacheClient {
	c := &cacheClient{t: t, now: epoch}
	c.sim = newSimulator(t, simulator.Options{PromptCache: true, Clock: func() time.Time { return c.now }})
	c.way = ways(t, c.sim)[1]
	return c
}

// words returns a text of so many tokens that only this name has.
func words(name string, tokens int) string {
	return strings.Repeat(fmt.Sprintf("%-4.4s", name), tokens)
}

// ask sends a body with a key, and returns the input by class and the missed tokens.
func (c *cacheClient) ask(path, key, body string) (usage [4]int64, missed *simulator.Miss) {
	c.t.Helper()
	a := c.way.askAt(context.Background(), path, body, "Authorization", "Bearer "+key, "Content-Type", "application/json")
	if a.status != 200 {
		c.t.Fatalf("POST %s: %d %s %v", path, a.status, a.body, a.err)
	}
	var last simulator.Record
	for r := range c.sim.Ledger().Records(0) {
		last = r
	}
	if last.Reported == nil || *last.Reported != last.Usage {
		c.t.Errorf("reported %v, used %v", last.Reported, last.Usage)
	}
	u := last.Usage
	return [4]int64{u[llm.Input], u[llm.CacheRead], u[llm.CacheWrite], u[llm.CacheWrite1h]}, last.Missed
}

// chat returns a chat in OpenAI's format.
func chatOf(model string, texts ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"messages":[`, model)
	for i, text := range texts {
		role := []string{"user", "assistant"}[i%2]
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":%q,"content":%q}`, role, text)
	}
	return b.String() + "]}"
}

// marked returns a message of Anthropic's format with a mark; ttl may be empty.
func marked(role, text, ttl string) string {
	if ttl != "" {
		ttl = `,"ttl":"` + ttl + `"`
	}
	return fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"%s}}]}`,
		role, text, ttl)
}

func plain(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func messagesOf(model string, messages ...string) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[%s]}`, model, strings.Join(messages, ","))
}

const (
	atOpenAI    = "/v1/chat/completions"
	atAnthropic = "/v1/messages"
)

func TestAutomaticCacheReadsStepsOfOneKey(t *testing.T) {
	t.Parallel()
	first, answer := words("a", 1500), words("b", 100)
	long := chatOf("chat", first, answer, words("c", 100))
	for _, tt := range []struct {
		name       string
		key, body  string
		after      time.Duration
		want       [4]int64
		wantMissed *simulator.Miss
	}{
		{"the same key", "k1", long, time.Minute, [4]int64{1715 - 1408, 1408, 0, 0}, nil},
		{"another key", "k2", long, time.Minute, [4]int64{1715, 0, 0, 0}, &simulator.Miss{Tokens: 1408, Cause: simulator.MissKey}},
		{
			"too late", "k1", long, 20 * time.Minute,
			[4]int64{1715, 0, 0, 0},
			&simulator.Miss{Tokens: 1408, Cause: simulator.MissExpired},
		},
		{
			"another model", "k1", strings.Replace(long, `"chat"`, `"chat:tokens=3"`, 1), time.Minute,
			[4]int64{1715, 0, 0, 0},
			&simulator.Miss{Tokens: 1408, Cause: simulator.MissModel},
		},
		{"something else", "k1", chatOf("chat", words("d", 1500)), time.Minute, [4]int64{1507, 0, 0, 0}, nil},
	} {
		c := newCacheClient(t)
		if got, missed := c.ask(atOpenAI, "k1", chatOf("chat", first)); got != [4]int64{1507, 0, 0, 0} || missed != nil {
			t.Errorf("%s: first request: %v, missed %v", tt.name, got, missed)
		}
		c.now = c.now.Add(tt.after)
		got, missed := c.ask(atOpenAI, tt.key, tt.body)
		if got != tt.want || !cmp.Equal(missed, tt.wantMissed) {
			t.Errorf("%s: input, read, written, written 1h: got %v, missed %+v; want %v, %+v", tt.name, got, missed,
				tt.want, tt.wantMissed)
		}
	}
}

func TestAutomaticCacheStoresNoShortPrompt(t *testing.T) {
	t.Parallel()
	c := newCacheClient(t)
	first := words("a", 900)
	c.ask(atOpenAI, "k", chatOf("chat", first))
	got, missed := c.ask(atOpenAI, "k", chatOf("chat", first, "b", "c"))
	want := &simulator.Miss{Tokens: 896, Cause: simulator.MissTooShort}
	if got[1] != 0 || !cmp.Equal(missed, want) {
		t.Errorf("read %d, missed %+v, want 0, %+v", got[1], missed, want)
	}
}

func TestAutomaticCacheChargesWritesOfNewModels(t *testing.T) {
	t.Parallel()
	c := newCacheClient(t)
	got, _ := c.ask(atOpenAI, "k", chatOf("gpt-5.6/chat", words("a", 1500)))
	if want := [4]int64{1507 - 1408, 0, 1408, 0}; got != want {
		t.Errorf("input, read, written, written 1h: got %v, want %v", got, want)
	}
}

func TestChangedMessageLosesWhatFollows(t *testing.T) {
	t.Parallel()
	a, b, d, e := words("a", 1200), words("b", 600), words("d", 900), words("e", 200)
	for _, tt := range []struct {
		name       string
		body       string
		wantRead   int64
		wantMissed *simulator.Miss
	}{
		{
			"second message", chatOf("chat", a, words("x", 600), d, e, "f"), 1152,
			&simulator.Miss{Tokens: 2688 - 1152, Cause: simulator.MissChanged, Place: 2},
		},
		{"last message, which nothing follows", chatOf("chat", a, b, words("x", 900)), 1792, nil},
		{"nothing", chatOf("chat", a, b, d, e, "f"), 2688, nil},
	} {
		c := newCacheClient(t)
		c.ask(atOpenAI, "k", chatOf("chat", a, b, d))
		got, missed := c.ask(atOpenAI, "k", tt.body)
		if got[1] != tt.wantRead || !cmp.Equal(missed, tt.wantMissed) {
			t.Errorf("%s: read %d, missed %+v, want %d, %+v", tt.name, got[1], missed, tt.wantRead, tt.wantMissed)
		}
	}
}

func TestMarkedCacheReadsUpToMarks(t *testing.T) {
	t.Parallel()
	first, more := words("a", 1500), words("c", 100)
	for _, tt := range []struct {
		name          string
		before, after []string
		wait          time.Duration
		want          [4]int64
		missed        *simulator.Miss
	}{
		{
			"marks on the last message",
			[]string{marked("user", first, "")},
			[]string{plain("user", first), plain("assistant", "b"), marked("user", more, "")},
			4 * time.Minute,
			[4]int64{0, 1507, 109, 0},
			nil,
		},
		{
			"no mark before",
			[]string{plain("user", first)},
			[]string{plain("user", first), plain("assistant", "b"), marked("user", more, "")},
			time.Minute,
			[4]int64{0, 0, 1616, 0},
			&simulator.Miss{Tokens: 1507, Cause: simulator.MissNoMark},
		},
		{
			"no mark now",
			[]string{marked("user", first, "")},
			[]string{plain("user", first), plain("assistant", "b"), plain("user", more)},
			time.Minute,
			[4]int64{1616, 0, 0, 0},
			&simulator.Miss{Tokens: 1507, Cause: simulator.MissNoMark},
		},
		{
			"expired",
			[]string{marked("user", first, "")},
			[]string{plain("user", first), plain("assistant", "b"), marked("user", more, "")},
			5 * time.Minute,
			[4]int64{0, 0, 1616, 0},
			&simulator.Miss{Tokens: 1507, Cause: simulator.MissExpired},
		},
		{
			"an hour",
			[]string{marked("user", first, "1h")},
			[]string{marked("user", first, "1h"), plain("assistant", "b"), marked("user", more, "")},
			59 * time.Minute,
			[4]int64{0, 1507, 109, 0},
			nil,
		},
	} {
		c := newCacheClient(t)
		c.ask(atAnthropic, "k", messagesOf("chat", tt.before...))
		c.now = c.now.Add(tt.wait)
		got, missed := c.ask(atAnthropic, "k", messagesOf("chat", tt.after...))
		if got != tt.want || !cmp.Equal(missed, tt.missed) {
			t.Errorf("%s: input, read, written, written 1h: got %v, missed %+v; want %v, %+v", tt.name, got, missed,
				tt.want, tt.missed)
		}
	}
}

func TestMarkLooksBackOverTwentyBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		blocks   int // after the stored ones
		wantRead int64
	}{{19, 1507}, {20, 0}} {
		c := newCacheClient(t)
		first := words("a", 1500)
		c.ask(atAnthropic, "k", messagesOf("chat", marked("user", first, "")))
		next := []string{plain("user", first)}
		for i := range tt.blocks - 1 {
			next = append(next, plain([]string{"assistant", "user"}[i%2], "b"))
		}
		got, _ := c.ask(atAnthropic, "k", messagesOf("chat", append(next, marked("user", "c", ""))...))
		if got[1] != tt.wantRead {
			t.Errorf("%d blocks: read %d, want %d", tt.blocks, got[1], tt.wantRead)
		}
	}
}

func TestMarksAreBounded(t *testing.T) {
	t.Parallel()
	c := newCacheClient(t)
	for name, messages := range map[string][]string{
		"five marks": {
			marked("user", "a", ""), marked("assistant", "b", ""), marked("user", "c", ""), marked("assistant", "d", ""),
			marked("user", "e", ""),
		},
		"an hour behind five minutes": {marked("user", "a", ""), marked("assistant", "b", "1h"), plain("user", "c")},
	} {
		a := c.way.askAt(context.Background(), atAnthropic, messagesOf("chat", messages...), "Content-Type",
			"application/json")
		if a.status != 400 || !strings.Contains(a.body, "cache_control") {
			t.Errorf("%s: %d %s, want 400", name, a.status, a.body)
		}
	}
}

func TestEveryWireFormatReportsItsCache(t *testing.T) {
	t.Parallel()
	text := words("a", 5000)
	for _, tt := range []struct {
		path, body string
		reports    string
	}{
		{atOpenAI, chatOf("chat", text), `"cached_tokens":4992`},
		{"/v1/responses", fmt.Sprintf(`{"model":"chat","input":%q}`, text), `"cached_tokens":4992`},
		{atAnthropic, messagesOf("chat", marked("user", text, "")), `"cache_read_input_tokens":5007`},
		{
			"/v1/messages", `{"model":"chat","max_tokens":9,"cache_control":{"type":"ephemeral"},"messages":[` +
				plain("user", text) + "]}", `"cache_read_input_tokens":5007`,
		},
		{
			"/v1beta/models/chat:generateContent", fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}]}`, text),
			`"cachedContentTokenCount":4992`,
		},
		{
			"/model/chat/converse",
			fmt.Sprintf(`{"messages":[{"role":"user","content":[{"text":%q},{"cachePoint":{"type":"default"}}]}]}`, text),
			`"cacheReadInputTokens":5007`,
		},
		{atOpenAI, messagesOf("anthropic/claude-sonnet-4.5/chat", marked("user", text, "")), `"cached_tokens":5007`},
	} {
		c := newCacheClient(t)
		for range 2 {
			c.ask(tt.path, "k", tt.body)
		}
		a := c.way.askAt(context.Background(), tt.path, tt.body, "Authorization", "Bearer k", "Content-Type",
			"application/json")
		if !strings.Contains(strings.ReplaceAll(a.body, " ", ""), tt.reports) {
			t.Errorf("POST %s: got %s, want %s", tt.path, a.body, tt.reports)
		}
	}
}

func TestLedgerShowsMissesByCause(t *testing.T) {
	t.Parallel()
	c := newCacheClient(t)
	body := chatOf("chat", words("a", 1500))
	for _, key := range []string{"k1", "k2"} {
		c.ask(atOpenAI, key, body)
	}
	for path, want := range map[string]string{
		"/ledger":        `"missed":{"tokens":1408,"cause":"other_key"}`,
		"/ledger/totals": `"missed":{"other_key":1408}`,
	} {
		if got := c.way.get(t, path); !strings.Contains(got, want) {
			t.Errorf("GET %s: got %s, want %s in it", path, got, want)
		}
	}
}

func TestWithoutSettingNothingIsCached(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	w := ways(t, s)[1]
	for range 2 {
		w.ask(chatOf("chat", words("a", 1500)))
	}
	if totals := s.Ledger().Totals(); totals.Usage[llm.CacheRead] != 0 || totals.Missed != nil {
		t.Errorf("got %+v, want nothing of a cache", totals)
	}
}

func TestStoredContentIsReadByItsKey(t *testing.T) {
	t.Parallel()
	c := newCacheClient(t)
	stored := fmt.Sprintf(`{"model":"models/chat","ttl":"600s","contents":[{"role":"user","parts":[{"text":%q}]}]}`,
		words("a", 5000))
	post := func(path, key, body string) heard {
		return c.way.askAt(context.Background(), path, body, "X-Goog-Api-Key", key, "Content-Type", "application/json")
	}
	made := post("/v1beta/cachedContents", "k1", stored)
	name := rawjson.Text(rawjson.Get([]byte(made.body), "name"))
	if made.status != 200 || name == "" || !strings.Contains(made.body, `"totalTokenCount":5007`) {
		t.Fatalf("created: %d %s", made.status, made.body)
	}
	ask := fmt.Sprintf(`{"cachedContent":%q,"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}`, name)
	const at = "/v1beta/models/chat:generateContent"
	if a := post(at, "k1", ask); a.status != 200 || !strings.Contains(a.body, `"cachedContentTokenCount":5007`) {
		t.Errorf("by its key: %d %s", a.status, a.body)
	}
	if a := post(at, "k2", ask); a.status != 403 {
		t.Errorf("by another key: %d %s, want 403", a.status, a.body)
	}
	if a := post("/v1beta/cachedContents", "k1", strings.Replace(stored, words("a", 5000), "a", 1)); a.status != 400 {
		t.Errorf("a short content: %d %s, want 400", a.status, a.body)
	}
	c.now = c.now.Add(10 * time.Minute)
	if a := post(at, "k1", ask); a.status != 403 {
		t.Errorf("after its lifetime: %d %s, want 403", a.status, a.body)
	}
}
