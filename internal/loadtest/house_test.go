//go:build linux

package loadtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for a process to do what it was told.
const patience = 20 * time.Second

// house is a gateway and its provider, each a process of its own.
type house struct {
	t           *testing.T
	dir         string
	weir, bench string // the programs
	gateway     *process
	base        string // the gateway's address
	key         string
}

// settings are a gateway's.
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

func newHouse(t *testing.T, s settings) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir()}
	h.weir, h.bench = h.build("weir/cmd/weir"), h.build("weir/bench")
	provider := freeAddress(t)
	h.start("mock", "mock listening", exec.CommandContext(t.Context(), h.bench, "mock", "--listen", provider))
	text := fmt.Sprintf(configuration, s.concurrency, provider)
	if err := os.WriteFile(filepath.Join(h.dir, "weir.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := h.command("serve", "--listen", "127.0.0.1:0")
	if s.processors > 0 {
		serve.Env = append(serve.Env, fmt.Sprintf("GOMAXPROCS=%d", s.processors))
	}
	h.gateway = h.start("gateway", "listening", serve)
	h.base = h.gateway.address
	h.run(h.command("accounts", "create", "load"))
	h.key = strings.TrimSpace(h.run(h.command("keys", "create", "--account", "load", "--label", "load")))
	return h
}

// build makes a program, without the race detector, which is for tests in one
// process.
func (h *house) build(what string) (path string) {
	h.t.Helper()
	path = filepath.Join(h.dir, filepath.Base(what)+".program")
	h.run(exec.CommandContext(h.t.Context(), "go", "build", "-race=false", "-buildvcs=false", "-o", path, what))
	return path
}

// command is weir with these arguments. It sees nothing of the environment that
// could switch on a provider or change a setting.
func (h *house) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), h.weir, args...)
	cmd.Dir, cmd.Env = h.dir, bare()
	return cmd
}

func bare(more ...string) []string {
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		more = append(more, name+"="+os.Getenv(name))
	}
	return more
}

// run runs a command to its end and returns what it printed.
func (h *house) run(cmd *exec.Cmd) string {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("%s: %v\n%s%s", cmd, err, &stdout, &stderr)
	}
	return stdout.String()
}

// load runs the load to its end and reads what it measured into v.
func (h *house) load(d time.Duration, v any, args ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), d+patience)
	defer cancel()
	all := []string{"load", "--target", h.base, "--duration", d.String()}
	cmd := exec.CommandContext(ctx, h.bench, append(all, args...)...)
	cmd.Env = bare("BENCH_KEY=" + h.key)
	out := h.run(cmd)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		h.t.Fatalf("load %v: got %s: %v", args, out, err)
	}
}

// end stops the gateway in order and has its books checked.
func (h *house) end() {
	h.t.Helper()
	if err := h.gateway.stop(); err != nil {
		h.t.Errorf("the gateway: %v", err)
	}
	h.run(h.command("ledger", "verify"))
}

// process is one that the test started. It is killed when the test ends.
type process struct {
	cmd     *exec.Cmd
	address string // at which it answers
	over    chan struct{}
	log     string
}

// start starts a command and waits until it has said, behind the words, where
// it listens.
func (h *house) start(name, words string, cmd *exec.Cmd) *process {
	h.t.Helper()
	p := &process{cmd: cmd, over: make(chan struct{}), log: filepath.Join(h.dir, name+".log")}
	file, err := os.Create(p.log)
	if err != nil {
		h.t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // should the test itself be killed
	if err := cmd.Start(); err != nil {
		h.t.Fatalf("start %s: %v", cmd, err)
	}
	said := make(chan string, 1)
	go func() {
		defer close(p.over)
		lines := bufio.NewReader(io.TeeReader(stderr, file))
		for err := error(nil); err == nil; {
			var line string
			line, err = lines.ReadString('\n')
			if rest, ok := strings.CutPrefix(line, words+" on http://"); ok {
				said <- strings.TrimSpace(rest)
			}
		}
		_ = cmd.Wait() // how it ended stands in cmd.ProcessState
		_ = file.Close()
	}()
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-p.over
	})
	select {
	case p.address = <-said:
	case <-p.over:
		h.t.Fatalf("%s does not start: %s", name, p.said())
	case <-time.After(patience):
		h.t.Fatalf("%s does not start within %s: %s", name, patience, p.said())
	}
	return p
}

// said is what the process wrote to stderr.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log) // a log that is not there says nothing
	return string(text)
}

// stop asks the process to end, and reports whether it did so well and in time.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.over:
	case <-time.After(patience):
		return fmt.Errorf("it did not stop within %s of SIGTERM: %s", patience, p.said())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("it stopped with %s: %s", p.cmd.ProcessState, p.said())
	}
	return nil
}

// freeAddress is a loopback address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
