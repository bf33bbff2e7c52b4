package capacity

import "weir/internal/telemetry"

const (
	// socketFactor is the factor of shares for WebSockets: an account that is alone may have 80 % of them.
	socketFactor = 4
	// rememberedShare gives the responses that all WebSockets remember 1/rememberedShare of the memory of request
	// bodies.
	rememberedShare = 2
)

// TakeSocket takes a place for a WebSocket of the account, which LeaveSocket must free. A place costs far less than a
// slot, which each request on the WebSocket needs.
func (h *Held) TakeSocket() error {
	if h.node.sockets.take(h.account, 1) != granted {
		return h.Refuse(telemetry.AccountConcurrency)
	}
	return nil
}

// SwapForSocket takes a place for a stream that waits for events, as for a WebSocket, and frees the slot.
func (h *Held) SwapForSocket() error {
	if err := h.TakeSocket(); err != nil {
		return err
	}
	h.ReleaseAll()
	h.admitted = false
	h.node.Leave(h.account, h.Priority())
	return nil
}

// LeaveSocket frees a place for a WebSocket.
func (n *Node) LeaveSocket(account string) { n.sockets.giveBack(account, 1) }

// Remember reserves bytes for responses that a WebSocket of the account remembers, until Forget, and reports whether
// there was room.
func (n *Node) Remember(account string, bytes int64) bool {
	return n.remembered.take(account, bytes) == granted
}

// Forget releases bytes of Remember.
func (n *Node) Forget(account string, bytes int64) {
	if bytes > 0 {
		n.remembered.giveBack(account, bytes)
	}
}
