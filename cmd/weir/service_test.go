package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

// serviceManager simulates the service manager of a gateway.
type serviceManager struct {
	t      *testing.T
	binary string
	dir    string   // with weir.yaml and the data
	env    []string // in addition to the test's own
	socket *net.UnixConn

	process *processtest.Process // which was started last
}

// newServiceManager listens for messages at the name, which is a path or begins with @.
func newServiceManager(t *testing.T, name string) *serviceManager {
	t.Helper()
	m := &serviceManager{t: t, dir: t.TempDir()}
	m.binary = filepath.Join(m.dir, "weir") // the test's own binary, which runs the command under this name
	must.Do(t, os.Symlink(must.Get(os.Executable())(t), m.binary))
	if name == "" {
		name = filepath.Join(m.dir, "notify")
	}
	m.socket = must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = m.socket.Close() })
	m.env = []string{"NOTIFY_SOCKET=" + name, "WEIR_LISTEN=127.0.0.1:0", "GORACE=atexit_sleep_ms=0"}
	return m
}

// start runs weir serve with these sockets passed, by sd_listen_fds(3).
func (m *serviceManager) start(passed ...*os.File) *processtest.Process {
	m.t.Helper()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=${LISTEN_PID-$$} exec "$0" serve`, m.binary)
	cmd.Dir, cmd.ExtraFiles = m.dir, passed
	cmd.Env = processtest.Environ(m.env...)
	if len(passed) > 0 {
		names := strings.Repeat(":weir.socket", len(passed))[1:]
		cmd.Env = append(cmd.Env, fmt.Sprintf("LISTEN_FDS=%d", len(passed)), "LISTEN_FDNAMES="+names)
	}
	m.process = processtest.Start(m.t, cmd, filepath.Join(m.t.TempDir(), "serve.err"), "listening")
	return m.process
}

// next returns the next message that is not the watchdog's.
func (m *serviceManager) next() string {
	m.t.Helper()
	for {
		if message := m.read(); message != "WATCHDOG=1" {
			return message
		}
	}
}

func (m *serviceManager) read() string {
	m.t.Helper()
	must.Do(m.t, m.socket.SetReadDeadline(time.Now().Add(processtest.Patience)))
	var message [4 << 10]byte
	n, err := m.socket.Read(message[:])
	if err != nil {
		m.t.Fatalf("the manager got no message: %v; the gateway's output: %q", err, m.process.Said())
	}
	return string(message[:n])
}

// wants checks that the next message has these parts, in this order.
func (m *serviceManager) wants(parts ...string) {
	m.t.Helper()
	got, from := m.next(), 0
	for _, part := range parts {
		at := strings.Index(got[from:], part)
		if at < 0 {
			m.t.Errorf("the manager got %q, want %q in this order", got, parts)
			return
		}
		from += at + len(part)
	}
}

func TestServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]string{"path": "", "abstract": fmt.Sprintf("@weir-test-%d", os.Getpid())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newServiceManager(t, socket)
			m.env = append(m.env, "WATCHDOG_USEC=100000")
			p := m.start()
			m.wants("READY=1\n", "STATUS=Listening on http://127.0.0.1:")
			address := p.AwaitAddress(t)
			must.Equal(t, get(t, "http://"+address+"/livez"), http.StatusOK, "the status of /livez")
			for range 3 {
				if message := m.read(); message != "WATCHDOG=1" {
					t.Errorf("the manager got %q, want WATCHDOG=1", message)
				}
			}

			must.Do(t, p.Cmd.Process.Signal(syscall.SIGHUP))
			m.wants("RELOADING=1\n", "MONOTONIC_USEC=")
			m.wants("READY=1\n", "STATUS=Listening on http://"+address)
			must.Do(t, os.WriteFile(filepath.Join(m.dir, "weir.yaml"), []byte("alias: {}\n"), 0o600))
			must.Do(t, p.Cmd.Process.Signal(syscall.SIGHUP))
			m.wants("RELOADING=1\n", "MONOTONIC_USEC=")
			m.wants("READY=1\n", "STATUS=The new configuration is invalid")

			must.Do(t, p.Cmd.Process.Signal(syscall.SIGTERM))
			m.wants("STOPPING=1\n", "EXTEND_TIMEOUT_USEC=61000000") // drain_timeout and 31 s
			awaitEnd(t, p, true)
		})
	}
}

// TestNoWatchdogOfOthers checks that a watchdog of another process is ignored.
func TestNoWatchdogOfOthers(t *testing.T) {
	t.Parallel()
	m := newServiceManager(t, "")
	m.env = append(m.env, "WATCHDOG_USEC=1000", "WATCHDOG_PID=1")
	p := m.start()
	for _, want := range []string{"READY=1\n", "STOPPING=1\n"} {
		if got := m.read(); !strings.HasPrefix(got, want) {
			t.Errorf("the manager got %q, want %q", got, want)
		}
		_ = p.Cmd.Process.Signal(syscall.SIGTERM) // the second time it may be over
	}
}

// TestPassedListener checks that a gateway listens on a passed socket, and that requests that arrive while none runs
// wait there for the next one.
func TestPassedListener(t *testing.T) {
	t.Parallel()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t).(*net.TCPListener)
	address := listener.Addr().String()
	file := must.Get(listener.File())(t)
	must.Do(t, listener.Close())
	defer file.Close()

	m := newServiceManager(t, "")
	p := m.start(file)
	must.Equal(t, p.AwaitAddress(t), address, "the address")
	must.Equal(t, get(t, "http://"+address+"/livez"), http.StatusOK, "the status of /livez")
	must.Do(t, p.Stop())

	conn := must.Get(net.Dial("tcp", address))(t)
	defer conn.Close()
	_ = must.Get(io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n"))(t)
	p = m.start(file)
	must.Do(t, conn.SetDeadline(time.Now().Add(processtest.Patience)))
	answer := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	must.Equal(t, answer.StatusCode, http.StatusOK, "the status of a request that waited")
	must.Do(t, p.Stop())
}

// TestPassedListenerIsPublic checks that the address of a passed socket counts, not the configuration's: metrics are
// only for this machine.
func TestPassedListenerIsPublic(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]int{"127.0.0.1:0": http.StatusOK, "0.0.0.0:0": http.StatusNotFound} {
		listener := must.Get(net.Listen("tcp4", listen))(t).(*net.TCPListener)
		file := must.Get(listener.File())(t)
		must.Do(t, listener.Close())
		m := newServiceManager(t, "")
		p := m.start(file)
		_, port, err := net.SplitHostPort(p.AwaitAddress(t))
		must.Do(t, err)
		must.Equal(t, get(t, "http://127.0.0.1:"+port+"/metrics"), want, "the status of /metrics on %s", listen)
		must.Do(t, p.Stop())
		_ = file.Close()
	}
}

func TestPassedListenerRefused(t *testing.T) {
	t.Parallel()
	tcp := must.Get(must.Get(net.Listen("tcp", "127.0.0.1:0"))(t).(*net.TCPListener).File())(t)
	path := filepath.Join(t.TempDir(), "unix")
	unix := must.Get(must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t).File())(t)
	datagram := must.Get(must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t).File())(t)
	for name, test := range map[string]struct {
		passed []*os.File
		env    string
		want   string // expected text; empty if the gateway opens a listener of its own
	}{
		"two":                {[]*os.File{tcp, tcp}, "", "passed 2 sockets (weir.socket:weir.socket)"},
		"unix":               {[]*os.File{unix}, "", `"weir.socket" of the service manager uses the network unix`},
		"datagram":           {[]*os.File{datagram}, "", `use the socket "weir.socket" of the service manager`},
		"no number":          {nil, "LISTEN_FDS=many", `LISTEN_FDS is "many"`},
		"of another process": {[]*os.File{tcp, tcp}, "LISTEN_PID=1", ""},
		"none":               {nil, "LISTEN_FDS=0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newServiceManager(t, "")
			m.env = append(m.env, test.env)
			p := m.start(test.passed...)
			if test.want == "" {
				p.AwaitAddress(t)
				must.Do(t, p.Stop())
				return
			}
			awaitEnd(t, p, false)
			if !strings.Contains(p.Said(), test.want) {
				t.Errorf("got the output %q, want %q", p.Said(), test.want)
			}
		})
	}
}

func awaitEnd(t *testing.T, p *processtest.Process, want bool) {
	t.Helper()
	if !p.EndsWithin(processtest.Patience) {
		t.Fatalf("it does not end: %s", p.Said())
	}
	must.Equal(t, p.Cmd.ProcessState.Success(), want, "a clean end of the gateway; its output: %s", p.Said())
}

// get requests a page and returns the status.
func get(t *testing.T, url string) int {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	r.Close = true
	answer := must.Get(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	return answer.StatusCode
}
