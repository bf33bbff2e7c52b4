//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
)

// keptYAML returns a configuration with a provider that is asked over kept WebSockets.
func keptYAML(provider string) string {
	return strings.Replace(sessionYAML(provider), "{dialect: openai", "{dialect: responses, websocket: true", 1)
}

// streamers want streams of the Responses API, each of another model, by which the two ledgers are joined: a request on
// a kept WebSocket has no id of its own.
func streamers(ctx context.Context, n int, g *gate, token string, rng *rand.Rand) *sync.WaitGroup {
	var all sync.WaitGroup
	var tokens atomic.Int64
	tokens.Store(20)
	for i := range n {
		seed := rng.Uint64()
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				body := fmt.Sprintf(`{"stream":true,"model":"house/chat:tokens=%d,pace=1ms","input":"x"}`, tokens.Add(1))
				one, cancel := ctx, context.CancelFunc(func() {})
				if rng.IntN(5) == 0 { // leaves early
					one, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(30))*time.Millisecond)
				}
				if !stream(one, g.pass(ctx), token, body) {
					time.Sleep(breath)
				}
				cancel()
			}
		})
	}
	return &all
}

// stream makes one request and reads its answer. It reports whether that was whole.
func stream(ctx context.Context, base, token, body string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+base+responsesAPI, strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

// TestRequestsOnKeptWebSocketsSurviveKills kills the gateway in the middle of answers from a provider over WebSockets:
// each request of the provider's ledger has one row, which is not below the provider's account.
func TestRequestsOnKeptWebSocketsSurviveKills(t *testing.T) {
	for name, fault := range map[string]string{"Whole": "", "FindsLoss": "journal.skip_write:3"} {
		t.Run(name, func(t *testing.T) { killKept(t, fault) })
	}
}

// killKept kills the gateway, which may have a fault that loses records: the control, which has to find that.
func killKept(t *testing.T, fault string) {
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := bareGateway(ctx, t, seed, build(t))
	defer h.close()
	rows := h.killUnder(keptYAML(h.provider), fault, func(ctx context.Context, token string) *sync.WaitGroup {
		return streamers(ctx, 8, h.gate, token, h.rng)
	})
	var records []served
	must.Do(t, h.get("http://"+h.provider+"/ledger", nil, &records))
	lost, below, exact, unknown := compareKept(records, rows)
	t.Logf("seed %d: %d requests, %d rows: %d without a row or with two, %d below the provider, %d exact, %d unknown",
		seed, len(records), len(rows), lost, below, exact, unknown)
	if slices.ContainsFunc(records, func(s served) bool { return s.Attempt != "" }) {
		t.Error("some requests were sent over HTTP")
	}
	if fault != "" {
		if lost == 0 {
			t.Error("no request was found lost although records were lost")
		}
		return
	}
	if len(records) == 0 || exact == 0 || unknown == 0 {
		t.Error("the load did not have its effect")
	}
	if lost > 0 || below > 0 {
		t.Errorf("%d requests without a row or with two, %d below the provider, want none", lost, below)
	}
}

// compareKept joins the records of the provider and the rows by model, of which each request has its own.
func compareKept(records []served, rows []row) (lost, below, exact, unknown int) {
	price := sessionPrices()
	byModel := map[string][]*row{}
	for i := range rows {
		model := strings.TrimPrefix(rows[i].model, "house/")
		byModel[model] = append(byModel[model], &rows[i])
		if rows[i].outcome == "unknown" {
			unknown++
		}
	}
	for i := range records {
		all := byModel[records[i].Model]
		if len(all) != 1 {
			lost++
			continue
		}
		u := llm.Usage(records[i].Usage)
		truth, r := price.Cost(&u, ""), all[0]
		if max(r.cost, r.atMost) < truth {
			below++
		}
		if r.provenance == "exact" && r.cost == truth {
			exact++
		}
	}
	return lost, below, exact, unknown
}
