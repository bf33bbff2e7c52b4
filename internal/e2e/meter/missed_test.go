package meter_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/promptcache"
	"weir/internal/report"
	"weir/internal/simulator"
)

// cacheYAML has two providers that cache prompts, with two keys each, and aliases with and without affinity. Reading
// costs a tenth.
func cacheYAML(url string) string {
	const rates = `{input: "3", output: "15", cache_read: "0.3", cache_write: "3.75", cache_write_1h: "6"}`
	provider := func(name, dialect string) string {
		return fmt.Sprintf("  %s: {dialect: %s, base_url: %q, allow_private: true, api_keys: [one, two], retries: 0}\n",
			name, dialect, url+"/v1")
	}
	return "providers:\n" + provider("auto", "openai") + provider("marked", "anthropic") + `aliases:
  auto: {targets: [auto/chat]}
  auto-none: {targets: [auto/chat], affinity: none}
  marked: {targets: [marked/chat]}
  marked-none: {targets: [marked/chat], affinity: none}
prices: {auto/*: ` + rates + ", marked/*: " + rates + "}\n"
}

// talk is a conversation that changes at random.
type talk struct {
	rng      *rand.Rand
	name     string
	system   string
	messages []string
	words    int
}

func (c *talk) text(most int) string {
	var b strings.Builder
	for range 50 + c.rng.IntN(most) {
		c.words++
		fmt.Fprintf(&b, "%s%03x ", c.name, c.words)
	}
	return b.String()
}

// turn changes an earlier part of the conversation, or nothing, and adds a message.
func (c *talk) turn() {
	switch n := c.rng.IntN(10); {
	case n == 0:
		c.system = c.text(1000)
	case n < 3 && len(c.messages) > 2:
		c.messages[c.rng.IntN(len(c.messages)-1)] = c.text(600)
	}
	c.messages = append(c.messages, c.text(600), c.text(600))
}

// body returns a chat of Messages or, with the same members, of Chat Completions.
func (c *talk) body(model string, marked bool) string {
	var list []string
	for i, text := range c.messages {
		mark := ""
		if marked && i == len(c.messages)-1 {
			mark = `,"cache_control":{"type":"ephemeral"}`
		}
		list = append(list, fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q%s}]}`, []string{"user", "assistant"}[i%2],
			text, mark))
	}
	if strings.HasPrefix(model, "marked") {
		return fmt.Sprintf(`{"model":%q,"max_tokens":5,"system":%q,"messages":[%s]}`, model, c.system, strings.Join(list, ","))
	}
	return fmt.Sprintf(`{"model":%q,"max_tokens":5,"messages":[{"role":"system","content":%q},%s]}`, model, c.system,
		strings.Join(list, ","))
}

func openCached(t *testing.T) (*harness.Gateway, *simulator.Server) {
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), PromptCache: true})
	ts := httptest.NewServer(sim)
	t.Cleanup(ts.Close)
	t.Cleanup(sim.Close)
	return harness.Open(t, harness.Setup{YAML: cacheYAML(ts.URL)}), sim
}

// TestRowsSayWhatCachesMissed talks through the gateway with providers that cache prompts, whole and streamed: each row
// says what the provider's own account says, and its cost by the row's own price. With affinity no conversation loses
// its cache to another key; without, as the control, many do. Reports have the sums of the rows.
func TestRowsSayWhatCachesMissed(t *testing.T) {
	t.Parallel()
	h, sim := openCached(t)
	paths := map[string]string{"auto": "/v1/chat/completions", "marked": "/v1/messages"}
	moved := map[string]int{}
	for i, model := range []string{"auto", "auto-none", "marked", "marked-none"} {
		for k := range 6 {
			c := &talk{rng: rand.New(rand.NewPCG(uint64(i), uint64(k))), name: fmt.Sprintf("%c%d", 'a'+i, k)}
			c.system, c.messages = c.text(1500), []string{c.text(600)}
			for turn := range 5 {
				kind, _, _ := strings.Cut(model, "-")
				body := c.body(model, kind == "marked" && c.rng.IntN(5) > 0)
				r := h.Do(harness.Ask{
					Path: paths[kind], Body: strings.Replace(body, "{", fmt.Sprintf(`{"stream":%t,`, turn%2 == 1), 1),
					Header: []string{"X-Session-Id", c.name},
				})
				if r.Status != http.StatusOK {
					t.Fatalf("%s: %d %s", model, r.Status, r.Body)
				}
				c.turn()
			}
		}
	}
	own := map[string]*simulator.Miss{}
	for r := range sim.Ledger().Records(0) {
		own[r.Attempt] = r.Missed
	}
	var sum report.Missed
	harness.Await(t, "all rows", func() bool {
		n := 0
		h.EachEntry(func(*report.Exported) { n++ })
		return n == len(own)
	})
	h.EachEntry(func(e *report.Exported) {
		want := promptcache.Miss{}
		if m := own[e.ID.String()]; m != nil {
			want = promptcache.Miss{Tokens: m.Tokens, Cause: promptcache.Cause(m.Cause), Message: m.Place}
		}
		if e.Missed.Miss != want || e.Missed.Cost != savedBy(&e.Entry) {
			t.Errorf("attempt %s of %s: missed %+v, want %+v for %s", e.ID, e.Requested, e.Missed, want, savedBy(&e.Entry))
		}
		if want.Cause == promptcache.OtherKey {
			moved[e.Requested]++
		}
		causes := promptcache.Causes()
		if at := slices.Index(causes[:], e.Missed.Cause); at >= 0 {
			sum.Tokens += e.Missed.Tokens
			sum.Costs[at] += e.Missed.Cost
		}
	})
	if moved["auto"]+moved["marked"] > 0 || moved["auto-none"] == 0 || moved["marked-none"] == 0 {
		t.Errorf("misses by another key: %v, want some without affinity, and none with it", moved)
	}
	checkReports(t, h, &sum)
	h.Verify(t)
}

// savedBy returns what reading the missed tokens would have saved: they cost 3.45 dollars per million less than
// storing them for five minutes, and 2.70 less than plain input.
func savedBy(e *ledger.Entry) llm.Money {
	stored := min(e.Missed.Tokens, e.Usage[llm.CacheWrite])
	return llm.Money(stored*3450 + (e.Missed.Tokens-stored)*2700)
}

// checkReports checks the sums over all rows at /v1/uses.
func checkReports(t *testing.T, h *harness.Gateway, want *report.Missed) {
	t.Helper()
	var page struct {
		Data []struct {
			Cache struct {
				Read    int64                             `json:"read"`
				Missed  int64                             `json:"missed"`
				Cost    json.Number                       `json:"missed_cost"`
				ByCause map[promptcache.Cause]json.Number `json:"missed_cost_by_cause"`
			} `json:"prompt_cache"`
		} `json:"data"`
	}
	for _, by := range []string{"month", "month,provider", "day,model,key"} {
		r := h.Do(harness.Ask{Path: "/v1/uses?sort=missed_cost&group_by=" + by})
		must.Do(t, json.Unmarshal([]byte(r.Body), &page))
		var got report.Missed
		causes := promptcache.Causes()
		read := int64(0)
		for i := range page.Data {
			c := &page.Data[i].Cache
			got.Tokens += c.Missed
			read += c.Read
			for cause, cost := range c.ByCause {
				got.Costs[slices.Index(causes[:], cause)] += must.Get(llm.ParseMoney(cost.String()))(t)
			}
		}
		if got != *want || read == 0 {
			t.Errorf("by %s: got %+v, %d read; want %+v", by, got, read, *want)
		}
	}
}

// TestDroppedMarkIsNamed sends a marked prompt to a provider that takes marks, through a wire format without them.
func TestDroppedMarkIsNamed(t *testing.T) {
	t.Parallel()
	h, _ := openCached(t)
	c := &talk{rng: rand.New(rand.NewPCG(7, 7)), name: "d"}
	c.system, c.messages = "s", []string{c.text(3000)}
	var id string
	for range 2 {
		body := strings.Replace(c.body("marked", true), `"marked"`, `"auto/anthropic/claude-sonnet-4.5/chat"`, 1)
		r := h.Do(harness.Ask{Path: "/v1/messages", Body: body})
		if r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		id = r.Header.Get("X-Request-Id")
	}
	if e := h.Entry(t, id); e.Missed.Cause != promptcache.MarkDropped || e.Missed.Tokens < 3000 {
		t.Errorf("missed %+v, want the whole prompt by a dropped mark", e.Missed)
	}
}
