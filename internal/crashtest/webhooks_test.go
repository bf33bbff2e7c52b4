//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"weir/internal/must"
	"weir/internal/seal"
)

var eventsFlag = flag.Int("webhooks.events", 600, "how many events two nodes deliver")

// TestWebhooks makes events while gateways are killed, and checks that every one arrives, with one id, for any
// behaviour of its receiver.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	ctx, cancel := deadline(t)
	t.Cleanup(cancel) // when the subtests have ended
	bin := build(t)
	t.Run("OneNode", func(t *testing.T) {
		t.Parallel()
		testHooksKilled(ctx, t, bin)
	})
	t.Run("TwoNodes", func(t *testing.T) {
		t.Parallel()
		testHooksShared(ctx, t, bin)
	})
}

// ear receives events of keys.
type ear struct {
	t      *testing.T
	id     string // of its endpoint
	url    string
	side   *standardwebhooks.Webhook
	answer func(e *ear, id string, times int, w http.ResponseWriter)
	done   chan struct{} // closed when the test no longer waits
	ahead  time.Duration // the lead of the gateways' common clock over this machine's

	mu    sync.Mutex
	came  map[string]int             // by event
	took  map[string]int             // the accepted events
	of    map[string]map[string]bool // events by key
	gone  int                        // answers 410
	wrong int
}

// databaseAhead returns the lead of the database's clock over this machine's.
func (f *fleet) databaseAhead() time.Duration {
	f.t.Helper()
	rows, err := f.server.Query(f.t.Context(), database, "SELECT floor(extract(epoch FROM clock_timestamp()))")
	must.Do(f.t, err)
	sec := must.Get(strconv.ParseInt(rows[0][0], 10, 64))(f.t)
	return time.Until(time.Unix(sec, 0))
}

// listen starts a receiver, and creates an endpoint of the installation for it.
func (f *fleet) listen(name string, answer func(e *ear, id string, times int, w http.ResponseWriter)) *ear {
	f.t.Helper()
	e := &ear{t: f.t, answer: answer, done: make(chan struct{}), came: map[string]int{}, took: map[string]int{}, of: map[string]map[string]bool{}}
	if f.server != nil {
		e.ahead = f.databaseAhead()
	}
	server := httptest.NewServer(e)
	f.t.Cleanup(func() { close(e.done); server.Close() })
	e.url = server.URL + "/" + name
	secret := strings.TrimSpace(string(f.run("webhooks", "add", e.url, "--event", "key.created", "--allow-private")))
	for _, listed := range f.hooks() {
		if listed.URL == e.url {
			e.id = listed.ID
		}
	}
	var err error
	if e.side, err = standardwebhooks.NewWebhook(secret); err != nil || e.id == "" {
		f.t.Fatalf("endpoint %s: secret %q, id %q: %v", e.url, secret, e.id, err)
	}
	return e
}

// hook is an endpoint in the command line's list.
type hook struct{ ID, URL, State string }

func (f *fleet) hooks() (all []hook) {
	f.t.Helper()
	must.Do(f.t, json.Unmarshal(f.run("webhooks", "list", "--json"), &all))
	return all
}

func (e *ear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed
	}
	var p struct {
		ID   string
		Data struct{ Key struct{ ID string } }
	}
	err = e.verify(body, r.Header)
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	e.mu.Lock()
	if err != nil || p.ID == "" || p.ID != r.Header.Get("webhook-id") || p.Data.Key.ID == "" {
		e.wrong++
		e.t.Errorf("delivery %s %s: %v", r.Header, body, err)
	}
	e.came[p.ID]++
	if e.of[p.Data.Key.ID] == nil {
		e.of[p.Data.Key.ID] = map[string]bool{}
	}
	e.of[p.Data.Key.ID][p.ID] = true
	times := e.came[p.ID]
	e.mu.Unlock()
	answer := &taker{ResponseWriter: w, status: http.StatusOK}
	e.answer(e, p.ID, times, answer)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case answer.status < 300:
		e.took[p.ID]++
	case answer.status == http.StatusGone:
		e.gone++
	}
}

// verify checks a signature, and its time by the clock that the gateways share.
func (e *ear) verify(body []byte, h http.Header) error {
	signed, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err := errors.Join(err, e.side.VerifyIgnoringTimestamp(body, h)); err != nil {
		return err
	}
	if off := time.Until(time.Unix(signed, 0)) - e.ahead; off.Abs() > time.Minute {
		return fmt.Errorf("the time of the signature is %s off", off)
	}
	return nil
}

// taker records the status of an answer.
type taker struct {
	http.ResponseWriter
	status int
}

func (t *taker) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (t *taker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// missing returns the number of keys without an event, and checks that the events of each key have one id.
func (e *ear) missing(keys map[string]bool) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range keys {
		taken := false
		for id := range e.of[key] {
			taken = taken || e.took[id] > 0
		}
		if !taken {
			n++
		}
		if len(e.of[key]) > 1 {
			e.t.Errorf("key %s: events with %d ids, want one", key, len(e.of[key]))
		}
	}
	return n
}

// again returns the number of deliveries that were accepted more than once.
func (e *ear) again() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, times := range e.took {
		n += times - 1
	}
	return n
}

func (e *ear) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	requests := 0
	for _, times := range e.came {
		requests += times
	}
	return fmt.Sprintf("%d requests for %d events, %d taken", requests, len(e.came), len(e.took))
}

// takes accepts everything.
func takes(*ear, string, int, http.ResponseWriter) {}

// moody fails an event once or twice, in ways that depend on its id: with a 500, with a broken connection, or by
// silence until the gateway's timeout.
func moody(e *ear, id string, times int, w http.ResponseWriter) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	mood := h.Sum32() % 100
	switch {
	case times > 2 || times == 2 && mood%2 == 0:
	case mood < 15:
		w.WriteHeader(http.StatusInternalServerError)
	case mood < 22:
		panic(http.ErrAbortHandler)
	case mood < 25 && times == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-e.done:
		case <-time.After(20 * time.Second):
		}
	}
}

// leaving accepts six events, then answers that it wants no more, and so on. It receives no events while its endpoint
// is disabled.
func leaving(e *ear, _ string, _ int, w http.ResponseWriter) {
	e.mu.Lock()
	n := len(e.took) + e.gone
	e.mu.Unlock()
	if n%7 == 6 {
		w.WriteHeader(http.StatusGone)
	}
}

// hookYAML returns the configuration; the nodes share one key for secrets.
func hookYAML(provider string) string {
	return fmt.Sprintf("drain_timeout: 2s\nsecrets: {key: %q}\n%s", seal.NewKey().Text().Reveal(), strings.TrimPrefix(raceYAML(provider), "drain_timeout: 2s\n"))
}

// maker creates keys, through any node, and records those that a node confirmed.
type maker struct {
	f     *fleet
	token string
	mu    sync.Mutex
	made  map[string]bool
}

func (f *fleet) newMaker() *maker {
	f.t.Helper()
	token := f.run("keys", "create", "--account", "default", "--label", "administers", "--permission", "admin")
	return &maker{f: f, token: strings.TrimSpace(string(token)), made: map[string]bool{}}
}

// make creates a key, unless the node is killed and confirms nothing.
func (m *maker) make(n *node) bool {
	r, err := http.NewRequestWithContext(m.f.ctx, http.MethodPost, "http://"+n.base()+"/admin/v1/accounts/default/keys", bytes.NewReader([]byte(`{"label":"told"}`)))
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+m.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := m.f.client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var k listed
	if err := json.NewDecoder(resp.Body).Decode(&k); err != nil || resp.StatusCode != http.StatusCreated {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made[k.ID] = true
	return true
}

// keys returns all created keys, also the unconfirmed ones, and checks that no confirmed key is missing.
func (m *maker) keys() map[string]bool {
	m.f.t.Helper()
	all := map[string]bool{}
	for _, k := range m.f.list("keys", "list", "--account", "default") {
		if k.Label == "told" {
			all[k.ID] = true
		}
	}
	for id := range m.made {
		if !all[id] {
			m.f.t.Errorf("key %s was confirmed by a node, and does not exist", id)
		}
	}
	return all
}

// testHooksKilled creates keys while the only node is killed again and again.
func testHooksKilled(ctx context.Context, t *testing.T, bin string) {
	f := &fleet{testGateway: bareGateway(ctx, t, seed(), bin)}
	defer f.close()
	n := &node{fleet: f, gate: newGate(), dir: filepath.Join(f.dir, "data")}
	f.env = []string{"WEIR_DATA=" + n.dir}
	f.nodes = []*node{n}
	must.Do(t, os.Mkdir(n.dir, 0o700))
	f.configure(hookYAML(f.provider))
	n.start()
	good, bad, leaves := f.listen("takes", takes), f.listen("moody", moody), f.listen("leaving", leaving)
	m := f.newMaker()
	stop := m.keepMaking(40)
	for range *killsFlag {
		time.Sleep(time.Duration(100+f.rng.IntN(1200)) * time.Millisecond)
		n.restart()
	}
	stop()
	keys := m.keys()
	left := [3]int{}
	t.Cleanup(func() {
		if left != [3]int{} {
			t.Logf("not told: %d keys to who takes what comes, %d to who is moody; %d deliveries not taken by who leaves\n%s\n%s", left[0], left[1], left[2],
				f.run("webhooks", "list"), f.run("webhooks", "deliveries", bad.id, "--state", "pending"))
		}
	})
	took := f.eventually("every key told to who takes what comes and to who is moody, and every delivery taken by who leaves", 4*time.Minute, func() bool {
		f.welcomeBack(leaves)
		time.Sleep(time.Second)
		left = [3]int{good.missing(keys), bad.missing(keys), f.untaken(leaves)}
		return left == [3]int{}
	})
	n.stop()
	t.Logf("%d keys, %d kills, all told %s later; takes: %s; moody: %s; leaving: %s, %d times 410", len(keys), len(n.lives)-1, took.Round(time.Second), good.said(), bad.said(), leaves.said(), leaves.gone)
	f.noComplaints()
}

// keepMaking creates keys at about that rate a second until stop is called.
func (m *maker) keepMaking(rate int) (stop func()) {
	done := make(chan struct{})
	var making sync.WaitGroup
	for i := range 4 {
		making.Go(func() {
			every := time.NewTicker(4 * time.Second / time.Duration(rate))
			defer every.Stop()
			for {
				select {
				case <-done:
					return
				case <-m.f.ctx.Done():
					return
				case <-every.C:
					m.make(m.f.nodes[i%len(m.f.nodes)])
				}
			}
		})
	}
	return func() { close(done); making.Wait() }
}

// welcomeBack enables the endpoint of a receiver that wanted no more events, and sends it the rejected ones again: also
// if its gateway was killed before it could disable the endpoint.
func (f *fleet) welcomeBack(e *ear) {
	f.t.Helper()
	for _, h := range f.hooks() {
		if h.ID == e.id && h.State == "disabled" {
			f.run("webhooks", "enable", e.id)
		}
	}
	for _, d := range f.deliveries(e, "failed") {
		cmd := f.command("webhooks", "redeliver", d.ID)
		_ = cmd.Run() // it may be disabled again by now
	}
}

// deliveries returns the deliveries to a receiver in a state.
func (f *fleet) deliveries(e *ear, state string) (all []listed) {
	f.t.Helper()
	must.Do(f.t, json.Unmarshal(f.run("webhooks", "deliveries", e.id, "--state", state, "--limit", "1000", "--json"), &all))
	return all
}

// untaken returns the number of deliveries that a receiver has not accepted.
func (f *fleet) untaken(e *ear) int {
	return len(f.deliveries(e, "pending")) + len(f.deliveries(e, "failed"))
}

// noComplaints checks that no node logged an error.
func (f *fleet) noComplaints() {
	f.t.Helper()
	for _, line := range f.complaints() {
		f.t.Error(line)
	}
}

// testHooksShared has two nodes deliver the events of both, and counts the duplicates.
func testHooksShared(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 2, server: newServer(t), yaml: hookYAML})
	defer f.close()
	e := f.listen("takes", takes)
	m := f.newMaker()
	begun := time.Now()
	f.makeAll(m, *eventsFlag)
	made := time.Since(begun)
	keys := m.keys()
	took := f.eventually("every key told", 4*time.Minute, func() bool { return e.missing(keys) == 0 })
	f.stopAll()
	again := e.again()
	t.Logf("%d events made in %s by two nodes, all told %s later: %s, %d twice", len(keys), made.Round(time.Millisecond), took.Round(time.Millisecond), e.said(), again)
	if again*1000 > len(keys) {
		t.Errorf("%d of %d deliveries arrived more than once, want less than 0.1 %%", again, len(keys))
	}
	f.noComplaints()
}

// makeAll creates the given number of keys through all nodes.
func (f *fleet) makeAll(m *maker, events int) {
	f.t.Helper()
	var making sync.WaitGroup
	left := make(chan struct{}, events)
	for range events {
		left <- struct{}{}
	}
	close(left)
	for i := range 8 {
		rng := rand.New(rand.NewPCG(f.rng.Uint64(), uint64(i)))
		making.Go(func() {
			for range left {
				for !m.make(f.nodes[rng.IntN(len(f.nodes))]) && f.ctx.Err() == nil {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	making.Wait()
}
