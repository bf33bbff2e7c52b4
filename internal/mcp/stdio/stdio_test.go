package stdio_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/mcp/stdio"
	"weir/internal/must"
)

// logged is a log in memory.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// open runs the test binary in a role, with further variables.
func open(t *testing.T, as string, env ...string) (*mcp.Client, *logged) {
	t.Helper()
	log := new(logged)
	o := stdio.Options{
		Command: []string{must.Get(os.Executable())(t)}, MaxLine: 64 << 10, Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, e := range append(env, role+"="+as) {
		o.Env = append(o.Env, llm.NewSecret(e))
	}
	c, err := mcp.New(mcp.Options{
		Name: "peer", Through: stdio.New(o), URL: "stdio:peer", Timeout: time.Minute, MaxAnswer: 64 << 10, Version: "test",
	})
	must.Do(t, err)
	t.Cleanup(c.Close)
	return c, log
}

// state describes a peer in its own words.
type state struct {
	PID, Begun, Ready     int
	Muted, Cancelled      int
	Declined, Environment string
}

func stateOf(t *testing.T, c *mcp.Client, session string) (s state) {
	t.Helper()
	result, err := c.Do(t.Context(), &mcp.Request{Method: "test/state", Session: session})
	must.Do(t, err)
	must.Do(t, json.Unmarshal(result, &s))
	return s
}

func TestOfficialServerListsToolsByStdio(t *testing.T) {
	t.Parallel()
	c, log := open(t, "official")
	list, err := c.ListTools(t.Context(), "")
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "sum" || !mcp.Speaks(c.Revision()) {
		t.Fatalf("got %v by revision %q, %v; want sum\n%s", list, c.Revision(), err, log)
	}
	t.Logf("revision %s", c.Revision())
}

// TestOlderServerIsInitialized checks servers that do not know server/discover, each in its way.
func TestOlderServerIsInitialized(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"refuses", "exits", "ignores"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			c, log := open(t, as)
			if s := stateOf(t, c, ""); s.Begun != 1 || s.Ready != 1 || c.Revision() != mcp.Sessions {
				t.Errorf("got %+v by revision %q, want one initialization\n%s", s, c.Revision(), log)
			}
		})
	}
}

func TestCallersShareOneProcess(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	var all [8]state
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() { all[i] = stateOf(t, c, string(rune('a'+i))) })
	}
	running.Wait()
	for _, s := range all {
		if s.PID == 0 || s.PID != all[0].PID || s.Begun != 1 || s.Ready != 1 {
			t.Errorf("got %+v, want the process %d, initialized once", s, all[0].PID)
		}
	}
}

func TestEnvironmentHasOnlyNamedVariables(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses", "TOKEN=canary")
	if got, want := stateOf(t, c, "").Environment, "TOKEN=canary,"+role+"=refuses"; got != want {
		t.Errorf("got the environment %q, want %q", got, want)
	}
}

// TestHostileProcessFailsItsOwnRequest checks the error of each misbehaviour, and that the next request works.
func TestHostileProcessFailsItsOwnRequest(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"test/exit": "without an answer", "test/closed": "without an answer", "test/endless": "without an answer",
		"test/long": "longer than the bound", "test/unended": "without an answer", "test/stray": "", "test/ask": "",
		"test/stderr": "",
	} {
		t.Run(strings.TrimPrefix(method, "test/"), func(t *testing.T) {
			t.Parallel()
			c, log := open(t, "refuses")
			_, err := c.Do(t.Context(), &mcp.Request{Method: method})
			var f *mcp.Failure
			switch {
			case want == "" && err != nil:
				t.Errorf("got %v, want no error\n%s", err, log)
			case want != "" && (!errors.As(err, &f) || !f.Sent || !strings.Contains(err.Error(), want)):
				t.Errorf("got %v, want a failure of a sent request with %q\n%s", err, want, log)
			}
			s := stateOf(t, c, "")
			if s.Begun != 1 {
				t.Errorf("got %+v after it, want a process that was initialized", s)
			}
			if asked := method == "test/ask"; asked != strings.Contains(s.Declined, "does not answer") {
				t.Errorf("got the refusals %q, want one: %v", s.Declined, asked)
			}
		})
	}
}

func TestForgottenSessionBeginsAnewUnseen(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	before, other := stateOf(t, c, "a"), stateOf(t, c, "b")
	if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/exit", Session: "a"}); err == nil {
		t.Fatal("got no error of a process that exits")
	}
	for _, session := range []string{"b", "a"} {
		if after := stateOf(t, c, session); after.PID == before.PID || after.Begun != 1 || other.PID != before.PID {
			t.Errorf("session %s: got %+v after %+v, want another process", session, after, before)
		}
	}
}

func TestSilentProcessDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "refuses")
	before := stateOf(t, c, "")
	ended := make(chan error, 1)
	go func() {
		_, err := c.Do(t.Context(), &mcp.Request{Method: "test/mute"})
		ended <- err
	}()
	if after := stateOf(t, c, "other"); after.PID != before.PID {
		t.Errorf("got %+v, want the process %d", after, before.PID)
	}
	c.Close()
	if err := <-ended; err == nil || strings.Contains(err.Error(), "cancelled") {
		t.Errorf("got %v, want the error of a lost process", err)
	}
}

// TestCloseEndsChildrenOfProcess checks that a child of the process, which holds its pipes, ends with it: when the
// client is closed, and when the process exits.
func TestCloseEndsChildrenOfProcess(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"close", "exit"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
			defer func() { _ = listener.Close() }()
			c, _ := open(t, "refuses")
			params := must.Get(json.Marshal(map[string]string{"address": listener.Addr().String()}))(t)
			_, err := c.Do(t.Context(), &mcp.Request{Method: "test/fork", Params: params})
			must.Do(t, err)
			connection := must.Get(listener.Accept())(t)
			defer func() { _ = connection.Close() }()
			if how == "close" {
				c.Close()
			} else if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/exit"}); err == nil {
				t.Error("got no error of a process that exits")
			}
			if n, err := io.Copy(io.Discard, connection); n != 0 { // until the child ends
				t.Errorf("got %d bytes, %v from the child", n, err)
			}
		})
	}
}

// TestKilledGatewayLeavesNoProcess checks that the kernel ends the process of a gateway that is killed.
func TestKilledGatewayLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process together with its parent")
	}
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	parent := exec.CommandContext(t.Context(), must.Get(os.Executable())(t))
	parent.Env = []string{role + "=parent " + listener.Addr().String()}
	must.Do(t, parent.Start())
	connection := must.Get(listener.Accept())(t)
	defer func() { _ = connection.Close() }()
	must.Do(t, parent.Process.Kill())
	if n, err := io.Copy(io.Discard, connection); n != 0 { // until the process ends
		t.Errorf("got %d bytes, %v from the process", n, err)
	}
	_ = parent.Wait() // it was killed
}

func TestStandardErrorIsLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	c, log := open(t, "refuses", "TOKEN=canary-0123")
	_, err := c.Do(t.Context(), &mcp.Request{Method: "test/stderr"})
	must.Do(t, err)
	c.Close() // reads all
	text := log.String()
	n := strings.Count(text, "the token is [redacted]")
	if n == 0 || n > 2500 || strings.Contains(text, "canary") {
		t.Errorf("got %d of 5000 lines, want some, without the secret: %.1000s", n, text)
	}
}

func TestProcessThatKeepsEndingRests(t *testing.T) {
	t.Parallel()
	c, log := open(t, "failing")
	var last error
	for range 20 {
		if _, last = c.Do(t.Context(), &mcp.Request{Method: "test/state"}); last == nil {
			t.Fatal("got no error of a process that exits at once")
		}
	}
	var f *mcp.Failure
	if n := strings.Count(log.String(), "process of an MCP server ended"); !errors.As(last, &f) || f.Sent || n == 0 || n > 15 {
		t.Errorf("got %d starts and %v, want fewer than requests, which are not sent", n, last)
	}
}

func TestClosedServerStartsNothing(t *testing.T) {
	t.Parallel()
	c, log := open(t, "refuses")
	c.Close()
	if _, err := c.Do(t.Context(), &mcp.Request{Method: "test/state"}); err == nil || log.String() != "" {
		t.Errorf("got %v and the log %q, want an error and no process", err, log)
	}
}

func TestMissingProgramIsNotReached(t *testing.T) {
	t.Parallel()
	c := must.Get(mcp.New(mcp.Options{Name: "peer", Through: stdio.New(stdio.Options{
		Command: []string{t.TempDir() + "/none"}, Log: slog.New(slog.DiscardHandler),
	})}))(t)
	defer c.Close()
	_, err := c.Do(t.Context(), &mcp.Request{Method: "test/state"})
	if f, ok := errors.AsType[*mcp.Failure](err); !ok || f.Sent || f.Err.Code != llm.CodeProviderUnavailable {
		t.Errorf("got %v, want a server that cannot be reached", err)
	}
}
