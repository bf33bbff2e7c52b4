//go:build unix

package crashtest_test

import (
	"context"
	"encoding/json"
	"flag"
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

// socketRacesFlag is the number of races over WebSockets. Every second one kills a node.
var socketRacesFlag = flag.Int("sockets.races", 2, "how many races for a budget WebSockets run, each of a seed of its own")

// socketRaceLimit is the budget of a race: a few answers at once.
const socketRaceLimit = 6 * llm.USD

// soundPrices are the rates of Realtime sessions in a race, and wordPrices those of all answers in words, in dollars a
// million tokens.
func soundPrices() priceList {
	return priceList{"input": "30", "output": "110", "audio_in": "370", "audio_out": "830"}
}

func wordPrices() priceList { return priceList{"input": "10", "output": "1000"} }

// racedMinute and racedText are what the provider of sessions by their duration charges for a minute and a text.
const (
	racedMinute = 12 * llm.USD / 10
	racedText   = llm.USD / 10
)

// socketRaceYAML returns the configuration of the races over WebSockets: providers of Realtime sessions, by tokens and by
// their duration, and of Live sessions, and three of answers in words, with a wire format each.
func socketRaceYAML(provider string) string {
	var b strings.Builder
	b.WriteString("drain_timeout: 2s\ndefault_model: words/chat\nproviders:\n")
	for _, p := range [][3]string{
		{"house", "openai", "v1"},
		{liveProvider, "gemini", "v1beta"},
		{minuteProvider, "openai", "v1"},
		{"words", "openai", "v1"},
		{"replies", "responses", "v1"},
		{"human", "anthropic", "v1"},
	} {
		fmt.Fprintf(&b, "  %s: {dialect: %s, base_url: \"http://%s/%s\", allow_private: true, api_keys: [one]}\n", p[0], p[1],
			provider, p[2])
	}
	fmt.Fprintf(&b, "prices:\n  %s/*: {second: \"0.02\", request: \"0.1\"}\n", minuteProvider)
	for _, name := range []string{"house", liveProvider} {
		fmt.Fprintf(&b, "  %s/*: {input: \"30\", output: \"110\", audio_in: \"370\", audio_out: \"830\"}\n", name)
	}
	for _, name := range []string{"words", "replies", "human"} {
		fmt.Fprintf(&b, "  %s/*: {input: \"10\", output: \"1000\"}\n", name)
	}
	b.WriteString("models:\n  house/*: {context: 2000, max_output: 400}\n  sky/*: {context: 2000, max_output: 400}\n")
	return b.String()
}

// socketModels are the models of the answers in words. Clients do not wait for those with ttft=3s in their name.
func socketModels() []string {
	return []string{
		"words/chat:ttft=20ms,tokens=200", "words/chat:pace=1ms,tokens=5000", "replies/chat:tokens=150",
		"human/chat:pace=1ms,tokens=120", "words/chat:usage=missing,tokens=100,reasoning=150",
		"words/chat:tokens=90,reasoning=150,fault=cut,at=5,after=bill", "words/chat:ttft=3s,tokens=200,after=bill",
	}
}

// voiceModels are the models of the sessions with sound.
func voiceModels() []string {
	return []string{
		"house/echo:sound=1s,pace=2ms", "house/echo:sound=30s", "house/echo:tokens=3", "house/echo:sound=1s,usage=none",
		"house/echo:sound=2s,pace=1ms,fault=cut,at=9", "house/echo:unbegun,sound=1s",
		"sky/echo:sound=1s,pace=2ms", "sky/echo:sound=15s", "sky/echo:tokens=3,ttft=20ms", "sky/echo:sound=1s,usage=none",
		"sky/echo:sound=2s,pace=1ms,fault=cut,at=9", "sky/tools:tokens=4", "clock/echo:minutes", "clock/echo:minutes,sound=9s",
	}
}

// socketRace is one race: WebSockets at all nodes that spend a budget.
type socketRace struct {
	f             *fleet
	m             member
	kills         int
	voices, words []string // models
	end           time.Time
	told          atomic.Int64 // refusals for the budget
	done          atomic.Int64 // answers to their end
}

// testSockets has Realtime sessions and WebSockets of the Responses API at three nodes spend one budget, of which every
// second time a node is killed: the provider's account never exceeds it.
func testSockets(ctx context.Context, t *testing.T, bin string) {
	first := seed()
	f := newFleet(ctx, t, &founding{bin: bin, seed: first, nodes: 3, server: newServer(t), yaml: socketRaceYAML})
	defer f.close()
	f.watch()
	races := *socketRacesFlag
	if *nodesFlag {
		races = max(races, 80)
	}
	var all llm.Money
	for i := range races {
		f.rng = rand.New(rand.NewPCG(first+uint64(i), 1))
		m := f.wealthy(fmt.Sprintf("sockets-%d", i), socketRaceLimit)
		r := &socketRace{f: f, m: m, kills: i % 2, voices: voiceModels(), words: socketModels()}
		truth := r.run()
		spent, peak := f.spent(&m), f.peak(m.account)
		looked := f.neverOverdrawn(t, m.account)
		t.Logf("seed %d: the provider charges $%s, spent $%s of $%s, at most $%s settled and held: %d answers, %d refusals; %d commits looked at",
			first+uint64(i), truth, spent, socketRaceLimit, peak, r.done.Load(), r.told.Load(), looked)
		if truth > socketRaceLimit || spent > socketRaceLimit || peak > socketRaceLimit || truth > spent {
			t.Errorf("seed %d: the provider charges $%s, spent $%s, at most $%s settled and held; want at most $%s",
				first+uint64(i), truth, spent, peak, socketRaceLimit)
		}
		if truth == 0 || r.told.Load() == 0 {
			t.Errorf("seed %d: the provider charges $%s, with %d refusals: the race had no effect", first+uint64(i), truth, r.told.Load())
		}
		all += truth
	}
	if least := socketRaceLimit * llm.Money(races) / 8; all < least {
		t.Errorf("the provider charges $%s in all races, want at least $%s: budgets are hardly used", all, least)
	}
	f.stopAll()
	f.nothingHeld()
}

// testForgetfulSockets deletes the granted slices from the database, so that no node sees what the others hold. The
// provider's account must show it.
func testForgetfulSockets(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: socketRaceYAML})
	defer f.close()
	f.query(forgetting)
	found := false
	for n := 0; n < 5 && !found; n++ {
		m := f.wealthy(fmt.Sprintf("forgotten-%d", n), socketRaceLimit)
		r := &socketRace{
			f: f, m: m, voices: []string{"house/echo:sound=20s"}, words: []string{"words/chat:ttft=20ms,tokens=500"},
		}
		truth := r.run()
		t.Logf("with a database that forgets slices: the provider charges $%s of $%s: %d answers, %d refusals", truth,
			socketRaceLimit, r.done.Load(), r.told.Load())
		found = truth > socketRaceLimit
	}
	if !found {
		t.Error("a database that forgets slices was not found out")
	}
	f.stopAll()
}

// run runs the race, and returns the provider's charges for it.
func (r *socketRace) run() llm.Money {
	f := r.f
	f.t.Helper()
	f.awaitQuiet()
	before := f.asked()
	r.end = time.Now().Add(patience)
	var clients sync.WaitGroup
	for i := range 4 * len(f.nodes) {
		n, rng := f.nodes[i%len(f.nodes)], rand.New(rand.NewPCG(f.rng.Uint64(), uint64(i)))
		clients.Go(func() {
			for refusals := 0; refusals < 3 && time.Now().Before(r.end) && f.ctx.Err() == nil; {
				act := r.write
				if i%2 == 0 {
					act = r.talk
				}
				if act(n, rng) {
					refusals++
					time.Sleep(breath)
				}
			}
		})
	}
	for range r.kills {
		time.Sleep(between(f.rng, 20*time.Millisecond, 500*time.Millisecond))
		f.nodes[f.rng.IntN(len(f.nodes))].restart()
	}
	clients.Wait()
	f.settled(&r.m)
	f.awaitQuiet()
	return f.charged(before)
}

// asked returns the number of the provider's records.
func (f *fleet) asked() int64 {
	f.t.Helper()
	var totals struct{ Requests int64 }
	must.Do(f.t, f.get("http://"+f.provider+"/ledger/totals", nil, &totals))
	return totals.Requests
}

// charged returns the provider's charges for all records after that one.
func (f *fleet) charged(since int64) (sum llm.Money) {
	f.t.Helper()
	var all []served
	must.Do(f.t, f.get(fmt.Sprintf("http://%s/ledger?since=%d", f.provider, since), nil, &all))
	sound, words := must.Get(soundPrices().price())(f.t), must.Get(wordPrices().price())(f.t)
	for i := range all {
		price := &words
		switch u := &all[i].Usage; {
		case strings.Contains(all[i].Model, "minutes"): // each begun one counts whole; tokens cost nothing
			minutes := (u[llm.Milliseconds] + 59_999) / 60_000
			sum += llm.Money(minutes)*racedMinute + llm.Money(u[llm.Requests])*racedText
			continue
		case all[i].Dialect == "realtime", all[i].Dialect == "live":
			price = &sound
		}
		sum += all[i].truth(price)
	}
	return sum
}

// talk opens a session with sound and wants answers. It reports whether the budget refused one.
func (r *socketRace) talk(n *node, rng *rand.Rand) (refused bool) {
	v, refused, err := openVoice(r.f.ctx, n.base(), r.m.token, r.voices[rng.IntN(len(r.voices))])
	if err != nil {
		if refused {
			r.told.Add(1)
		} else {
			time.Sleep(breath)
		}
		return refused
	}
	defer v.leave() // some answers still run
	for turns := 1 + rng.IntN(6); turns > 0; turns-- {
		refused, err := v.turn(rng)
		switch {
		case refused:
			r.told.Add(1)
			return true
		case err != nil:
			return false
		}
		r.done.Add(1)
	}
	return false
}

// write opens a WebSocket of the Responses API and wants answers in several lanes at once. It reports whether the budget
// refused one.
func (r *socketRace) write(n *node, rng *rand.Rand) (refused bool) {
	ctx, cancel := context.WithTimeout(r.f.ctx, patience)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", n.base())
	if err != nil {
		time.Sleep(breath)
		return false
	}
	conn, _, err := websocket.Dial(ctx, c, "http://"+n.base()+responsesAPI, http.Header{"Authorization": {"Bearer " + r.m.token}},
		websocket.Bounds{Message: 1 << 20, Read: patience, Write: patience})
	if err != nil {
		time.Sleep(breath)
		return false
	}
	defer conn.Abort()
	lanes := 1 + rng.IntN(4)
	for lane := range lanes {
		model := r.words[rng.IntN(len(r.words))]
		if strings.Contains(model, "ttft=3s") {
			defer time.AfterFunc(leaves, conn.Abort).Stop()
		}
		_ = conn.Send(websocket.Text, fmt.Appendf(nil, `{"type":"response.create","stream_id":"lane-%d","model":%q,`+
			`"max_output_tokens":%d,"input":"Hi"}`, lane, model, 200+rng.IntN(300)))
	}
	defer time.AfterFunc(patience, conn.Abort).Stop()
	for ended := 0; ended < lanes; {
		_, text, err := conn.Receive(nil)
		if err != nil {
			return refused
		}
		var e struct {
			Type   string
			Status int
		}
		if json.Unmarshal(text, &e) != nil {
			return refused
		}
		switch e.Type {
		case "error":
			if ended++; e.Status == http.StatusTooManyRequests {
				refused = true
				r.told.Add(1)
			}
		case "response.completed", "response.incomplete", "response.failed":
			ended++
			r.done.Add(1)
		}
	}
	return refused
}
