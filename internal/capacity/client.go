package capacity

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// Client is the sender of a request. It records whether the client is still connected.
type Client struct {
	Request     *http.Request
	writeFailed atomic.Bool // a write failed because the client accepts no more data
}

// Gone reports whether the client has left: its connection broke, or a write to it failed.
func (c *Client) Gone() bool {
	ctx := c.Request.Context()
	return c.writeFailed.Load() || ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrStopping)
}

// WriteFailed records that a write to the client failed. It reports whether this is the first.
func (c *Client) WriteFailed() bool { return c.writeFailed.CompareAndSwap(false, true) }

// Left returns ErrGone if the client of a large body has left, so that no further work begins.
func (c *Client) Left(size int) error {
	if size >= LargeBody && c.Request.Context().Err() != nil {
		return ErrGone
	}
	return nil
}
