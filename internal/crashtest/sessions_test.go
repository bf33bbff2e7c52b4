//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
)

// sessionPrices are the rates of sessionYAML in nano-dollars.
func sessionPrices() *llm.Price {
	p := llm.Price{Version: "sessions"}
	for class, usd := range map[llm.Class]int64{llm.Input: 3, llm.Output: 11, llm.AudioIn: 37, llm.AudioOut: 83} {
		p.Rates[class] = llm.RateOf(usd * 1_000_000)
	}
	return &p
}

// sessionYAML returns a configuration for sessions of both APIs.
func sessionYAML(provider string) string {
	var b strings.Builder
	b.WriteString("drain_timeout: 2s\nproviders:\n")
	const entry = "  %s: {dialect: %s, base_url: \"http://%s/%s\", allow_private: true, api_keys: [one]}\n"
	fmt.Fprintf(&b, entry, "house", "openai", provider, "v1")
	fmt.Fprintf(&b, entry, liveProvider, "gemini", provider, "v1beta")
	b.WriteString("prices:\n")
	for _, name := range []string{"house", liveProvider} {
		fmt.Fprintf(&b, "  %s/*: {input: \"3\", output: \"11\", audio_in: \"37\", audio_out: \"83\"}\n", name)
	}
	b.WriteString("models:\n  house/*: {context: 2000, max_output: 400}\n  sky/*: {context: 2000, max_output: 400}\n")
	return b.String()
}

// talkers open sessions one after the other and want answers.
func talkers(ctx context.Context, n int, g *gate, token, model string, rng *rand.Rand) *sync.WaitGroup {
	var all sync.WaitGroup
	for i := range n {
		seed := rng.Uint64()
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				v, _, err := openVoice(ctx, g.pass(ctx), token, model)
				if err != nil {
					time.Sleep(breath)
					continue
				}
				for turns := 1 + rng.IntN(6); turns > 0 && err == nil && ctx.Err() == nil; turns-- {
					_, err = v.turn(rng)
				}
				v.leave()
			}
		})
	}
	return &all
}

// talked returns the cost of the simulator's records of answers by session, and their number.
func (h *testGateway) talked(dialect string) (cost map[string]llm.Money, n int) {
	h.t.Helper()
	var records []served
	must.Do(h.t, h.get("http://"+h.provider+"/ledger", nil, &records))
	price, cost := sessionPrices(), map[string]llm.Money{}
	for i := range records {
		if u := llm.Usage(records[i].Usage); records[i].Dialect == dialect {
			cost[sessionOf(records[i].Attempt)] += price.Cost(&u, "")
			n++
		}
	}
	return cost, n
}

// sessionOf returns the part of an id that a session shares with its rows.
func sessionOf(id string) string { return id[18:36] }

// TestSessionsSurviveKills kills the gateway in the middle of sessions of the Realtime and the Live API: each answer is
// in the ledger once, and no session's bound is below the provider's account of it.
func TestSessionsSurviveKills(t *testing.T) {
	t.Parallel()
	for api, model := range map[string]string{
		"realtime": "house/echo:sound=1s,pace=5ms", "live": liveProvider + "/echo:sound=1s,pace=5ms",
	} {
		for name, fault := range map[string]string{"Whole": "", "FindsLoss": "journal.skip_write:3"} {
			t.Run(api+name, func(t *testing.T) { killSessions(t, api, model, fault) })
		}
	}
}

// killSessions kills the gateway, which may have a fault that loses records: the control, which has to find that.
func killSessions(t *testing.T, api, model, fault string) {
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := bareGateway(ctx, t, seed, build(t))
	defer h.close()
	rows := h.killUnder(sessionYAML(h.provider), fault, func(ctx context.Context, token string) *sync.WaitGroup {
		return talkers(ctx, 8, h.gate, token, model, h.rng)
	})
	cost, n := h.talked(api)
	b := accountOf(t, rows)
	t.Logf("seed %d: %d answers in %d sessions, %d rows, %d unknown", seed, n, len(cost), len(rows), b.unknown)
	short := b.short(cost)
	if fault != "" {
		if len(short) == 0 {
			t.Errorf("%d rows of %d answers have all, although records were lost", len(rows), n)
		}
		return
	}
	if n == 0 || b.unknown == 0 || b.whole == 0 {
		t.Errorf("%d answers, %d rows of unknown outcome: the load did not have its effect", n, b.unknown)
	}
	for _, problem := range short {
		t.Error(problem)
	}
}

// sessionBooks is the gateway's account of sessions, by the part of an id that their rows share.
type sessionBooks struct {
	cost, most map[string]llm.Money
	unsure     map[string]bool // a row is not exact
	unknown    int             // rows
	whole      int             // rows of answers with an exact cost
}

// accountOf adds up the rows by session.
func accountOf(t *testing.T, rows []row) *sessionBooks {
	t.Helper()
	b := &sessionBooks{cost: map[string]llm.Money{}, most: map[string]llm.Money{}, unsure: map[string]bool{}}
	seen := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		id := r.id.String()
		if seen[id] {
			t.Errorf("attempt %s is in the ledger twice", id)
		}
		of := sessionOf(id)
		seen[id], b.cost[of], b.most[of] = true, b.cost[of]+r.cost, b.most[of]+max(r.cost, r.atMost)
		switch {
		case r.provenance != ledger.Exact:
			b.unsure[of] = true
		case r.cost > 0:
			b.whole++
		}
		if r.outcome == ledger.OutcomeUnknown {
			b.unknown++
		}
	}
	return b
}

// short returns the sessions whose bound is below the provider's account, and those with another cost although it is
// exact.
func (b *sessionBooks) short(truth map[string]llm.Money) (problems []string) {
	for of, cost := range truth {
		switch {
		case b.most[of] < cost:
			problems = append(problems, fmt.Sprintf("session %s costs at most %v, below the provider's %v", of, b.most[of], cost))
		case !b.unsure[of] && b.cost[of] != cost:
			problems = append(problems, fmt.Sprintf("session %s costs %v, and the provider's account is %v", of, b.cost[of], cost))
		}
	}
	return problems
}
