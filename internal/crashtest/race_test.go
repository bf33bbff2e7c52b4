//go:build unix

package crashtest_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
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

const (
	// leaves is the wait of a client that does not wait for its answer.
	leaves = 300 * time.Millisecond
	// leastAnswer is the hold at the provider words for the shortest useful answer, at a thousandth of a dollar a
	// token, and for its request: 1024 tokens around it and one for each of its bytes, here about a hundred.
	leastAnswer = 256*llm.USD/1000 + 1300*llm.USD/100_000
)

// racePrices lists the prices of the providers of a race: house and broken charge a dollar for each request and nothing
// else, greedy a millionth for each token of an answer, words and human a thousandth, and 1/100,000 for each token of
// input; human also a cent for a search. The price of own is irrelevant: its own figure counts.
func racePrices() map[string]priceList {
	words := priceList{"input": "10", "output": "1000", "search": "0.01"}
	request := priceList{"input": "0", "output": "0", "request": "1"}
	return map[string]priceList{
		"house": request, "broken": request, "greedy": {"input": "0", "output": "1"},
		"words": words, "human": words, "own": words,
	}
}

// tieredModel is served in a service tier that was not requested.
const tieredModel = "chat:tokens=200,tier=priority"

// raceFile prices the provider tiered: like words, and twice that in its priority tier.
const raceFile = `{"about": "Of the races.", "entries": [
	{"provider": "tiered", "models": ["` + tieredModel + `"], "rates": {"input_mtok": "10", "output_mtok": "1000"}, "source": "the race"},
	{"provider": "tiered", "models": ["` + tieredModel + `"], "mode": "priority", "times": "2", "source": "the race"}
]}`

// raceFileName is its path, next to the configuration.
const raceFileName = "race-prices.json"

// raceYAML returns the configuration of a race.
func raceYAML(provider string) string {
	var b strings.Builder
	b.WriteString("drain_timeout: 2s\ndefault_model: house/chat\nproviders:\n")
	prices := racePrices()
	for _, name := range append(slices.Sorted(maps.Keys(prices)), "tiered") {
		dialect, bill := "openai", "computed"
		switch name {
		case "human":
			dialect = "anthropic"
		case "own":
			bill = "provider"
		}
		fmt.Fprintf(&b, "  %s: {dialect: %s, base_url: \"http://%s/v1\", allow_private: true, api_keys: [one], timeouts: {first_byte: 1s}, bill_by: %s}\n",
			name, dialect, provider, bill)
	}
	b.WriteString("prices_file: " + raceFileName + "\nprices:\n")
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		fmt.Fprintf(&b, "  %s/*: {", name)
		for _, class := range slices.Sorted(maps.Keys(prices[name])) {
			fmt.Fprintf(&b, "%s: %q, ", class, prices[name][class])
		}
		b.WriteString("}\n")
	}
	b.WriteString(`aliases:
  second: {targets: ["broken/chat:status=500", "house/chat:ttft=50ms"], strategy: fallback}
  reworded: {targets: ["words/chat:status=500", "words/chat:ttft=50ms,tokens=200"], strategy: fallback}
  later: {targets: ["words/chat:ttft=3s,tokens=200,after=bill", "words/chat:ttft=50ms,tokens=200"], strategy: fallback}
`)
	return b.String()
}

// race describes many concurrent requests, in the long form a thousand, to a budget that covers few.
type race struct {
	name   string
	limit  llm.Money
	most   llm.Money // that may be left when no more requests are admitted
	kills  int
	bodies []string
}

// races returns the races. Clients do not wait for a model with ttft=3s or late=3s in its name.
func races() []race {
	requests := []string{
		`{"model":"house/chat:ttft=50ms","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"second","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=20ms,pace=5ms","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=3s","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=3s,after=bill","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:pace=30ms,late=3s,after=bill","messages":[{"role":"user","content":"Hi"}],"stream":true}`,
		`{"model":"house/chat:fault=cut,at=5,after=bill","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
	}
	words := []string{
		`{"model":"words/chat:ttft=50ms,tokens=200","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=5000","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=300","max_tokens":300,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"reworded","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=200,pace=1ms","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:ttft=3s","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"Hi"}]}`,
		// A client leaves while the model thinks, a stream breaks off after unreported thinking, the usage comes too
		// late, and the first byte too late, with and without another target.
		`{"model":"words/chat:ttft=3s,tokens=200,reasoning=300,after=bill","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=90,reasoning=300,fault=cut,at=5,after=bill","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:tokens=90,reasoning=200,late=3s,after=bill","stream":true,"max_tokens":300,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:pace=2ms,tokens=300,after=bill","max_tokens":300,"messages":[{"role":"user","content":"ttft=3s: whose client leaves"}]}`,
		`{"model":"later","max_tokens":300,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"words/chat:usage=missing,tokens=100,reasoning=250","max_tokens":400,"messages":[{"role":"user","content":"Hi"}]}`,
		// A file, a search, a service tier that costs twice as much, and a provider with a figure of its own.
		`{"model":"words/chat:ttft=50ms,tokens=20,files=4000,after=bill","stream":true,"max_tokens":50,"messages":[{"role":"user","content":[{"type":"text","text":"late=3s"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}`,
		`{"model":"human/chat:tokens=50,search=2,ttft=3s,after=bill","stream":true,"max_tokens":60,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}]}`,
		`{"model":"tiered/` + tieredModel + `","service_tier":"auto","max_tokens":200,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"own/chat:tokens=200,cost=0.25","max_tokens":250,"messages":[{"role":"user","content":"Hi"}]}`,
	}
	return []race{
		{name: "requests", limit: 37 * llm.USD, bodies: requests},
		{name: "killed-requests", limit: 37 * llm.USD, kills: 2, bodies: requests},
		{name: "words", limit: 37 * llm.USD, most: leastAnswer - 1, bodies: words},
		{name: "killed-words", limit: 37 * llm.USD, most: leastAnswer - 1, kills: 2, bodies: words},
	}
}

// testRaces checks that no budget is exceeded on three nodes, at any commit.
func testRaces(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML})
	defer f.close()
	f.watch()
	f.overbilled()
	for i := range theForm().races {
		for _, r := range races() {
			f.race(&r, fmt.Sprintf("%s-%d", r.name, i))
		}
		f.users(fmt.Sprintf("users-%d", i), 0)
		f.users(fmt.Sprintf("killed-users-%d", i), 2)
	}
	f.awaitQuiet()
	f.stopAll()
	f.nothingHeld()
	f.sound()
}

// forgetting has the database forget what it grants to nodes.
const forgetting = `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.granted := 0; RETURN NEW; END $$;
	CREATE TRIGGER forget BEFORE INSERT OR UPDATE ON slices FOR EACH ROW EXECUTE FUNCTION forget()`

// testForgetful deletes the granted slices from the database. The race must find that out.
func testForgetful(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML})
	defer f.close()
	f.watch()
	f.query(forgetting)
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

// testBoundless has a provider think far beyond the cap of its requests, whose clients leave: no gateway can know the
// cost. The race must find it out.
func testBoundless(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML})
	defer f.close()
	r := race{name: "boundless", limit: 5 * llm.USD, bodies: []string{
		`{"model":"words/chat:ttft=3s,reasoning=30000,uncapped,after=bill","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"Hi"}]}`,
	}}
	found := false
	for n := 0; n < 3 && !found; n++ { // on a busy machine all clients may have left before the provider receives their requests
		m := f.wealthy(fmt.Sprintf("%s-%d", r.name, n), r.limit)
		got := f.hold(&r, &m)
		f.settled(&m)
		spent, truth := f.spent(&m), f.truth(&m)
		t.Logf("with a provider that ignores caps: it charges $%s, spent $%s of $%s: %s", truth, spent, r.limit, got)
		if spent > r.limit {
			t.Errorf("spent $%s, want no more than the budget of $%s", spent, r.limit)
		}
		found = truth > r.limit
	}
	if !found {
		t.Errorf("the provider charges no more than the budget of $%s: nothing was found out", r.limit)
	}
	f.stopAll()
}

// racing holds the results of the clients of a race.
type racing struct {
	served, refused, left, away, other atomic.Int64
}

func (g *racing) String() string {
	return fmt.Sprintf("%d served, %d refused, %d left or cut off, %d told to come back, %d others",
		g.served.Load(), g.refused.Load(), g.left.Load(), g.away.Load(), g.other.Load())
}

// enough is the number of served clients from which on the provider's charges have a least. With fewer, a busy machine
// answered most of them too late, and what nobody observed counts at the most that it can cost.
const enough = 8

// race runs the race, spends the rest of its budget, and checks the result.
func (f *fleet) race(r *race, name string) {
	f.t.Helper()
	m := f.wealthy(name, r.limit)
	got := f.hold(r, &m)
	f.settled(&m) // late answers are read on, and release their holds
	rest := f.fill(&m, r.bodies[0])
	f.settled(&m)
	spent, peak, truth := f.spent(&m), f.peak(m.account), f.truth(&m)
	looked := f.neverOverdrawn(f.t, m.account)
	f.t.Logf("%s: the providers charge $%s, spent $%s of $%s, at most $%s settled and held: %s, %d after it; %d commits looked at",
		name, truth, spent, r.limit, peak, got, rest, looked)
	least := r.limit / 2 // the bound of docs/holds-evidence.md
	if r.kills > 0 {
		least = r.limit / 8 // the attempts of a killed node count at the most that they can cost
	}
	if got.served.Load() < enough {
		least = 0
	}
	if truth > r.limit || truth < least {
		f.t.Errorf("%s: the providers charge $%s, want $%s to $%s", name, truth, least, r.limit)
	}
	if spent > r.limit || r.limit-spent > r.most {
		f.t.Errorf("%s: spent $%s, want $%s and at most $%s less: %s", name, spent, r.limit, r.most, got)
	}
	if peak > r.limit {
		f.t.Errorf("%s: settled and held amounts reached $%s, want at most $%s", name, peak, r.limit)
	}
	// On a busy machine the leases of a thousand clients may arrive after a request's longest wait.
	if *nodesFlag && r.kills == 0 && got.away.Load() > 0 || got.other.Load() > 0 {
		f.t.Errorf("%s: got %s, want no others", name, got)
	}
}

// hold sends all requests, and kills nodes meanwhile.
func (f *fleet) hold(r *race, m *member) *racing {
	f.t.Helper()
	got := &racing{}
	var clients sync.WaitGroup
	for i := range theForm().racers {
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

// spent returns the account's spending in the database.
func (f *fleet) spent(m *member) llm.Money {
	f.t.Helper()
	return llm.Money(f.count("SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = '" + m.account + "'"))
}

// truth returns the providers' charges for all requests of an account.
func (f *fleet) truth(m *member) (sum llm.Money) {
	f.t.Helper()
	f.awaitQuiet()
	models := map[string]string{}
	for _, row := range f.rows(ofAccount(m.account)) {
		models[row.ID.String()] = row.FullModel()
	}
	var all []served
	must.Do(f.t, f.get("http://"+f.provider+"/ledger", nil, &all))
	prices := racePrices()
	prices["tiered"] = prices["words"] // see raceFile
	for i := range all {
		model, is := models[all[i].Attempt]
		if !is {
			continue
		}
		name, _, _ := strings.Cut(model, "/")
		price, err := prices[name].price()
		price.Modes = []llm.Mode{{Name: "priority", Times: 2000}}
		must.Do(f.t, err)
		sum += all[i].truth(&price)
	}
	return sum
}

// overbilled has a provider bill more than requested while every node has a slice: then no node admits more, and only
// that one request exceeds the budget.
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
	for _, n := range slices.Backward(f.nodes) { // the node that knows of it comes last
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
	var cost llm.Money
	for _, row := range f.rows(ofAccount(m.account)) {
		cost = max(cost, row.Cost)
	}
	spent := f.spent(&m)
	f.t.Logf("billed more than asked: $%s of $%s, of which $%s by one request; all nodes refuse %s later, after %d more", spent, limit, cost, took, more)
	if spent > limit+cost {
		f.t.Errorf("spent $%s, want at most $%s and the one request of $%s", spent, limit, cost)
	}
	if most := 2 * theForm().told; took > most {
		f.t.Errorf("all nodes refuse after %s, want it within %s", took, most)
	}
}

// wealthy creates a key of a new account with a budget.
func (f *fleet) wealthy(name string, limit llm.Money) member {
	f.t.Helper()
	return f.newcomer(name, []string{"budget", "--usd", limit.String(), "--period", "total"})
}

// newcomer creates a key of a new account with the given settings, and waits until all nodes know it.
func (f *fleet) newcomer(name string, settings ...[]string) member {
	f.t.Helper()
	f.join(name, "default")
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

// client1 runs one client of a race.
func (f *fleet) client1(got *racing, base string, m *member, body string) {
	limit := patience
	if strings.Contains(body, "ttft=3s") || strings.Contains(body, "late=3s") {
		limit = leaves
	}
	switch status, answer := f.chat(base, m, body, limit); status {
	case 0, http.StatusGatewayTimeout: // the other target may cost more than there is room for
		got.left.Add(1)
	case http.StatusOK:
		got.served.Add(1)
	case http.StatusTooManyRequests:
		got.refused.Add(1)
	case http.StatusServiceUnavailable:
		if got.away.Add(1) == 1 {
			f.t.Logf("%s: told to come back: %s", body, answer)
		}
	default:
		got.other.Add(1)
		f.t.Logf("%s: got %d %s", body, status, answer)
	}
}

// chat makes a request at OpenAI's client API, and returns its status, or 0 for none within the limit, and the answer.
func (f *fleet) chat(base string, m *member, body string, limit time.Duration) (status int, answer string) {
	status, answer, _ = f.converse(base, m, body, limit)
	return status, answer
}

// converse does the same as chat, and also returns the header of the answer.
func (f *fleet) converse(base string, m *member, body string, limit time.Duration) (status int, answer string, header http.Header) {
	ctx, cancel := context.WithTimeout(f.ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+base+openaiAPI, strings.NewReader(body))
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

// fill sends requests to node after node until each of them refuses in turn, and returns the number of served requests.
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

// settled waits until no attempt of an account is open and the database has all of them.
func (f *fleet) settled(m *member) {
	f.t.Helper()
	for _, n := range f.nodes {
		f.eventually(fmt.Sprintf("node %d holds nothing", n.number), patience, func() bool { return n.metric("weir_holds_open") == 0 })
		f.eventually(fmt.Sprintf("the database has the journal of node %d", n.number), patience, func() bool { return n.metric("weir_ledger_lag_bytes") == 0 })
	}
	if open := len(f.rows("state = 0 AND " + ofAccount(m.account))); open > 0 {
		f.t.Errorf("%d attempts are open when all is quiet, want none", open)
	}
}

// peak returns the greatest sum of the account's attempts at any time, with those in flight at their holds. An attempt
// is over, at the latest, when the next one of its request is opened, because both are in one record; unless it
// continues for at least a tenth of a second: then its answer was late and read on.
func (f *fleet) peak(account string) llm.Money {
	f.t.Helper()
	type step struct {
		at     time.Time
		amount llm.Money
	}
	var steps []step
	rows := f.rows(ofAccount(account))
	for i := range rows {
		r := &rows[i]
		ended := r.Opened.Add(r.Duration)
		if i+1 < len(rows) && rows[i+1].ID.Request == r.ID.Request {
			if next := rows[i+1].Opened; next.Before(ended) && ended.Sub(next) <= 100*time.Millisecond {
				ended = next
			}
		}
		steps = append(steps, step{r.Opened, r.Hold}, step{ended, r.MostCost() - r.Hold})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.amount, b.amount)) })
	var sum, most llm.Money
	for _, one := range steps {
		sum += one.amount
		most = max(most, sum)
	}
	return most
}

// nothingHeld checks that no slice is above its node's spending, and no attempt is open, after all nodes have stopped.
func (f *fleet) nothingHeld() {
	f.t.Helper()
	if open := f.count("SELECT count(*) FROM attempt_rows WHERE state = 0"); open > 0 {
		f.t.Errorf("%d attempts are open after all nodes have stopped, want none", open)
	}
	above := f.query(`SELECT scope, journal, granted FROM slices s WHERE granted > (
		SELECT coalesce(sum(spent), 0) FROM balances b WHERE b.scope = s.scope AND b.journal = s.journal)`)
	if len(above) > 0 {
		f.t.Errorf("%d slices are above their node's spending after all nodes have stopped: %v", len(above), above)
	}
}

// sound checks that the ledger agrees with itself and with the provider: each attempt that the provider saw has one
// row.
func (f *fleet) sound() {
	f.t.Helper()
	b := &books{}
	must.Do(f.t, f.get("http://"+f.provider+"/ledger", nil, &b.served))
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
