//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

// segmentSize is that of the journal: so small that there are many rotations.
const segmentSize = 64 << 10

// testGateway is a provider, a gateway on one data directory, and members with keys.
type testGateway struct {
	t         *testing.T
	ctx       context.Context
	dir, bin  string
	env       []string // of every process of the gateway
	rng       *rand.Rand
	simulator *processtest.Process
	provider  string // the simulator's address
	client    *http.Client
	gate      *gate
	members   []member
	lives     []life
	logs      []string
	constant  string // a fault of every life; empty for none
}

// member is a key of an account.
type member struct {
	name, account, key, token string
	onDisconnect              string // the account's treatment of answers whose client leaves
}

// newGateway builds the binary, starts the provider and creates the accounts.
func newGateway(ctx context.Context, t *testing.T, seed uint64) *testGateway {
	t.Helper()
	h := bareGateway(ctx, t, seed, build(t))
	h.configure(configuration(h.provider, filepath.Join(h.dir, "data")))
	h.join("patient", "drain")
	h.join("hasty", "cancel")
	h.join("hasty", "cancel")
	h.join("usual", "default")
	return h
}

// program is the path of weir with its fault points, once it is built.
var program struct {
	sync.Once
	path string
}

// build builds the program once for all tests, because linking takes longer than most of them.
func build(t *testing.T) string {
	t.Helper()
	program.Do(func() { program.path = processtest.Build(t, programDir, "weir/cmd/weir", "-tags", "faultpoints") })
	if program.path == "" {
		t.Fatal("the program was not built: see the error of the first test that needed it")
	}
	return program.path
}

// bareGateway starts only the provider.
func bareGateway(ctx context.Context, t *testing.T, seed uint64, bin string) *testGateway {
	t.Helper()
	h := &testGateway{
		t: t, ctx: ctx, dir: t.ArtifactDir(), bin: bin, rng: rand.New(rand.NewPCG(seed, 0)),
		gate: newGate(), client: &http.Client{Transport: &http.Transport{}},
	}
	provider := exec.CommandContext(ctx, must.Get(os.Executable())(t))
	provider.Env = append(os.Environ(), simulating+"=1")
	h.simulator = processtest.Start(t, provider, filepath.Join(h.dir, "simulator.log"), "simulating")
	h.provider = h.simulator.AwaitAddress(t)
	return h
}

// configure writes the configuration, and the price file that it may name.
func (h *testGateway) configure(text string) {
	h.t.Helper()
	for name, text := range map[string]string{"weir.yaml": text, raceFileName: raceFile} {
		must.Do(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600))
	}
}

// command returns a weir command with these arguments, in the directory of its configuration.
func (h *testGateway) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.ctx, h.bin, args...)
	cmd.Dir, cmd.Env = h.dir, processtest.Environ(h.env...)
	return cmd
}

// run runs a command to its end and returns its output.
func (h *testGateway) run(args ...string) []byte {
	h.t.Helper()
	return processtest.Run(h.t, h.command(args...))
}

// join creates a key, and its account if it is missing.
func (h *testGateway) join(name, onDisconnect string) {
	h.t.Helper()
	m := member{name: name, onDisconnect: onDisconnect}
	for _, other := range h.members {
		if other.name == name {
			m.account = other.account
		}
	}
	if m.account == "" {
		h.run("accounts", "create", name)
		shown := h.list("accounts", "hangup", name, "--set", onDisconnect)
		m.account = shown[0].ID
	}
	label := fmt.Sprintf("key %d", len(h.members))
	m.token = strings.TrimSpace(string(h.run("keys", "create", "--account", name, "--label", label)))
	for _, k := range h.list("keys", "list", "--account", name) {
		if k.Label == label {
			m.key = k.ID
		}
	}
	h.members = append(h.members, m)
}

// listed holds the fields that all listings share.
type listed struct{ ID, Label string }

// list parses the output of a listing: one object, or an array of them.
func (h *testGateway) list(args ...string) []listed {
	h.t.Helper()
	out := bytes.TrimSpace(h.run(append(args, "--json")...))
	if !bytes.HasPrefix(out, []byte("[")) {
		out = fmt.Appendf(nil, "[%s]", out)
	}
	var all []listed
	if err := json.Unmarshal(out, &all); err != nil || len(all) == 0 {
		h.t.Fatalf("weir %s: got %s (%v), want objects", strings.Join(args, " "), out, err)
	}
	return all
}

// get reads JSON from a server into v.
func (h *testGateway) get(url string, header http.Header, v any) error {
	r, err := http.NewRequestWithContext(h.ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header = header
	resp, err := h.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

// killUnder kills the gateway again and again while clients of one account work, and returns the rows of its ledger after
// a last start. The fault loses records, for a control; empty for none.
func (h *testGateway) killUnder(
	config, fault string, work func(ctx context.Context, token string) *sync.WaitGroup,
) []row {
	h.t.Helper()
	h.configure(fmt.Sprintf("data: %q\n", h.dir+"/data") + config)
	h.join("worker", "cancel")
	h.constant = fault
	working, rest := context.WithCancel(h.ctx)
	defer rest()
	clients := work(working, h.members[0].token)
	for range *killsFlag + 1 {
		h.live(plan{kind: atMoment, after: between(h.rng, 400*time.Millisecond, 1200*time.Millisecond)})
	}
	rest()
	clients.Wait()
	h.constant = ""
	process := h.serve(plan{})
	if h.awaitReady(process, h.gate).IsZero() {
		h.t.Fatalf("the gateway does not start for the last time; its output:\n%s", process.LastLines())
	}
	h.gate.shut()
	must.Do(h.t, process.Stop())
	return must.Get(readRows(bytes.NewReader(h.run("ledger", "export", "--format", "csv"))))(h.t)
}

// close ends the provider and forgets all connections.
func (h *testGateway) close() {
	h.client.CloseIdleConnections()
	if err := h.simulator.Stop(); err != nil {
		h.t.Errorf("simulator: %v", err)
	}
}
