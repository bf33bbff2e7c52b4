//go:build unix

package crashtest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for a process to do what it was told.
const patience = 20 * time.Second

// process is one that the test started. It is killed when the test ends.
type process struct {
	cmd     *exec.Cmd
	log     string // the file with what it wrote to stderr
	started time.Time
	address chan string // gets the address at which it answers
	over    chan struct{}
	ended   time.Time // when it was seen dead; valid once over is closed
}

// start runs the command with its stderr in a file of that name. The word is
// what stands before the address in the line that announces it.
func start(t *testing.T, cmd *exec.Cmd, log, word string) *process {
	t.Helper()
	p := &process{cmd: cmd, log: log, address: make(chan string, 1), over: make(chan struct{})}
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.started = time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd, err)
	}
	go func() {
		defer close(p.over)
		lines := bufio.NewReader(io.TeeReader(stderr, file))
		for err := error(nil); err == nil; {
			var line string
			line, err = lines.ReadString('\n')
			if rest, ok := strings.CutPrefix(line, word+" on http://"); ok {
				p.address <- strings.FieldsFunc(rest, func(r rune) bool { return r == ';' || r == '\n' })[0]
			}
		}
		_ = cmd.Wait() // how it ended stands in cmd.ProcessState
		p.ended = time.Now()
		_ = file.Close()
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// kill is kill -9. It returns when the process is dead.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be dead
	<-p.over
}

// stop asks the process to end, and reports whether it did so well and in
// time.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if !p.endsWithin(patience) {
		p.kill()
		return fmt.Errorf("it did not stop within %s of SIGTERM; see %s", patience, p.log)
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("it stopped with %s; see %s", p.cmd.ProcessState, p.log)
	}
	return nil
}

func (p *process) endsWithin(d time.Duration) bool {
	select {
	case <-p.over:
		return true
	case <-time.After(d):
		return false
	}
}

// wasKilled reports whether the dead process died by SIGKILL.
func (p *process) wasKilled() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// build makes the binary with its fault points, and without the race detector,
// which is for the tests in one process.
func build(ctx context.Context, t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "weir")
	cmd := exec.CommandContext(ctx, "go", "build", "-race=false", "-buildvcs=false", "-tags", "faultpoints", "-o", bin, "weir/cmd/weir")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return bin
}

// environ is what the processes get of the environment: nothing that could
// switch on a provider or change a setting.
func environ(more ...string) []string {
	more = slices.Clone(more)
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		more = append(more, name+"="+os.Getenv(name))
	}
	return more
}
