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

// Connections counts and bounds the connections to all providers together, so that open files remain for clients and
// the database. Idle connections are closed to make room. A nil *Connections has no bound.
type Connections struct {
	most int64
	open atomic.Int64 // being opened, in use or idle

	mu    sync.Mutex
	pools map[*pool]struct{}
}

// NewConnections returns a bound that permits most connections at once.
func NewConnections(most int) *Connections {
	return &Connections{most: int64(most), pools: map[*pool]struct{}{}}
}

// idleAtOnce is how many idle connections are closed when the process cannot open more files.
const idleAtOnce = 32

// Release closes the connections that have been idle for longest, and reports whether there were any.
func (c *Connections) Release() bool { return c.closeIdle(idleAtOnce) > 0 }

// errBound means that the maximum number of connections is in use.
var errBound = errors.New("all connections to providers that the limit of open files allows are in use: " +
	"raise the limit (ulimit -n, LimitNOFILE)")

// take counts a connection before it is opened. At the bound it closes an idle one, and repeats that if another request
// has taken the freed place.
func (c *Connections) take() error {
	for c != nil && !c.add() {
		if c.closeIdle(1) == 0 && !c.add() {
			return errBound
		}
	}
	return nil
}

// add counts one connection, and returns false at the bound. It never exceeds the bound, even for a moment, because
// other requests would be refused.
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

// giveBack counts a closed connection.
func (c *Connections) giveBack() {
	if c != nil {
		c.open.Add(-1)
	}
}

// closeIdle closes up to n connections that have been idle for longest, in all pools, and returns how many.
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

// oldest returns the pool with the connection that has been idle for longest; nil if there is none.
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

// watch includes the pool in the search for idle connections, or removes it.
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

// isShortage reports whether opening a connection failed because this machine lacks a file, a local port or memory. The
// provider is not at fault.
func isShortage(err error) bool {
	if errors.Is(err, errBound) || errors.Is(err, syscall.EADDRNOTAVAIL) && lacksPort(err) {
		return true
	}
	if unresolved, ok := errors.AsType[*net.DNSError](err); ok && lacksFile(unresolved) {
		return true
	}
	return outbound.IsShort(err)
}

// lacksFile reports whether a name was not resolved because a file could not be opened. The resolver keeps only the
// text of a socket's error, and reports files that it could not open as "no such host".
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

// lacksPort reports whether all local ports towards an address are in use. connect(2) returns the same error for an
// address without a route, such as IPv6 when it is disabled. To tell them apart, lacksPort connects by UDP, which has
// its own ports and sends nothing.
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
