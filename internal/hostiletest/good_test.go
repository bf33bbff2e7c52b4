//go:build linux

package hostiletest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// goodModel is the model of good clients, unless an attack is on one model.
const goodModel = "house/chat:tokens=4"

// goodPause returns how long a good client thinks between two requests. Where no time is judged, fewer answers show as
// well that each arrives, and leave the machine to the attack.
func goodPause() time.Duration { return strict(15*time.Millisecond, 60*time.Millisecond) }

// patience and slowPatience are the longest waits of a good client for an answer; the second one on a busy machine,
// where no time is judged.
const patience, slowPatience = 10 * time.Second, time.Minute

// answers holds the answers to good clients.
type answers struct {
	mu     sync.Mutex
	took   []time.Duration
	failed []string // the failures
}

func (a *answers) add(took time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took = append(a.took, took)
	if err != nil {
		a.failed = append(a.failed, err.Error())
	}
}

// p99 returns the 99th percentile of all, including those without an answer.
func (a *answers) p99() time.Duration {
	if len(a.took) == 0 {
		return 0
	}
	slices.Sort(a.took)
	return a.took[len(a.took)*99/100]
}

// converse simulates one good client until ctx ends: whole answers and streams in turn, each on reused connections and
// on fresh ones.
func (h *testGateway) converse(ctx context.Context, key, model string, a *answers) {
	kept, fresh := h.transport(true), h.transport(false)
	defer kept.CloseIdleConnections()
	for i := 0; ctx.Err() == nil; i++ {
		transport := kept
		if i&2 > 0 {
			transport = fresh
		}
		began := time.Now()
		err := h.chat(transport, key, model, i&1 > 0)
		a.add(time.Since(began), err)
		select {
		case <-ctx.Done():
		case <-time.After(goodPause()):
		}
	}
}

// chat returns an error unless the whole answer arrives.
func (h *testGateway) chat(transport *http.Transport, key, model string, stream bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), strict(patience, slowPatience))
	defer cancel()
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hi"}]}`, model, stream)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url("/v1/chat/completions"), strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d: %.200s", resp.StatusCode, text)
	case stream && !strings.HasSuffix(string(text), "data: [DONE]\n\n"):
		return fmt.Errorf("a stream that ends with %q", text[max(0, len(text)-200):])
	case stream:
		return nil
	}
	var reply struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal(text, &reply); err != nil || len(reply.Choices) == 0 || reply.Choices[0].Message.Content == "" {
		return fmt.Errorf("an answer that is none: %.200s", text)
	}
	return nil
}
