// Package capacity shares a node's pipeline slots, memory and processors between accounts, and refuses requests that it
// has no room for before they cost much (docs/adr/0010-capacity.md).
package capacity

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"weir/internal/telemetry"
)

var (
	// ErrGone means that the client has left and cannot be answered.
	ErrGone = errors.New("capacity: the client left")
	// ErrRefused marks a refusal that is not logged by itself but counted in a summary line.
	ErrRefused = errors.New("capacity: refused")
	// ErrStopping is the cause with which Options.Stopping ends.
	ErrStopping = errors.New("capacity: the gateway is stopping")
)

const (
	// slotFactor and bodyFactor are the factors of shares for pipeline slots and for bytes: an account that is alone
	// may use 88 % of all slots, so that few stay idle, and 47 % of the bytes.
	slotFactor = 16
	bodyFactor = 1
	// answerShare gives all answers together 1/answerShare of the memory of request bodies.
	answerShare = 2
	// countedGarbage is the least size of a released buffer, in bytes, that counts as garbage. After mostGarbage bytes
	// a garbage collection is started.
	countedGarbage = 1 << 20
	mostGarbage    = 64 << 20
)

// Options configures a Node. All fields are required.
type Options struct {
	Sockets  int64           // WebSockets
	Slots    int64           // requests in flight
	Bodies   int64           // bytes of all request bodies in flight
	Stopping context.Context // ends with ErrStopping when the gateway reads no more answers
	Metrics  *telemetry.Metrics
	Log      *slog.Logger
}

// Node is the capacity of one gateway. Its methods may be called concurrently.
type Node struct {
	options   Options
	admission *admission
	slots     *shares // pipeline slots
	waiting   *shares // requests that wait for a slot of their account's share
	bodies    *shares // bytes of requests
	answers   *shares // bytes of answers
	sockets   *shares // WebSockets
	// remembered are the bytes of responses that WebSockets remember.
	remembered *shares
	overdraft  chan struct{} // holds one element while an answer exceeds its share
	processor  *processor    // turns for the work of decoding and encoding
	garbage    atomic.Int64  // bytes of large bodies that were released
}

// New returns the capacity of a gateway without any request.
func New(o Options) *Node {
	slots := newShares(o.Slots, slotFactor)
	return &Node{
		options: o, slots: slots, admission: newAdmission(o.Slots, slots.alone(), floor()),
		waiting: newShares(max(minQueue, o.Slots/keptShare), bodyFactor),
		bodies:  newShares(o.Bodies, bodyFactor), answers: newShares(o.Bodies/answerShare, bodyFactor),
		sockets:    newShares(o.Sockets, socketFactor),
		remembered: newShares(o.Bodies/rememberedShare, bodyFactor),
		overdraft:  make(chan struct{}, 1), processor: newProcessor(runtime.GOMAXPROCS(0)),
	}
}

// Hold returns what a request holds of the node: nothing yet. The account is empty before authentication. A nil client
// is one that has left.
func (n *Node) Hold(client *Client, account string) Held {
	return Held{node: n, client: client, account: account}
}

// InFlight returns how many requests hold a slot.
func (n *Node) InFlight() int64 {
	inFlight, _ := n.admission.holding()
	return inFlight
}

// Waiting returns how many requests wait for a slot.
func (n *Node) Waiting() int64 {
	_, waiting := n.admission.holding()
	return waiting
}

// Leave frees a slot that a request of the account holds.
func (n *Node) Leave(account string, p telemetry.Priority) {
	if account != "" {
		n.slots.giveBack(account, 1)
	}
	n.admission.leave(p)
}

// Depart waits for a turn to end a request whose client has left: its settlement is work, and thousands of clients may
// leave at once. It reports whether there was one before ctx ended; the caller must then call Departed.
func (n *Node) Depart(ctx context.Context, account string) bool {
	return n.processor.departures.Enter(ctx, account, false) == nil
}

// Departed ends a turn of Depart.
func (n *Node) Departed(account string) { n.processor.departures.Leave(account) }

// released counts n bytes of a body that nothing uses any more and starts a garbage collection after mostGarbage bytes.
// Otherwise the runtime would wait until the heap has doubled, and bodies that arrive at once may exceed the memory.
func (n *Node) released(bytes int64) {
	if bytes > countedGarbage && n.garbage.Add(bytes) > mostGarbage {
		n.garbage.Store(0)
		go runtime.GC()
	}
}

// Watch measures the machine's condition until ctx ends and adjusts the admission of requests to it.
func (n *Node) Watch(ctx context.Context) {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	m := newMachine()
	var log summary
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			c := m.look()
			n.admission.adjust(c)
			if refused, due := log.due(n.options.Metrics.AllShed(), now); due {
				n.options.Log.Warn("requests are refused: the gateway is overloaded", "refused", refused,
					"in_flight", n.InFlight(), "late", c.late, "memory", c.memory)
			}
		}
	}
}
