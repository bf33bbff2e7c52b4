//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/ledger"
)

// remembered are the answers that clients have received to the end, by the text of the request.
type remembered struct {
	mu       sync.Mutex
	bodies   map[string]string
	answered map[string]string // X-Weir-Cache, by request id
	wrong    []string
}

// add compares an answer with the first one to the same text.
func (r *remembered) add(text, body, cache, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered[id] = cache
	if first, there := r.bodies[text]; there && first != body { // each answer of the provider has an id of its own
		r.wrong = append(r.wrong, fmt.Sprintf("request %s for %q: %s, body %.300s: want that of the first, %.300s", id, text, cache, body, first))
	} else if !there {
		r.bodies[text] = body
	}
}

// TestStoredAnswersSurviveKills kills the gateway while clients ask for stored answers, whole and as streams. Once a
// client has received an answer, every later one to an equal request is the same, on all later lives, and each answer
// has a row. Answers to requests that ask for no stored one are the negative control: they differ.
func TestStoredAnswersSurviveKills(t *testing.T) {
	t.Parallel()
	const kills, workers = 5, 8
	ctx, cancel := deadline(t)
	defer cancel()
	h := newGateway(ctx, t, seed())
	defer h.close()
	all := &remembered{bodies: map[string]string{}, answered: map[string]string{}}
	for life := range kills + 1 {
		process := h.serve(plan{})
		ready := h.awaitReady(process, h.gate)
		if ready.IsZero() {
			t.Fatalf("the gateway does not start; its output:\n%s", process.LastLines())
		}
		base, seeds := h.gate.pass(ctx), h.rng.Uint64()
		working, rest := context.WithCancel(ctx)
		var running sync.WaitGroup
		for i := range workers {
			running.Go(func() {
				rng := rand.New(rand.NewPCG(seeds, uint64(i)))
				for working.Err() == nil {
					h.remember(ctx, base, fmt.Sprint("text ", life, " ", rng.IntN(40)), all)
					h.remember(ctx, base, fmt.Sprint("text ", rng.IntN(life+1), " ", rng.IntN(40)), all)
				}
			})
		}
		process.EndsWithin(between(h.rng, 200*time.Millisecond, 500*time.Millisecond))
		if life < kills {
			process.Kill()
		}
		rest()
		running.Wait()
		if life == kills {
			h.uncached(ctx, t, base)
		}
		h.gate.shut()
		process.Kill()
		h.ended(process, atMoment, ready)
	}
	books := h.read()
	rows := map[string]row{}
	for _, r := range books.rows {
		rows[r.id.Request.String()] = r
	}
	hits := 0
	for id, cache := range all.answered {
		r, there := rows[id]
		if hit := cache == "hit"; !there || r.outcome != ledger.OutcomeOK || hit != r.usage.IsZero() || hit && r.atMost != 0 {
			t.Errorf("request %s, %s: row %+v, want one, without usage exactly for a hit", id, cache, r)
		} else if hit {
			hits++
		}
	}
	for _, w := range all.wrong[:min(len(all.wrong), mostShown)] {
		t.Error(w)
	}
	if len(books.verified.Differences) > 0 || hits == 0 || len(all.bodies) == 0 {
		t.Errorf("%d differences, %d hits, %d texts: want no difference, and some of both", len(books.verified.Differences), hits, len(all.bodies))
	}
	t.Logf("%d answers to %d texts, %d of them stored ones, over %d kills", len(all.answered), len(all.bodies), hits, kills)
}

// remember sends a request for a stored answer and adds the answer, if it is whole.
func (h *testGateway) remember(ctx context.Context, base, text string, all *remembered) {
	resp, body, err := h.converseOnce(ctx, base, text, "1h")
	if err == nil && resp.StatusCode == http.StatusOK {
		all.add(text, body, resp.Header.Get("X-Weir-Cache"), resp.Header.Get("X-Request-Id"))
	}
}

// uncached checks that two answers that are not stored differ.
func (h *testGateway) uncached(ctx context.Context, t *testing.T, base string) {
	t.Helper()
	_, one, err := h.converseOnce(ctx, base, "control", "off")
	_, other, otherErr := h.converseOnce(ctx, base, "control", "off")
	if err != nil || otherErr != nil || one == other {
		t.Errorf("two answers that are not stored: %v, %v, equal: %t", err, otherErr, one == other)
	}
}

// converseOnce sends a text; one that ends with an odd digit asks for a stream.
func (h *testGateway) converseOnce(ctx context.Context, base, text, wish string) (*http.Response, string, error) {
	body := fmt.Sprintf(`{"model":"house/echo:pace=1ms","messages":[{"role":"user","prompt":%q}]}`, text)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+base+"/v1/chat", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Authorization", "Bearer "+h.members[0].token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Weir-Cache", wish)
	if last := text[len(text)-1]; last%2 == 1 {
		r.Header.Set("Accept", "text/event-stream")
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp, string(answer), err
}
