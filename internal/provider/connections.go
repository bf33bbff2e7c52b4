package provider

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/outbound"
)

// Connections counts the connections to all providers together, and bounds them, so that files are left for clients
// and the database. Those that are idle give way. A nil one has no bound.
type Connections struct {
	most int64
	open atomic.Int64 // being opened, in use or idle

	mu    sync.Mutex
	pools map[*pool]struct{}
}

// NewConnections makes a count of at most so many connections.
func NewConnections(most int) *Connections {
	return &Connections{most: int64(most), pools: map[*pool]struct{}{}}
}

// idleAtOnce is how many idle connections are closed where the process can open no more files.
const idleAtOnce = 32

// Release closes the connections that have been idle for the longest, and reports whether there were any.
func (c *Connections) Release() bool { return c.closeIdle(idleAtOnce) > 0 }

// errBound is that there are as many connections as there may be, and all are in use.
var errBound = errors.New("as many connections to providers are in use as the process's limit of open files allows: " +
	"raise the limit (ulimit -n, LimitNOFILE)")

// take counts a connection that is to be opened. Beyond the bound an idle one is closed, and the next where somebody else
// has taken its place.
func (c *Connections) take() error {
	for c != nil && !c.add() {
		if c.closeIdle(1) == 0 && !c.add() {
			return errBound
		}
	}
	return nil
}

// add counts one more, and reports false where that is too many. It never counts too many for a moment, in which others
// would be refused.
func (c *Connections) add() bool {
	for {
		n := c.open.Load()
		if n >= c.most {
			return false
		}
		if c.open.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// giveBack counts a connection that was closed.
func (c *Connections) giveBack() {
	if c != nil {
		c.open.Add(-1)
	}
}

// closeIdle closes up to n connections, of all pools those that have been idle for the longest, and says how many.
func (c *Connections) closeIdle(n int) (closed int) {
	if c == nil {
		return 0
	}
	for ; closed < n; closed++ {
		oldest := c.oldest()
		for oldest != nil && !oldest.closeOldest() { // it was taken meanwhile
			oldest = c.oldest()
		}
		if oldest == nil {
			break
		}
	}
	return closed
}

// oldest is the pool with the connection that has been idle for the longest; nil for none.
func (c *Connections) oldest() (found *pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := time.Unix(math.MaxInt32, 0)
	for p := range c.pools {
		if since, ok := p.oldest(); ok && since.Before(first) {
			found, first = p, since
		}
	}
	return found
}

// watch has connections of the pool closed where others need their files, or no longer.
func (c *Connections) watch(p *pool, watched bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.pools, p); watched {
		c.pools[p] = struct{}{}
	}
}

// isShortage reports whether a connection could not be opened for want of something of this machine's: a file, a local
// port, memory. It is nothing that a provider has done.
func isShortage(err error) bool {
	if errors.Is(err, errBound) || errors.Is(err, syscall.EADDRNOTAVAIL) && lacksPort(err) {
		return true
	}
	if unresolved, ok := errors.AsType[*net.DNSError](err); ok && lacksFile(unresolved) {
		return true
	}
	return outbound.IsShort(err)
}

// lacksFile tells a name that could not be looked up for want of a file from one that is not known. The resolver keeps
// the text alone of what it met at a socket, and says of its own files that it could not read that there is no such host.
func lacksFile(unresolved *net.DNSError) bool {
	if outbound.EndsShort(unresolved.Err) {
		return true
	}
	f, err := os.Open(os.DevNull)
	if err == nil {
		_ = f.Close()
	}
	return outbound.IsShort(err)
}

// lacksPort tells that all local ports towards an address are in use from an address that this machine has no way to,
// such as one of IPv6 where that is switched off: connect(2) has one error for both. UDP has ports of its own, and to
// connect it sends nothing.
func lacksPort(err error) bool {
	dialled, ok := errors.AsType[*net.OpError](err)
	if !ok || dialled.Addr == nil {
		return false
	}
	c, err := net.Dial("udp", dialled.Addr.String())
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
