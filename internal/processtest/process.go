// Package processtest starts programs as processes of a test and kills them when the test ends.
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

// Patience bounds every wait for a process.
const Patience = time.Minute

// lastBytes bounds the result of LastLines.
const lastBytes = 4 << 10

// Process is a process started by a test. It is killed when the test ends.
type Process struct {
	Cmd     *exec.Cmd
	Log     string // file with its stderr
	Started time.Time
	Address chan string   // receives the address that the process listens on
	Over    chan struct{} // closed when the process has ended
	Ended   time.Time     // when its end was noticed; valid after Over is closed
}

// Start starts the command with its stderr in the file log. The process announces its address by a line that begins
// with word.
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
		_ = cmd.Wait() // the result is in cmd.ProcessState
		p.Ended = time.Now()
		_ = file.Close()
	}()
	t.Cleanup(p.Kill)
	return p
}

// AwaitAddress waits until the process has announced its address.
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

// Said returns the stderr of the process.
func (p *Process) Said() string {
	text, _ := os.ReadFile(p.Log) // empty if there is no log
	return string(text)
}

// LastLines returns the end of its stderr for messages, because the directories of a failed test are removed.
func (p *Process) LastLines() string {
	said := p.Said()
	if cut := len(said) - lastBytes; cut > 0 {
		said = said[cut:]
	}
	return said
}

// Kill kills the process (SIGKILL) and waits for its end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended already
	<-p.Over
}

// Stop sends SIGTERM to the process, and returns an error unless it ends successfully and in time.
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

// EndsWithin reports whether the process ends within d.
func (p *Process) EndsWithin(d time.Duration) bool {
	select {
	case <-p.Over:
		return true
	case <-time.After(d):
		return false
	}
}

// Run runs a command to its end and returns its stdout.
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

// Build builds the program of a package into the directory, with the flags for go build, and without the race detector,
// which only works within a process. go run links a program only if the cache has no such program, unlike go build.
func Build(t *testing.T, dir, what string, flags ...string) (path string) {
	t.Helper()
	path = filepath.Join(dir, filepath.Base(what)+".program")
	args := slices.Concat([]string{"run", "-race=false", "-buildvcs=false", "-ldflags=-s -w", "-exec=cp"}, flags, []string{what, path})
	Run(t, exec.CommandContext(t.Context(), "go", args...))
	return path
}

// Environ returns the environment of the processes, without variables that could enable a provider or change a setting.
func Environ(more ...string) []string {
	more = slices.Clone(more)
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		more = append(more, name+"="+os.Getenv(name))
	}
	return more
}
