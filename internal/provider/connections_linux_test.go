package provider_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

// ok answers everything with an empty object, and has connections stay.
var ok = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
})

// wantShortage checks that a failure is the machine's own: nothing was sent, and no provider is at fault.
func wantShortage(t *testing.T, what string, f *provider.Failure) {
	t.Helper()
	if f == nil || f.Kind != provider.KindShortage || f.Sent() || f.Err.Code != llm.CodeOverloaded || f.Err.RetryAfter <= 0 {
		t.Errorf("%s: got %+v, want a shortage, OVERLOADED with a time, and nothing sent", what, f)
	}
}

// TestConnectionsBounded checks that the connections to all providers together are bounded, that idle ones of one
// provider make room for those of another, and that a shortage is not a failure of the provider.
func TestConnectionsBounded(t *testing.T) {
	t.Parallel()
	arrived, wait := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-wait
		ok(w, r)
	}))
	t.Cleanup(slow.Close)
	quick := httptest.NewServer(ok)
	t.Cleanup(quick.Close)
	const most = 3
	all := provider.NewConnections(most)
	a := newProvider(t, provider.Options{BaseURL: slow.URL, Connections: all})
	b := newProvider(t, provider.Options{BaseURL: quick.URL, Connections: all})
	for range 2 { // the second time there are idle ones of a
		var asking sync.WaitGroup
		for range most {
			asking.Go(func() {
				if _, f := exchange(t.Context(), a, chat(false)); f != nil {
					t.Errorf("within the bound: %v", f)
				}
			})
			<-arrived
		}
		_, f := exchange(t.Context(), b, chat(false))
		wantShortage(t, "beyond the bound", f)
		for range most {
			wait <- struct{}{}
		}
		asking.Wait()
		for range 2 * most {
			if _, f := exchange(t.Context(), b, chat(false)); f != nil {
				t.Errorf("when others are idle: %v", f)
			}
		}
	}
	if !all.Release() || all.Release() {
		t.Error("there are no idle connections to be closed, or more than once")
	}
	dead := newProvider(t, provider.Options{BaseURL: "http://" + closedPort(t), Connections: all})
	for range 2 * most { // an unreachable provider occupies no place
		if _, f := exchange(t.Context(), dead, chat(false)); f == nil || f.Kind != provider.KindRefused {
			t.Fatalf("a closed port: got %v, want %s", f, provider.KindRefused)
		}
	}
}

// closedPort returns an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// child names the variable that tells the child process to use up its own files.
const child = "WEIR_TEST_SHORTAGE"

// TestOutOfFiles checks, in a process of its own, that a connection without a free file is a shortage, that idle
// connections are closed first, and that a failed name lookup for the same reason is one, too.
func TestOutOfFiles(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Parallel()
		server := httptest.NewServer(ok)
		t.Cleanup(server.Close)
		runAlone(t, server.URL, nil)
		return
	}
	all := provider.NewConnections(1000)
	options := provider.Options{BaseURL: os.Getenv(child), Connections: all}
	a, b := newProvider(t, options), newProvider(t, options)
	named := newProvider(t, provider.Options{BaseURL: "http://name.that.is.nowhere.example:8000", Connections: all})
	if _, f := exchange(t.Context(), a, chat(false)); f != nil {
		t.Fatalf("before: %v", f)
	}
	free := useUpFiles(t)
	if _, f := exchange(t.Context(), b, chat(false)); f != nil {
		t.Errorf("with an idle connection of another provider: %v", f)
	}
	all.Release()
	free(-1)
	_, f := exchange(t.Context(), a, chat(false))
	wantShortage(t, "without a file", f)
	_, f = exchange(t.Context(), named, chat(false))
	wantShortage(t, "a name, without a file", f)
	free(10)
	if _, f := exchange(t.Context(), a, chat(false)); f != nil {
		t.Errorf("with files again: %v", f)
	}
}

// runAlone runs the test that calls it in a process of its own, which finds the value in its environment.
func runAlone(t *testing.T, value string, own *syscall.SysProcAttr) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), child+"="+value), own
	out, err := cmd.CombinedOutput()
	if own != nil && cmd.Process == nil {
		t.Skipf("this machine lets nobody make a network: %v; TestShortagesOfMachineAreOwn has the same without one", err)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}

// useUpFiles opens files until none is left. The returned function closes n of these, or opens files freed since.
func useUpFiles(t *testing.T) (free func(n int)) {
	t.Helper()
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}))
	var all []*os.File
	open := func() {
		for quiet := 0; quiet < 20; time.Sleep(5 * time.Millisecond) { // a file is free as soon as its reader has closed it
			f, err := os.Open(os.DevNull)
			if errors.Is(err, syscall.EMFILE) {
				quiet++
				continue
			}
			must.Do(t, err)
			all = append(all, f)
		}
	}
	open()
	return func(n int) {
		if n < 0 {
			open()
			return
		}
		for range n {
			_ = all[0].Close()
			all = all[1:]
		}
	}
}

// TestOutOfPorts checks, in a process with a network of its own, that a machine without a free local port has a
// shortage, and that one without a route to an address has not.
func TestOutOfPorts(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Parallel()
		runAlone(t, "ports", &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		})
		return
	}
	must.Do(t, loopbackUp())
	must.Do(t, os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40007"), 0))
	l := must.Get(net.Listen("tcp", "127.0.0.1:8000"))(t)
	server := &http.Server{Handler: ok, ReadHeaderTimeout: patience}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	p := newProvider(t, provider.Options{BaseURL: "http://127.0.0.1:8000"})
	for i := 0; ; i++ {
		c, err := net.Dial("tcp", "127.0.0.1:8000")
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			break
		}
		must.Do(t, err)
		t.Cleanup(func() { _ = c.Close() })
		if i > 100 {
			t.Fatal("ports do not end")
		}
	}
	_, f := exchange(t.Context(), p, chat(false))
	wantShortage(t, "without a port", f)
	nowhere := newProvider(t, provider.Options{BaseURL: "http://[2001:db8::1]:8000"})
	if _, f := exchange(t.Context(), nowhere, chat(false)); f == nil || f.Kind != provider.KindRefused {
		t.Errorf("an address without a route: got %v, want %s", f, provider.KindRefused)
	}
}

// loopbackUp brings lo up (netdevice(7)).
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }()
	request := struct { // ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(request.name[:], "lo")
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if failed != 0 {
		return failed
	}
	return nil
}
