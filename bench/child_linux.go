package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// stopLimit is how long a child may take to stop before it is killed.
const stopLimit = 5 * time.Second

// child is a server started by the benchmark, which also stops it.
type child struct {
	name string
	cmd  *exec.Cmd
	log  string // file of its stdout and stderr
	done chan struct{}
}

// allCores stands for all cores in place of one.
const allCores = -1

// start starts a server on one core, or on all. It runs until stop, or until this process ends. Its environment has
// only PATH and temporary directories.
func (b *bench) start(name string, core int, argv ...string) (*child, error) {
	c := &child{name: name, log: filepath.Join(b.dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir, c.cmd.Env = b.dir, bareEnv(b.dir)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := b.startOn(core, c.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = c.cmd.Wait() // its log shows the reason of its end
		close(c.done)
	}()
	b.children = append(b.children, c)
	return c, nil
}

// startOn starts a command on one core. A child inherits the affinity of the thread that creates it, so its runtime
// sees one core from the start.
func (b *bench) startOn(core int, cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := pinThread(0, core); err != nil {
		return err
	}
	return errors.Join(cmd.Start(), pinThread(0, b.loadCore))
}

func bareEnv(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// stop sends SIGTERM to the child, and kills it after stopLimit.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return
	case <-time.After(stopLimit):
	}
	_ = c.cmd.Process.Kill()
	<-c.done
}

// stopAll stops all children, the last one first.
func (b *bench) stopAll() {
	for i := len(b.children) - 1; i >= 0; i-- {
		b.children[i].stop()
	}
	b.children = nil
}

// said returns the end of the child's output.
func (c *child) said() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	const keep = 2 << 10
	return strings.TrimSpace(string(text[max(0, len(text)-keep):]))
}

// readyLimit bounds a start, and readyStep is the precision of its measured time.
const (
	readyLimit = 15 * time.Second
	readyStep  = 250 * time.Microsecond
)

// ready waits until a try succeeds.
func (c *child) ready(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(readyLimit); ; {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("%s ended before it answered; it said:\n%s", c.name, c.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(readyStep):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not answer: %w; it said:\n%s", c.name, err, c.said())
		}
	}
}

// freeAddr returns an unused address on loopback.
func freeAddr() (netip.AddrPort, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}
