package provider

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"weir/internal/must"
)

// TestShortagesOfMachineAreOwn distinguishes shortages of this machine from failures of a provider.
func TestShortagesOfMachineAreOwn(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	dialled := func(e error, to net.Addr) error {
		return fmt.Errorf("dial: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: os.NewSyscallError("connect", e)})
	}
	nowhere := &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 8000} // without a zone, no socket connects to it
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no file":                     {dialled(syscall.EMFILE, l.Addr()), true},
		"no file on the machine":      {dialled(syscall.ENFILE, l.Addr()), true},
		"no buffer":                   {dialled(syscall.ENOBUFS, l.Addr()), true},
		"no memory":                   {dialled(syscall.ENOMEM, l.Addr()), true},
		"no port":                     {dialled(syscall.EADDRNOTAVAIL, l.Addr()), true},
		"no way there":                {dialled(syscall.EADDRNOTAVAIL, nowhere), false},
		"an address that is not told": {os.NewSyscallError("connect", syscall.EADDRNOTAVAIL), false},
		"no file for the resolver": {
			&net.DNSError{Err: "dial udp 127.0.0.1:53: socket: " + syscall.EMFILE.Error(), Name: "x.example"}, true,
		},
		"no such host":    {&net.DNSError{Err: "no such host", Name: "x.example", IsNotFound: true}, false},
		"refused":         {dialled(syscall.ECONNREFUSED, l.Addr()), false},
		"no network":      {dialled(syscall.ENETUNREACH, l.Addr()), false},
		"forbidden":       {dialled(syscall.EPERM, l.Addr()), false},
		"the bound":       {fmt.Errorf("connect: %w", errBound), true},
		"a broken answer": {io.ErrUnexpectedEOF, false},
		"anything else":   {errors.New("too many open files on the provider's side"), false},
	} {
		if got := isShortage(c.err); got != c.want {
			t.Errorf("%s (%v): got %t, want %t", name, c.err, got, c.want)
		}
	}
}

// TestIdleConnectionsMakeRoom checks that idle connections make room for as many new ones, also for concurrent callers:
// one whose place another has taken gets the next.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	const most, rounds = 64, 200
	for range rounds {
		all := NewConnections(most)
		pools := []*pool{{}, {}}
		for i := range most {
			must.Do(t, all.take())
			near, far := net.Pipe()
			_ = far.Close()
			s := newSocket(near, all)
			pools[i%2].put(newConn(s, s))
		}
		for _, p := range pools {
			all.watch(p, true)
		}
		var opening sync.WaitGroup
		var refused atomic.Int64
		for range most {
			opening.Go(func() {
				if all.take() != nil {
					refused.Add(1)
				}
			})
		}
		opening.Wait()
		if n := refused.Load(); n > 0 || all.take() == nil {
			t.Fatalf("%d of %d were refused with as many idle connections, want none, and then the next one refused", n, most)
		}
		for _, p := range pools {
			p.close()
		}
	}
}
