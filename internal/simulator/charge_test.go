package simulator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/simulator"
)

// TestAfterChargesSentPart checks that a broken answer is charged up to the sent part, or whole, depending on the model
// name.
func TestAfterChargesSentPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body              string
		leaves            time.Duration
		outcome           simulator.Outcome
		output, reasoning int64 // of the whole; with after=stop less
	}{
		{stream("chat:tokens=50,pace=20ms,reasoning=9,after=KIND"), impatience, simulator.ClientGone, 50, 9},
		{whole("chat:tokens=50,pace=20ms,after=KIND"), impatience, simulator.ClientGone, 50, 0},
		{whole("chat:tokens=50,ttft=30s,after=KIND"), impatience, simulator.ClientGone, 50, 0},
		{stream("chat:tokens=50,late=30s,after=KIND"), impatience, simulator.ClientGone, 50, 0},
		{stream("reason:tokens=50,reasoning=70,fault=cut,at=3,after=KIND"), patience, simulator.Cut, 50, 70},
		{stream("chat:tokens=50,fault=error-event,after=KIND"), patience, simulator.Cut, 50, 0},
		{whole("chat:tokens=50,fault=reset,after=KIND"), patience, simulator.Cut, 50, 0},
		{whole("chat:tokens=50,fault=silence,after=KIND"), impatience, simulator.Silent, 50, 0},
		{whole("chat:tokens=50,status=500,after=KIND"), patience, simulator.Rejected, 0, 0},
	} {
		for _, kind := range []string{"stop", "bill"} {
			s := newSimulator(t, simulator.Options{})
			for _, w := range ways(t, s) {
				body := strings.Replace(c.body, "KIND", kind, 1)
				w.askFor(c.leaves, body)
				got := settled(t, s)
				if got.Outcome != c.outcome {
					t.Errorf("%s: %s: got %+v, want %s", w.name, body, got, c.outcome)
				}
				whole := got.Usage[llm.Output] == c.output && got.Usage[llm.Reasoning] == c.reasoning && (got.Usage[llm.Input] > 0) == (c.output > 0)
				if kind == "bill" && !whole {
					t.Errorf("%s: %s: got %v, want all of it", w.name, body, got.Usage)
				}
				if kind == "stop" && got.Usage[llm.Output]+got.Usage[llm.Reasoning] != got.Pieces+hidden(c.body, got) {
					t.Errorf("%s: %s: got %v of %d pieces, want the sent part", w.name, body, got.Usage, got.Pieces)
				}
			}
		}
	}
}

// hidden returns the unreported thinking at the beginning of an answer.
func hidden(body string, got simulator.Record) int64 {
	if strings.Contains(body, "reasoning=9,") && got.Usage[llm.Input] > 0 {
		return 9
	}
	return 0
}

// TestChargesAreReported checks that files, searches, the tier and the provider's own cost are charged, and reported if
// the wire format has a place for them.
func TestChargesAreReported(t *testing.T) {
	t.Parallel()
	const picture = `{"model":"chat:files=900","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`
	const searching = `{"model":"chat:search=3","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}]}`
	const searchless = `{"model":"chat:search=3","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`
	cost := llm.USD / 8
	for _, c := range []struct {
		path, body, told string
		usage            map[llm.Class]int64
		tier             string
		cost             *llm.Money
	}{
		{path: "/v1/chat/completions", body: picture, usage: map[llm.Class]int64{llm.Input: 907}},
		{path: "/v1/messages", body: searching, usage: map[llm.Class]int64{llm.Searches: 2}, told: `"web_search_requests":2`},
		{path: "/v1/messages", body: searchless, usage: map[llm.Class]int64{llm.Searches: 0}},
		{path: "/v1/chat/completions", body: whole("chat:tier=priority,cost=0.125"), tier: "priority", cost: &cost, told: `"service_tier":"priority"`},
		{path: "/v1/chat/completions", body: stream("chat:cost=0.125"), cost: &cost, told: `"cost":0.125`},
	} {
		s := newSimulator(t, simulator.Options{})
		for _, w := range ways(t, s) {
			for range 2 { // the second one may be remembered
				heard := w.askAt(context.Background(), c.path, c.body)
				got := settled(t, s)
				for class, n := range c.usage {
					if got.Usage[class] != n {
						t.Errorf("%s: %s: got %v, want %d of %s", w.name, c.body, got.Usage, n, class)
					}
				}
				if got.Tier != c.tier || (got.Cost == nil) != (c.cost == nil) || got.Cost != nil && *got.Cost != *c.cost {
					t.Errorf("%s: %s: got tier %q and cost %v, want %q and %v", w.name, c.body, got.Tier, got.Cost, c.tier, c.cost)
				}
				if !strings.Contains(heard.body, c.told) {
					t.Errorf("%s: %s: got %s, want it to say %s", w.name, c.body, heard.body, c.told)
				}
			}
		}
	}
}
