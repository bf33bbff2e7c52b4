//go:build linux

package loadtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

const patience = processtest.Patience

// testGateway is a gateway and its provider, each a process of its own.
type testGateway struct {
	t           *testing.T
	dir         string
	weir, bench string // the programs
	gateway     *processtest.Process
	base        string // the gateway's address
	key         string
}

// settings of a gateway.
type settings struct {
	concurrency int
	processors  int // that it may use; 0 for all
}

const configuration = `
max_concurrency: %d
providers:
  house:
    dialect: openai
    base_url: http://%s/v1
    allow_private: true
    api_keys: [load]
    retries: 0
prices:
  house/*: {input: "0.15", output: "0.60"}
`

func newGateway(t *testing.T, s settings) *testGateway {
	t.Helper()
	h := &testGateway{t: t, dir: t.TempDir()}
	h.weir, h.bench = processtest.Build(t, h.dir, "weir/cmd/weir"), processtest.Build(t, h.dir, "weir/bench")
	provider := freeAddress(t)
	mock := exec.CommandContext(t.Context(), h.bench, "mock", "--listen", provider)
	processtest.Start(t, mock, filepath.Join(h.dir, "mock.log"), "mock listening").AwaitAddress(t)
	text := fmt.Sprintf(configuration, s.concurrency, provider)
	must.Do(t, os.WriteFile(filepath.Join(h.dir, "weir.yaml"), []byte(text), 0o600))
	serve := h.command("serve", "--listen", "127.0.0.1:0")
	if s.processors > 0 {
		serve.Env = append(serve.Env, fmt.Sprintf("GOMAXPROCS=%d", s.processors))
	}
	h.gateway = processtest.Start(t, serve, filepath.Join(h.dir, "gateway.log"), "listening")
	h.base = h.gateway.AwaitAddress(t)
	h.run(h.command("accounts", "create", "load"))
	h.key = strings.TrimSpace(h.run(h.command("keys", "create", "--account", "load", "--label", "load")))
	return h
}

// command returns a weir command with these arguments. Its environment has no variables that could enable a provider or
// change a setting.
func (h *testGateway) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), h.weir, args...)
	cmd.Dir, cmd.Env = h.dir, processtest.Environ()
	return cmd
}

// run runs a command to its end and returns its output.
func (h *testGateway) run(cmd *exec.Cmd) string {
	h.t.Helper()
	return string(processtest.Run(h.t, cmd))
}

// load runs the load to its end and decodes its measurements into v.
func (h *testGateway) load(d time.Duration, v any, args ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), d+patience)
	defer cancel()
	all := []string{"load", "--target", h.base, "--duration", d.String()}
	cmd := exec.CommandContext(ctx, h.bench, append(all, args...)...)
	cmd.Env = processtest.Environ("BENCH_KEY=" + h.key)
	out := h.run(cmd)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		h.t.Fatalf("load %v: got %s: %v", args, out, err)
	}
}

// end stops the gateway in order and has its books checked.
func (h *testGateway) end() {
	h.t.Helper()
	if err := h.gateway.Stop(); err != nil {
		h.t.Errorf("the gateway: %v", err)
	}
	h.run(h.command("ledger", "verify"))
}

// freeAddress returns an unused loopback address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}
