//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/websocket"
)

// sessionPrices are the rates of sessionYAML in nano-dollars.
func sessionPrices() *llm.Price {
	p := llm.Price{Version: "sessions"}
	for class, usd := range map[llm.Class]int64{llm.Input: 3, llm.Output: 11, llm.AudioIn: 37, llm.AudioOut: 83} {
		p.Rates[class] = llm.RateOf(usd * 1_000_000)
	}
	return &p
}

// sessionYAML returns a configuration for Realtime sessions.
func sessionYAML(provider string) string {
	return fmt.Sprintf("drain_timeout: 2s\nproviders:\n  house: {base_url: \"http://%s/v1\", allow_private: true, "+
		"api_keys: [one]}\nprices:\n  house/*: {input: \"3\", output: \"11\", audio_in: \"37\", audio_out: \"83\"}\n"+
		"models:\n  house/*: {context: 2000, max_output: 400}\n", provider)
}

// session is a client's Realtime session.
type session struct{ conn *websocket.Conn }

// openSession opens a session; it fails if the gateway does not answer, or refuses.
func openSession(ctx context.Context, base, token, model string) (*session, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", base)
	if err != nil {
		return nil, err
	}
	conn, res, err := websocket.Dial(ctx, c, "http://"+base+"/v1/realtime?model="+model,
		http.Header{"Authorization": {"Bearer " + token}},
		websocket.Bounds{Message: 1 << 20, Read: patience, Write: patience})
	if err != nil {
		status := 0
		if res != nil {
			status = res.StatusCode
		}
		return nil, fmt.Errorf("%d: %w", status, err)
	}
	return &session{conn}, nil
}

// ask wants a response and waits for its end. It returns the code of the error that the gateway sent, if any.
func (s *session) ask(event string) (code string, err error) {
	if err := s.conn.Send(websocket.Text, []byte(event)); err != nil {
		return code, err
	}
	for {
		timer := time.AfterFunc(patience, s.conn.Abort)
		_, frame, err := s.conn.Receive(nil)
		timer.Stop()
		if err != nil {
			return code, err
		}
		var e struct {
			Type  string
			Error struct{ Code string }
		}
		if err := json.Unmarshal(frame, &e); err != nil {
			return code, err
		}
		switch e.Type {
		case "response.done":
			return code, nil
		case "error":
			code = e.Error.Code
		}
	}
}

// spoken is speech and silence that end a turn, in an event.
func spoken() string {
	sound := append(bytes.Repeat([]byte{7}, 48*300), make([]byte, 48*600)...)
	b, _ := json.Marshal(map[string]any{"type": "input_audio_buffer.append", "audio": sound})
	return string(b)
}

// talkers open sessions one after the other and want responses, by events and by turns.
func talkers(ctx context.Context, n int, gates []*gate, token, model string, rng *rand.Rand, quota *atomic.Int64,
) *sync.WaitGroup {
	var all sync.WaitGroup
	speech := spoken()
	for i := range n {
		seed := rng.Uint64()
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				s, err := openSession(ctx, gates[rng.IntN(len(gates))].pass(ctx), token, model)
				if err != nil {
					if strings.HasPrefix(err.Error(), "429") {
						quota.Add(1)
					}
					time.Sleep(breath)
					continue
				}
				for turns := 1 + rng.IntN(6); turns > 0 && err == nil && ctx.Err() == nil; turns-- {
					event := `{"type":"response.create"}`
					if rng.IntN(2) == 0 {
						event = speech
					}
					var code string
					if code, err = s.ask(event); code == "insufficient_quota" {
						quota.Add(1)
					}
				}
				s.conn.Abort() // some responses still run
			}
		})
	}
	return &all
}

// talked returns the cost of the simulator's records of responses, and their number.
func (h *testGateway) talked() (cost llm.Money, n int) {
	h.t.Helper()
	var records []served
	must.Do(h.t, h.get("http://"+h.provider+"/ledger", nil, &records))
	price := sessionPrices()
	for i := range records {
		if u := llm.Usage(records[i].Usage); records[i].Dialect == "realtime" {
			cost += price.Cost(&u, "")
			n++
		}
	}
	return cost, n
}

// TestSessionsSurviveKills kills the gateway in the middle of Realtime sessions: each response is in the ledger once,
// and the ledger's bound is not below the provider's account.
func TestSessionsSurviveKills(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"Whole": "", "FindsLoss": "journal.skip_write:3"} {
		t.Run(name, func(t *testing.T) { killSessions(t, fault) })
	}
}

// killSessions kills the gateway, which may have a fault that loses records: the control, which has to find that.
func killSessions(t *testing.T, fault string) {
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := bareGateway(ctx, t, seed, build(t))
	defer h.close()
	h.configure(fmt.Sprintf("data: %q\n", h.dir+"/data") + sessionYAML(h.provider))
	h.join("talker", "cancel")
	h.constant = fault
	working, rest := context.WithCancel(ctx)
	defer rest()
	var quota atomic.Int64
	clients := talkers(working, 8, []*gate{h.gate}, h.members[0].token, "house/echo:sound=1s,pace=5ms", h.rng, &quota)
	for range *killsFlag + 1 {
		h.live(plan{kind: atMoment, after: between(h.rng, 400*time.Millisecond, 1200*time.Millisecond)})
	}
	rest()
	clients.Wait()
	h.constant = ""
	process := h.serve(plan{})
	if h.awaitReady(process, h.gate).IsZero() {
		t.Fatalf("the gateway does not start for the last time; its output:\n%s", process.LastLines())
	}
	h.gate.shut()
	must.Do(t, process.Stop())
	rows := must.Get(readRows(bytes.NewReader(h.run("ledger", "export", "--format", "csv"))))(t)
	cost, n := h.talked()
	var counted llm.Money
	unknown := 0
	seen := map[string]bool{}
	for i := range rows {
		counted += max(rows[i].cost, rows[i].atMost)
		if id := rows[i].id.String(); seen[id] {
			t.Errorf("attempt %s is in the ledger twice", id)
		} else {
			seen[id] = true
		}
		if rows[i].outcome == "unknown" {
			unknown++
		}
	}
	t.Logf("seed %d: %d responses for %v, %d rows for at most %v, %d unknown", seed, n, cost, len(rows), counted, unknown)
	if fault != "" {
		if len(rows) >= n {
			t.Errorf("%d rows of %d responses although records were lost", len(rows), n)
		}
		return
	}
	if n == 0 || unknown == 0 {
		t.Errorf("%d responses and %d rows of unknown outcome: the load did not have its effect", n, unknown)
	}
	if len(rows) < n || counted < cost {
		t.Errorf("%d rows for at most %v, below the provider's %d responses for %v", len(rows), counted, n, cost)
	}
}
