//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/llm"
)

const (
	racers = 1000
	// leaves is how long the client waits that does not wait for its answer.
	leaves = 300 * time.Millisecond
	// knownWithin is how long a node may take to know what happened on another.
	knownWithin = 2 * time.Second
	// leastAnswer is what an answer of the fewest tokens that are worth asking
	// for costs at the provider words, for which a dollar is a thousand.
	leastAnswer = 256 * llm.USD / 1000
)

// raceYAML prices each request of house and broken at a dollar and nothing else,
// each token of words at a thousandth, and each of greedy at a millionth.
func raceYAML(provider string) string {
	var b strings.Builder
	b.WriteString("drain_timeout: 2s\ndefault_model: house/chat\nproviders:\n")
	for _, name := range []string{"house", "broken", "words", "greedy"} {
		fmt.Fprintf(&b, "  %s: {dialect: openai, base_url: \"http://%s/v1\", allow_private: true, api_keys: [one]}\n", name, provider)
	}
	b.WriteString(`prices:
  house/*: {input: "0", output: "0", request: "1"}
  broken/*: {input: "0", output: "0", request: "1"}
  words/*: {input: "0", output: "1000"}
  greedy/*: {input: "0", output: "1"}
aliases:
  second: {targets: ["broken/chat:status=500", "house/chat:ttft=50ms"], strategy: fallback}
  reworded: {targets: ["words/chat:status=500", "words/chat:ttft=50ms,tokens=200"], strategy: fallback}
`)
	return b.String()
}

// race is a thousand requests at once to a budget that affords few.
type race struct {
	name   string
	limit  llm.Money
	most   llm.Money // that may be left when nothing more is admitted
	kills  int
	bodies []string
}

func races() []race {
	requests := []string{
		`{"model":"house/chat:ttft=50ms","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"second","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=20ms,pace=5ms","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=3s","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, // whose client leaves
	}
	words := []string{
		`{"model":"words/chat:ttft=50ms,tokens=200","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=5000","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=300","max_tokens":300,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"reworded","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=200,pace=1ms","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:ttft=3s","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, // whose client leaves
	}
	return []race{
		{name: "requests", limit: 37 * llm.USD, bodies: requests},
		{name: "killed-requests", limit: 37 * llm.USD, kills: 2, bodies: requests},
		{name: "words", limit: 37 * llm.USD, most: leastAnswer - 1, bodies: words},
		{name: "killed-words", limit: 37 * llm.USD, most: leastAnswer - 1, kills: 2, bodies: words},
	}
}

// testRaces holds that no budget is passed on three nodes, at any commit.
func testRaces(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML})
	defer f.close()
	f.watch()
	f.overbilled()
	for i := range theForm().races {
		for _, r := range races() {
			f.race(&r, fmt.Sprintf("%s-%d", r.name, i))
		}
	}
	f.awaitQuiet()
	f.stopAll()
	f.nothingHeld()
	f.sound()
}

// testForgetful lets the database forget what it has dealt out. The race must
// find that out.
func testForgetful(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML})
	defer f.close()
	f.watch()
	f.query(`CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.granted := 0; RETURN NEW; END $$;
		CREATE TRIGGER forget BEFORE INSERT OR UPDATE ON slices FOR EACH ROW EXECUTE FUNCTION forget()`)
	r := races()[0]
	m := f.wealthy("forgotten", r.limit)
	got := f.hold(&r, &m)
	f.settled(&m)
	spent, peak, passed := f.spent(&m), f.peak(m.account), f.overdrawn("'"+m.account+"'")
	t.Logf("with a database that forgets slices: spent $%s of $%s, at most $%s settled and held, %d commits beyond the budget: %s", spent, r.limit, peak, passed, got)
	if spent <= r.limit || peak <= r.limit || passed == 0 {
		t.Errorf("a database that forgets slices was not found out: spent $%s of $%s, peak $%s, %d commits beyond the budget", spent, r.limit, peak, passed)
	}
	f.stopAll()
}

// racing is what the clients of a race came to.
type racing struct {
	served, refused, left, away, other atomic.Int64
}

func (g *racing) String() string {
	return fmt.Sprintf("%d served, %d refused, %d left or cut off, %d told to come back, %d others",
		g.served.Load(), g.refused.Load(), g.left.Load(), g.away.Load(), g.other.Load())
}

// race runs the race, fills up what is left of its budget, and looks what that
// came to.
func (f *fleet) race(r *race, name string) {
	f.t.Helper()
	m := f.wealthy(name, r.limit)
	got := f.hold(r, &m)
	rest := f.fill(&m, r.bodies[0])
	f.settled(&m)
	spent, peak := f.spent(&m), f.peak(m.account)
	looked := f.neverOverdrawn(f.t, m.account)
	f.t.Logf("%s: spent $%s of $%s, at most $%s settled and held: %s, %d after it; %d commits looked at", name, spent, r.limit, peak, got, rest, looked)
	if spent > r.limit || r.limit-spent > r.most {
		f.t.Errorf("%s: spent $%s, want $%s and at most $%s less: %s", name, spent, r.limit, r.most, got)
	}
	if peak > r.limit {
		f.t.Errorf("%s: what was settled and held came to $%s, want at most $%s", name, peak, r.limit)
	}
	if r.kills == 0 && got.away.Load() > 0 || got.other.Load() > 0 {
		f.t.Errorf("%s: got %s, want no others", name, got)
	}
}

// hold sends all requests, and kills nodes meanwhile.
func (f *fleet) hold(r *race, m *member) *racing {
	f.t.Helper()
	got := &racing{}
	var clients sync.WaitGroup
	for i := range racers {
		base, body := f.nodes[i%len(f.nodes)].base(), r.bodies[i%len(r.bodies)]
		clients.Go(func() { f.client1(got, base, m, body) })
	}
	for range r.kills {
		time.Sleep(between(f.rng, 20*time.Millisecond, 400*time.Millisecond))
		f.nodes[f.rng.IntN(len(f.nodes))].restart()
	}
	clients.Wait()
	return got
}

// spent is what the database has of an account.
func (f *fleet) spent(m *member) llm.Money {
	f.t.Helper()
	return llm.Money(f.count("SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = '" + m.account + "'"))
}

// overbilled has a provider bill more than it was asked for while every node has
// a slice: no more is let in on any of them, and the budget is passed by that one
// request at most.
func (f *fleet) overbilled() {
	f.t.Helper()
	const limit = llm.USD / 2
	m := f.wealthy("overbilled", limit)
	const small = `{"model":"greedy/chat","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`
	const over = `{"model":"greedy/chat:usage=over","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`
	for _, body := range []string{small, over} {
		for _, n := range f.nodes {
			if status, answer := f.chat(n.base(), &m, body, patience); status != http.StatusOK {
				f.t.Fatalf("node %d: %d %s", n.number, status, answer)
			}
			if body == over {
				break
			}
		}
	}
	billed, more := time.Now(), 0
	for _, n := range slices.Backward(f.nodes) { // who knows of it is asked last
		f.eventually(fmt.Sprintf("node %d lets in no more", n.number), patience, func() bool {
			status, _ := f.chat(n.base(), &m, small, patience)
			if status == http.StatusOK {
				more++
			}
			return status == http.StatusTooManyRequests
		})
	}
	took := time.Since(billed).Round(time.Millisecond)
	f.settled(&m)
	cost := llm.Money(f.count("SELECT max(cost) FROM attempts WHERE account = '" + m.account + "'"))
	spent := f.spent(&m)
	f.t.Logf("billed more than asked: $%s of $%s, of which $%s by one request; all nodes refuse %s later, after %d more", spent, limit, cost, took, more)
	if spent > limit+cost {
		f.t.Errorf("spent $%s, want at most $%s and the one request of $%s", spent, limit, cost)
	}
	if took > knownWithin {
		f.t.Errorf("all nodes refuse after %s, want it within %s", took, knownWithin)
	}
}

// wealthy is a key of a new account with a budget.
func (f *fleet) wealthy(name string, limit llm.Money) member {
	f.t.Helper()
	return f.newcomer(name, []string{"budget", "--usd", limit.String(), "--period", "total"})
}

// newcomer is a key of a new account, for which each of the settings was made,
// that all nodes know.
func (f *fleet) newcomer(name string, settings ...[]string) member {
	f.t.Helper()
	f.join(name, false)
	for _, s := range settings {
		f.run(slices.Concat([]string{"accounts", s[0], name}, s[1:])...)
	}
	m := f.members[len(f.members)-1]
	for _, n := range f.nodes {
		f.eventually("the key is known", patience, func() bool {
			return f.get("http://"+n.base()+"/v1/models", http.Header{"Authorization": {"Bearer " + m.token}}, nil) == nil
		})
	}
	return m
}

// client1 is one client of a race.
func (f *fleet) client1(got *racing, base string, m *member, body string) {
	limit := patience
	if strings.Contains(body, "ttft=3s") {
		limit = leaves
	}
	switch status, answer := f.chat(base, m, body, limit); status {
	case 0:
		got.left.Add(1)
	case http.StatusOK:
		got.served.Add(1)
	case http.StatusTooManyRequests:
		got.refused.Add(1)
	case http.StatusServiceUnavailable:
		got.away.Add(1)
	default:
		got.other.Add(1)
		f.t.Logf("%s: got %d %s", body, status, answer)
	}
}

// chat makes a request at OpenAI's door, and returns its status, or 0 where none
// came within the limit, and the answer.
func (f *fleet) chat(base string, m *member, body string, limit time.Duration) (status int, answer string) {
	status, answer, _ = f.converse(base, m, body, limit)
	return status, answer
}

// converse is chat with the header of the answer.
func (f *fleet) converse(base string, m *member, body string, limit time.Duration) (status int, answer string, header http.Header) {
	ctx, cancel := context.WithTimeout(f.ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+base+openaiDoor, strings.NewReader(body))
	if err != nil {
		return 0, err.Error(), nil
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + m.token}}
	resp, err := f.client.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return resp.StatusCode, string(text), resp.Header
}

// fill asks node after node until each of them refuses in turn, and returns how
// many were served.
func (f *fleet) fill(m *member, body string) (served int) {
	f.t.Helper()
	for i, refusals, end := 0, 0, time.Now().Add(patience); refusals < len(f.nodes); i++ {
		status, answer := f.chat(f.nodes[i%len(f.nodes)].base(), m, body, patience)
		switch {
		case status == http.StatusOK:
			served, refusals = served+1, 0
		case status == http.StatusTooManyRequests:
			refusals++
		case time.Now().After(end):
			f.t.Fatalf("filling up the budget: %d %s", status, answer)
		default:
			refusals = 0
			time.Sleep(breath)
		}
	}
	return served
}

// settled waits until no attempt of an account is open and the database has all
// of them.
func (f *fleet) settled(m *member) {
	f.t.Helper()
	for _, n := range f.nodes {
		f.eventually(fmt.Sprintf("node %d holds nothing", n.number), patience, func() bool { return n.metric("weir_holds_open") == 0 })
		f.eventually(fmt.Sprintf("the database has the journal of node %d", n.number), patience, func() bool { return n.metric("weir_ledger_lag_bytes") == 0 })
	}
	if open := f.count("SELECT count(*) FROM attempts WHERE outcome = 'open' AND account = '" + m.account + "'"); open > 0 {
		f.t.Errorf("%d attempts are open when all is quiet, want none", open)
	}
}

// peak is the most that the attempts of an account came to at any time, those
// under way at what was held for them. An attempt is over, at the latest, when
// the next one of its request is opened: both stand in one record.
func (f *fleet) peak(account string) llm.Money {
	f.t.Helper()
	return llm.Money(f.count(`
		WITH attempt AS (
			SELECT opened, cost, (opening::json->>'hold')::bigint AS held, least(opened + (settlement::json->>'duration')::bigint,
				lead(opened) OVER (PARTITION BY request ORDER BY n)) AS settled
			FROM attempts WHERE account = '` + account + `'),
		step AS (SELECT opened AS at, held AS amount FROM attempt UNION ALL SELECT settled, cost - held FROM attempt)
		SELECT coalesce(max(total), 0)::bigint FROM (SELECT sum(amount) OVER (ORDER BY at, amount ROWS UNBOUNDED PRECEDING) AS total FROM step) AS totals`))
}

// nothingHeld asks that no slice is above what its node has spent, and no
// attempt open, once all nodes have stopped.
func (f *fleet) nothingHeld() {
	f.t.Helper()
	if open := f.count("SELECT count(*) FROM attempts WHERE outcome = 'open'"); open > 0 {
		f.t.Errorf("%d attempts are open after all nodes have stopped, want none", open)
	}
	above := f.query(`SELECT scope, journal, granted FROM slices s WHERE granted > (
		SELECT coalesce(sum(spent), 0) FROM balances b WHERE b.scope = s.scope AND b.journal = s.journal)`)
	if len(above) > 0 {
		f.t.Errorf("%d slices are above what was spent after all nodes have stopped: %v", len(above), above)
	}
}

// sound asks that the ledger agrees with itself and with the provider: each
// attempt that the provider saw has one row.
func (f *fleet) sound() {
	f.t.Helper()
	b := &books{}
	if err := f.get("http://"+f.provider+"/ledger", nil, &b.served); err != nil {
		f.t.Fatal(err)
	}
	b.rows = f.exported()
	v := newVerdict(b)
	v.join()
	for id, a := range v.attempts {
		if len(a.rows) != 1 || len(a.served) > 1 {
			f.t.Errorf("attempt %s: %d rows, seen %d times by its provider", id, len(a.rows), len(a.served))
		}
	}
	for _, n := range f.nodes {
		got := n.verify()
		if len(got.Differences) > 0 || got.Gap > 0 || got.Open > 0 {
			f.t.Errorf("weir ledger verify: got %+v, want no difference", got)
		}
	}
	for _, line := range f.complaints() {
		f.t.Errorf("logged: %s", line)
	}
	f.t.Logf("%d attempts that the provider saw, %d rows", len(b.served), len(b.rows))
}
