//go:build unix

package crashtest_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/store/pgtest"

	"weir/internal/processtest"
)

// database is the name of the nodes' common database.
const database = "weir"

// fleet holds gateways that share a database, and one provider.
type fleet struct {
	*testGateway
	server *pgtest.Server // with the database; after a failover the new one
	nodes  []*node
}

// node is one gateway: a data directory, and the process that runs on it.
type node struct {
	fleet   *fleet
	number  int
	dir     string
	env     []string
	gate    *gate
	process *processtest.Process
	ready   time.Time // when the process first answered
	lives   []life
}

// founding configures a fleet.
type founding struct {
	bin    string
	seed   uint64
	nodes  int
	server *pgtest.Server
	url    string                       // the nodes' URL of the database; empty for the server's own
	valkey string                       // URL; empty for none
	yaml   func(provider string) string // the configuration without the data directory
}

// newFleet starts a provider and the nodes.
func newFleet(ctx context.Context, t *testing.T, o *founding) *fleet {
	t.Helper()
	f := &fleet{testGateway: bareGateway(ctx, t, o.seed, o.bin), server: o.server}
	f.env = []string{"WEIR_DATA=" + f.dir, "WEIR_DATABASE=" + o.server.URL(database)}
	f.configure(o.yaml(f.provider))
	for number := range o.nodes {
		n := &node{fleet: f, number: number, gate: newGate(), dir: filepath.Join(f.dir, fmt.Sprintf("node-%d", number))}
		n.env = []string{"WEIR_DATA=" + n.dir, "WEIR_DATABASE=" + cmp.Or(o.url, o.server.URL(database)), "WEIR_VALKEY=" + o.valkey}
		must.Do(t, os.Mkdir(n.dir, 0o700))
		f.nodes = append(f.nodes, n)
	}
	for _, n := range f.nodes {
		n.start()
	}
	f.gate = f.nodes[0].gate
	return f
}

// follow makes another server the one with the database.
func (f *fleet) follow(s *pgtest.Server) {
	f.server = s
	f.env = append(f.env, "WEIR_DATABASE="+s.URL(database))
}

// newServer starts a server of the test's own with an empty database.
func newServer(t *testing.T) *pgtest.Server {
	t.Helper()
	s := pgtest.New(t)
	must.Do(t, s.Exec(t.Context(), "postgres", "CREATE DATABASE "+database))
	return s
}

// start starts the node's process and waits until it answers.
func (n *node) start(env ...string) {
	f := n.fleet
	f.t.Helper()
	n.launch(env...)
	if n.ready = f.awaitReady(n.process, n.gate); n.ready.IsZero() {
		f.t.Fatalf("node %d does not start; its output:\n%s", n.number, n.process.LastLines())
	}
}

// launch starts the node's process.
func (n *node) launch(env ...string) {
	f := n.fleet
	f.t.Helper()
	cmd := f.command("serve", "--listen", "127.0.0.1:0")
	cmd.Env = append(slices.Concat(cmd.Env, n.env), env...)
	log := filepath.Join(f.dir, fmt.Sprintf("node-%d-life-%03d.log", n.number, len(n.lives)))
	f.logs = append(f.logs, log)
	n.process = processtest.Start(f.t, cmd, log, "listening")
}

// kill sends SIGKILL.
func (n *node) kill() {
	n.process.Kill()
	n.over(atMoment)
}

// stop sends SIGTERM.
func (n *node) stop() {
	n.fleet.t.Helper()
	n.gate.shut()
	if err := n.process.Stop(); err != nil {
		n.fleet.t.Errorf("node %d: %v", n.number, err)
	}
	n.over(gracious)
}

// over records the ended life.
func (n *node) over(how ending) {
	n.gate.shut()
	n.lives = append(n.lives, life{
		plan: plan{kind: how}, node: n.number,
		began: n.process.Started, ready: n.ready, ended: n.process.Ended, killed: wasKilled(n.process),
	})
}

// restart sends SIGKILL, and starts a new process.
func (n *node) restart() {
	n.fleet.t.Helper()
	n.kill()
	n.start()
}

// stopAll stops every node, which closes all books.
func (f *fleet) stopAll() {
	f.t.Helper()
	for _, n := range f.nodes {
		n.stop()
	}
}

// verify runs "weir ledger verify" with the node's journal.
func (n *node) verify() verification {
	n.fleet.t.Helper()
	cmd := n.fleet.command("ledger", "verify", "--json")
	cmd.Env = append(cmd.Env, "WEIR_DATA="+n.dir)
	return n.fleet.verify(cmd)
}

// base returns the node's address, HOST:PORT.
func (n *node) base() string { return n.gate.pass(n.fleet.ctx) }

// metric returns a metric of the node.
func (n *node) metric(name string) float64 {
	n.fleet.t.Helper()
	text, err := n.read("/metrics")
	if err != nil {
		n.fleet.t.Fatalf("metrics of node %d: %v", n.number, err)
	}
	return figure(n.fleet.t, text, name)
}

// figure returns the metric of that name without labels.
func figure(t *testing.T, metrics, name string) float64 {
	t.Helper()
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return must.Get(strconv.ParseFloat(strings.TrimSpace(value), 64))(t)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// read returns the node's answer to a GET request, with any status.
func (n *node) read(path string) (string, error) { return n.fleet.readFrom(n.base(), path) }

func (h *testGateway) readFrom(base, path string) (string, error) {
	r, err := http.NewRequestWithContext(h.ctx, http.MethodGet, "http://"+base+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// query runs SQL in the fleet's database.
func (f *fleet) query(statements string) [][]string {
	f.t.Helper()
	rows, err := f.server.Query(f.ctx, database, statements)
	if err != nil {
		f.t.Fatalf("%s: %v", statements, err)
	}
	return rows
}

// count returns the single number of a query's result.
func (f *fleet) count(query string) int64 {
	f.t.Helper()
	rows := f.query(query)
	if len(rows) != 1 || len(rows[0]) != 1 {
		f.t.Fatalf("%s: got %q, want one value", query, rows)
	}
	n, err := strconv.ParseInt(rows[0][0], 10, 64)
	if err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// journals returns the number of each node's journal in the database.
func (f *fleet) journals() map[string]int {
	f.t.Helper()
	all := map[string]int{}
	for _, n := range f.nodes {
		id, ok, err := ledger.Identity(filepath.Join(n.dir, "journal"))
		if err != nil || !ok {
			f.t.Fatalf("node %d has no journal: %v", n.number, err)
		}
		for _, row := range f.query("SELECT number FROM journals WHERE journal = '" + id.String() + "'") {
			all[row[0]] = n.number
		}
	}
	return all
}

// allLives returns the lives of all nodes, each node's in their order.
func (f *fleet) allLives() (all []life) {
	for _, n := range f.nodes {
		all = append(all, n.lives...)
	}
	return slices.Clip(all)
}

// eventually waits until ask returns true.
func (f *fleet) eventually(what string, limit time.Duration, ask func() bool) time.Duration {
	f.t.Helper()
	began := time.Now()
	for !ask() {
		if time.Since(began) > limit {
			f.t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}
