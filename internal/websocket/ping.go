package websocket

import (
	"context"
	"encoding/binary"
)

// sentPing is a ping that waits for its answer.
type sentPing struct {
	id    uint64
	ended chan error // gets nil with the answer
}

// Ping sends a ping and waits for its answer, for which another goroutine must receive. If ctx ends first, the
// connection is lost. If the connection is lost, it returns net.ErrClosed. Only one ping may wait.
func (c *Conn) Ping(ctx context.Context) error {
	c.state.Lock()
	c.pinged++
	sent := &sentPing{c.pinged, make(chan error, 1)}
	c.ping = sent
	c.state.Unlock()
	if err := c.write(pinging, binary.BigEndian.AppendUint64(nil, sent.id)); err != nil {
		return err
	}
	select {
	case err := <-sent.ended:
		return err
	case <-ctx.Done():
		c.Abort()
		return ctx.Err()
	}
}

// ponged ends the wait of a ping for its answer.
func (c *Conn) ponged(p []byte) {
	c.state.Lock()
	defer c.state.Unlock()
	if c.ping != nil && len(p) == 8 && binary.BigEndian.Uint64(p) == c.ping.id {
		c.ping.ended <- nil
		c.ping = nil
	}
}
