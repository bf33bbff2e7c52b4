// Package processtest starts programs as processes of a test, and ends them with it.
package processtest

import (
	"bufio"
	"bytes"
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

	"weir/internal/must"
)

// Patience bounds every wait for a process to do what it was told.
const Patience = time.Minute

// lastBytes bounds what LastLines gives.
const lastBytes = 4 << 10

// Process is one that the test started. It is killed when the test ends.
type Process struct {
	Cmd     *exec.Cmd
	Log     string // the file with what it wrote to stderr
	Started time.Time
	Address chan string   // gets the address at which it answers
	Over    chan struct{} // closed when it is dead
	Ended   time.Time     // when it was seen dead; valid once Over is closed
}

// Start runs the command with its stderr in a file of that name. The word is
// what stands before the address in the line that announces it.
func Start(t *testing.T, cmd *exec.Cmd, log, word string) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, Log: log, Address: make(chan string, 1), Over: make(chan struct{})}
	file := must.Get(os.Create(log))(t)
	stderr, err := cmd.StderrPipe()
	must.Do(t, err)
	endWithParent(cmd)
	p.Started = time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd, err)
	}
	go func() {
		defer close(p.Over)
		lines := bufio.NewReader(io.TeeReader(stderr, file))
		for err := error(nil); err == nil; {
			var line string
			line, err = lines.ReadString('\n')
			if _, rest, ok := strings.Cut(line, "://"); ok && strings.HasPrefix(line, word+" on http") {
				p.Address <- strings.FieldsFunc(rest, func(r rune) bool { return r == ';' || r == '\n' })[0]
			}
		}
		_ = cmd.Wait() // how it ended stands in cmd.ProcessState
		p.Ended = time.Now()
		_ = file.Close()
	}()
	t.Cleanup(p.Kill)
	return p
}

// AwaitAddress waits until the process has said at which address it answers.
func (p *Process) AwaitAddress(t *testing.T) string {
	t.Helper()
	select {
	case address := <-p.Address:
		return address
	case <-p.Over:
		t.Fatalf("%s does not start: %s", p.Cmd, p.Said())
	case <-time.After(Patience):
		t.Fatalf("%s does not start within %s: %s", p.Cmd, Patience, p.Said())
	}
	return ""
}

// Said is what the process wrote to stderr.
func (p *Process) Said() string {
	text, _ := os.ReadFile(p.Log) // a log that is not there says nothing
	return string(text)
}

// LastLines is the end of what it wrote to stderr, for messages: the directories of a test that failed are gone.
func (p *Process) LastLines() string {
	said := p.Said()
	if cut := len(said) - lastBytes; cut > 0 {
		said = said[cut:]
	}
	return said
}

// Kill is kill -9. It returns when the process is dead.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may be dead
	<-p.Over
}

// Stop asks the process to end, and reports whether it did so well and in time.
func (p *Process) Stop() error {
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if !p.EndsWithin(Patience) {
		p.Kill()
		return fmt.Errorf("it did not stop within %s of SIGTERM; it said:\n%s", Patience, p.LastLines())
	}
	if !p.Cmd.ProcessState.Success() {
		return fmt.Errorf("it stopped with %s; it said:\n%s", p.Cmd.ProcessState, p.LastLines())
	}
	return nil
}

// EndsWithin reports whether the process ends within that time.
func (p *Process) EndsWithin(d time.Duration) bool {
	select {
	case <-p.Over:
		return true
	case <-time.After(d):
		return false
	}
}

// Run runs a command to its end and returns what it printed.
func Run(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	endWithParent(cmd)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &stdout, &stderr)
	}
	return stdout.Bytes()
}

// Build makes the program of a package in the directory, with these flags of go build, and
// without the race detector, which is for tests in one process.
func Build(t *testing.T, dir, what string, flags ...string) (path string) {
	t.Helper()
	path = filepath.Join(dir, filepath.Base(what)+".program")
	args := slices.Concat([]string{"build", "-race=false", "-buildvcs=false", "-o", path}, flags, []string{what})
	Run(t, exec.CommandContext(t.Context(), "go", args...))
	return path
}

// Environ is what the processes get of the environment: nothing that could
// switch on a provider or change a setting.
func Environ(more ...string) []string {
	more = slices.Clone(more)
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		more = append(more, name+"="+os.Getenv(name))
	}
	return more
}
