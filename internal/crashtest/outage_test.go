//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store/pgtest"
)

// toll is the budget of an account whose requests each cost a dollar, at a provider that nobody else uses.
const toll = 37 * llm.USD

// stormYAML returns the configuration of the mixed load, with the provider toll.
func stormYAML(provider string) string {
	text := configuration(provider, "unused")
	text = strings.Replace(text, "\naliases:\n", fmt.Sprintf(
		"\n  toll: {dialect: openai, base_url: \"http://%s/v1\", allow_private: true, api_keys: [one]}\naliases:\n", provider), 1)
	return text + "  toll/*: {input: \"0\", output: \"0\", request: \"1\"}\n"
}

// storm runs a fleet under the mixed load, with busy accounts while the database is away.
type storm struct {
	*fleet
	load     *load
	rest     context.CancelFunc
	known    member // of an account without a budget, known to every node
	thrifty  member // of an account with a budget; every node has a slice of it
	newcomer member // not known to any node
	racer    member // of an account whose budget covers 37 requests
	away     bool   // the database is away for longer than a node tries
}

func newStorm(ctx context.Context, t *testing.T, o *founding) *storm {
	t.Helper()
	o.seed, o.nodes, o.yaml = seed(), 3, stormYAML
	s := &storm{fleet: newFleet(ctx, t, o)}
	s.watch()
	s.racer = s.wealthy("racer", toll)
	s.members = nil // its books are checked separately
	s.join("patient", "drain")
	s.join("hasty", "cancel")
	s.join("hasty", "cancel")
	s.load = newLoad(slices.Clone(s.members), s.nodes[0].gate, s.nodes[1].gate, s.nodes[2].gate)
	s.join("known", "cancel")
	s.known = s.members[3]
	s.thrifty = s.wealthy("thrifty", 1000*llm.USD)
	s.join("newcomer", "cancel")
	s.newcomer = s.members[5]
	time.Sleep(toldWithin) // after a change, a node looks the key up again
	for _, n := range s.nodes {
		for _, m := range []*member{&s.known, &s.thrifty} {
			if status, answer := s.chat(n.base(), m, plainChat, patience); status != http.StatusOK {
				t.Fatalf("node %d: %d %s", n.number, status, answer)
			}
		}
	}
	working, rest := context.WithCancel(ctx)
	s.rest = rest
	s.load.begin(working, o.seed)
	return s
}

// plainChat is a request with a fast answer.
const plainChat = `{"model":"house/chat:tokens=3","max_tokens":20,"messages":[{"role":"user","content":"Hi"}]}`

// probe sends requests to every node in turn for the given time, and counts the statuses.
func (s *storm) probe(m *member, d time.Duration) map[int]int {
	got := map[int]int{}
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(breath) {
		for _, n := range s.nodes {
			status, _ := s.chat(n.base(), m, plainChat, patience)
			got[status]++
		}
	}
	return got
}

// crowd has clients of the racer send requests to all nodes for the given time, or until ctx ends.
func (s *storm) crowd(ctx context.Context, clients *sync.WaitGroup, each int) {
	const body = `{"model":"toll/chat:ttft=30ms,tokens=3","messages":[{"role":"user","content":"Hi"}]}`
	for i := range each * len(s.nodes) {
		clients.Go(func() {
			for ctx.Err() == nil {
				_, _ = s.chat(s.nodes[i%len(s.nodes)].base(), &s.racer, body, patience)
				time.Sleep(breath)
			}
		})
	}
}

// only fails the test if a probe got another status, or none at all.
func (s *storm) only(what string, got map[int]int, want int) {
	s.t.Helper()
	s.t.Logf("%s: got %v", what, got)
	if len(got) != 1 || got[want] == 0 {
		s.t.Errorf("%s: got %v, want only %d", what, got, want)
	}
}

// calm ends the load, closes all books and judges them.
func (s *storm) calm() {
	s.t.Helper()
	for _, n := range s.nodes {
		took := s.eventually(fmt.Sprintf("node %d catches up", n.number), 2*patience, func() bool {
			return n.metric("weir_ledger_database_up") == 1 && n.metric("weir_ledger_lag_bytes") < 1<<20
		})
		s.t.Logf("node %d has caught up after %s", n.number, took.Round(time.Millisecond))
	}
	s.rest()
	receipts := s.load.end()
	s.awaitQuiet()
	s.settleRace()
	s.stopAll()
	s.nothingHeld()
	for _, n := range s.nodes {
		n.start()
	}
	b := &books{receipts: receipts}
	s.readUses(b)
	s.stopAll()
	s.gather(b)
	v := judge(b)
	s.t.Logf("%s", report(b, v))
	if s.away { // no answer can be stored, nor a claim be released
		delete(v.found, rereplied)
	}
	for _, f := range v.findings() {
		s.t.Error(f)
	}
	for i := range receipts {
		if receipts[i].status == http.StatusUnauthorized {
			s.t.Errorf("401 for a valid key: %s", &receipts[i])
		}
	}
}

// settleRace spends the rest of the racer's budget, and checks that it was not exceeded.
func (s *storm) settleRace() {
	s.t.Helper()
	rest := s.fill(&s.racer, `{"model":"toll/chat","messages":[{"role":"user","content":"Hi"}]}`)
	s.settled(&s.racer)
	spent, peak := s.spent(&s.racer), s.peak(s.racer.account)
	looked := s.neverOverdrawn(s.t, s.racer.account)
	s.t.Logf("a budget of $%s: spent $%s, at most $%s settled and held, %d of it afterwards; %d commits looked at", toll, spent, peak, rest, looked)
	if spent != toll || peak > toll {
		s.t.Errorf("a budget of $%s: spent $%s, with at most $%s settled and held at a time", toll, spent, peak)
	}
	s.neverOverdrawn(s.t, s.thrifty.account)
}

// gather reads all books except those of the racer, whose attempts are only joined.
func (s *storm) gather(b *books) {
	s.t.Helper()
	var served []served
	must.Do(s.t, s.get("http://"+s.provider+"/ledger", nil, &served))
	of, journals := map[string]int{}, s.journals()
	for _, row := range s.rows("true") {
		of[fmt.Sprintf("%s/%d", row.ID.Request, row.ID.N)] = journals[row.journal]
	}
	racers := map[string]bool{}
	for _, r := range s.exported() {
		if r.account == s.racer.account {
			racers[r.id.String()] = true
			continue
		}
		r.node = of[fmt.Sprintf("%s/%d", r.id.Request, r.id.N)]
		b.rows = append(b.rows, r)
	}
	for _, one := range served {
		if !racers[one.Attempt] {
			b.served = append(b.served, one)
		}
	}
	b.lives, b.cut = s.allLives(), true
	var err error
	if b.prices, err = prices(); err != nil {
		s.t.Fatal(err)
	}
	for _, n := range s.nodes {
		got := n.verify()
		b.verified.Differences = append(b.verified.Differences, got.Differences...)
		b.verified.Gap, b.verified.Open = b.verified.Gap+got.Gap, got.Open
		b.verified.Rows, b.verified.Unknown = got.Rows-int64(len(racers)), got.Unknown
	}
	for _, line := range s.complaints() {
		if _, rest, _ := strings.Cut(line, ": "); isCrash(rest) {
			b.logged = append(b.logged, line)
		}
	}
}

// testStopped stops PostgreSQL for a while under load.
func testStopped(ctx context.Context, t *testing.T, bin string) {
	outages(t)
	server := newServer(t)
	s := newStorm(ctx, t, &founding{bin: bin, server: server})
	s.away = true
	defer s.close()
	racing, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	time.Sleep(2 * time.Second)
	must.Do(t, server.Down())
	s.crowd(racing, &clients, 4)
	away := map[string]map[int]int{}
	var mu sync.Mutex
	for name, m := range map[string]*member{"known": &s.known, "thrifty": &s.thrifty, "newcomer": &s.newcomer} {
		clients.Go(func() {
			got := s.probe(m, theForm().outage)
			mu.Lock()
			defer mu.Unlock()
			away[name] = got
		})
	}
	time.Sleep(theForm().outage)
	stop()
	clients.Wait()
	must.Do(t, server.Up())
	s.only("a key that is known, while the database is stopped", away["known"], http.StatusOK)
	s.only("a key under a budget, while the database is stopped", away["thrifty"], http.StatusOK)
	s.only("a key that is not known, while the database is stopped", away["newcomer"], http.StatusServiceUnavailable)
	s.allServe(&s.newcomer)
	s.calm()
}

// allServe waits until each node serves a key.
func (s *storm) allServe(m *member) {
	s.t.Helper()
	for _, n := range s.nodes {
		took := s.eventually(fmt.Sprintf("node %d serves %s", n.number, m.name), patience, func() bool {
			status, answer := s.chat(n.base(), m, plainChat, patience)
			if status == http.StatusUnauthorized {
				s.t.Errorf("401 for a valid key: %s", answer)
			}
			return status == http.StatusOK
		})
		s.t.Logf("node %d serves %s %s after the database is back", n.number, m.name, took.Round(time.Millisecond))
	}
}

// testFailover kills the primary under load and promotes its standby, which may
// lack the last commits.
func testFailover(ctx context.Context, t *testing.T, bin string) {
	outages(t)
	primary := newServer(t)
	standby, err := primary.Standby()
	must.Do(t, err)
	t.Cleanup(func() {
		if err := standby.Close(); err != nil {
			t.Errorf("close the standby: %v", err)
		}
	})
	both := strings.Replace(primary.URL(database), primary.Addr(), primary.Addr()+","+standby.Addr(), 1) + "&target_session_attrs=read-write"
	s := newStorm(ctx, t, &founding{bin: bin, server: primary, url: both})
	s.away = true
	defer s.close()
	racing, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	time.Sleep(2 * time.Second)
	s.crowd(racing, &clients, 4)
	time.Sleep(30 * time.Millisecond)
	must.Do(t, primary.Kill())
	s.only("a key that is known, before the standby takes over", s.probe(&s.known, theForm().gap), http.StatusOK)
	must.Do(t, standby.Promote(ctx))
	s.follow(standby)
	s.only("a key that is known, after the standby took over", s.probe(&s.known, 3*time.Second), http.StatusOK)
	s.allServe(&s.newcomer)
	s.allServe(&s.thrifty)
	stop()
	clients.Wait()
	s.calm()
}

// testRestored loses the server's disk under load, and restores it from a base backup and its archived log. The nodes
// write the missing rows to the restored database again, from their journals.
func testRestored(ctx context.Context, t *testing.T, bin string) {
	outages(t)
	server := newServer(t)
	must.Do(t, server.Archive(ctx))
	s := newStorm(ctx, t, &founding{bin: bin, server: server})
	s.away = true
	defer s.close()
	time.Sleep(2 * time.Second)
	must.Do(t, server.Exec(ctx, database, "SELECT pg_switch_wal()"))
	time.Sleep(2 * time.Second) // writes from now on are not archived
	before := s.count("SELECT count(*) FROM attempt_rows")
	must.Do(t, server.Lose())
	s.only("a key that is known, while the server is lost", s.probe(&s.known, theForm().gap), http.StatusOK)
	must.Do(t, server.Restore(ctx))
	after := s.count("SELECT count(*) FROM attempt_rows")
	t.Logf("%d rows before the loss, %d after the restore", before, after)
	if after == 0 || after >= before {
		t.Errorf("rows after the restore: got %d, want some of the %d before, and not all", after, before)
	}
	s.only("a key that is known, after the restore", s.probe(&s.known, 3*time.Second), http.StatusOK)
	s.calm()
}

// testCut cuts connections while they commit.
func testCut(ctx context.Context, t *testing.T, bin string) {
	server := newServer(t)
	proxy := pgtest.NewProxy(t, server.Addr())
	s := newStorm(ctx, t, &founding{bin: bin, server: server, url: proxy.URL(database)})
	defer s.close()
	racing, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	s.crowd(racing, &clients, 2)
	known := make(chan map[int]int, 1)
	clients.Go(func() {
		got := map[int]int{}
		for racing.Err() == nil {
			for status, n := range s.probe(&s.known, time.Second) {
				got[status] += n
			}
		}
		known <- got
	})
	kinds := []pgtest.Cut{pgtest.CutBefore, pgtest.CutAtCommit, pgtest.CutAnswer}
	for n := range theForm().cuts {
		proxy.CutCommits(kinds[n%len(kinds)], 1)
		s.eventually("a commit is cut", patience, func() bool { return proxy.Cuts() > n })
		time.Sleep(between(s.rng, 0, 50*time.Millisecond))
	}
	proxy.CutCommits(pgtest.CutNever, 0)
	stop()
	clients.Wait()
	s.only("a key that is known, while commits are cut", <-known, http.StatusOK)
	t.Logf("%d connections cut in a commit", proxy.Cuts())
	s.allServe(&s.newcomer)
	s.calm()
}
