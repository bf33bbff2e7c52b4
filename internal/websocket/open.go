package websocket

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// Reason is why the gateway ends a WebSocket.
type Reason int

// The reasons.
const (
	Expired  Reason = iota // it has reached Timing.Life
	Invalid                // its key was revoked, or its account is suspended
	Ended                  // a person has ended it
	Stopping               // the gateway is stopping
)

// Timing holds the times of open WebSockets. A zero field means its default.
type Timing struct {
	Life time.Duration // of a WebSocket; default 60 min
	Look time.Duration // between two looks at all; default 500 ms
	Ping time.Duration // between two pings; default 30 s, which proxies need
	Pong time.Duration // for the answer to a ping; default 20 s
}

// Open holds the open WebSockets of the node's clients. It ends those that are too old, whose keys do not permit them
// any more, and whose clients do not answer pings.
type Open struct {
	timing  Timing
	mu      sync.Mutex
	all     map[*Watched]struct{}
	stopped bool
}

// Watched is an open WebSocket. All fields are required.
type Watched struct {
	ID   uuid.UUID
	Conn *Conn
	// State describes the WebSocket so far. It must be quick.
	State func() State
	// Valid returns why the WebSocket may not continue. It must be quick.
	Valid func(context.Context) error
	// End begins the end of the WebSocket. It is called once for each reason, with an error for Invalid and Ended, and
	// must not block.
	End func(why Reason, err error)

	began, pinged time.Time
	ended         [Stopping + 1]bool
}

// State describes a WebSocket so far. Times are those of the ledger.
type State struct {
	API          string // "responses", "realtime" or "live"
	Account, Key string // ids
	Model        string // of the last request, as the client wrote it; empty before the first one
	Began        time.Time
	Active       time.Time // of the last change of Requests or Running; Began before the first one
	Requests     int64     // that have ended; responses of a Realtime session
	Running      int64
	Charge       llm.Money // of those that have ended
	Uncertain    bool      // Charge may be higher
}

// Described is an open WebSocket with its state.
type Described struct {
	ID uuid.UUID
	State
}

// NewOpen returns a list without any WebSocket.
func NewOpen(t Timing) *Open {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&t.Life, time.Hour}, {&t.Look, time.Second / 2}, {&t.Ping, 30 * time.Second}, {&t.Pong, 20 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	return &Open{timing: t, all: map[*Watched]struct{}{}}
}

// Add adds a WebSocket until Remove. If the gateway is stopping, its end begins at once.
func (o *Open) Add(w *Watched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.began = time.Now()
	w.pinged = w.began
	o.all[w] = struct{}{}
	if o.stopped {
		w.end(Stopping, nil)
	}
}

// Remove removes a WebSocket that has ended.
func (o *Open) Remove(w *Watched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, w)
}

// Len returns how many WebSockets are open.
func (o *Open) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// Describe returns all WebSockets with their states, the oldest first.
func (o *Open) Describe() []Described {
	all := o.list()
	described := make([]Described, len(all))
	for i, w := range all {
		described[i] = Described{w.ID, w.State()}
	}
	slices.SortFunc(described, func(a, b Described) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return described
}

// End begins the end of a WebSocket, with the error for its client, and reports whether it is open.
func (o *Open) End(id uuid.UUID, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.all {
		if w.ID == id {
			w.end(Ended, err)
			return true
		}
	}
	return false
}

// Retire begins the end of all WebSockets, so that their clients open new ones, possibly to another gateway.
func (o *Open) Retire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retire()
}

// Stop begins the end of all WebSockets, and of those that are added later.
func (o *Open) Stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	o.retire()
}

func (o *Open) retire() {
	for w := range o.all {
		w.end(Stopping, nil)
	}
}

// end calls End once for each reason.
func (w *Watched) end(why Reason, err error) {
	if !w.ended[why] {
		w.ended[why] = true
		w.End(why, err)
	}
}

// Run looks after the WebSockets until ctx ends.
func (o *Open) Run(ctx context.Context) {
	every := time.NewTicker(o.timing.Look)
	defer every.Stop()
	var pings sync.WaitGroup
	defer pings.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			for _, w := range o.list() {
				o.look(ctx, w, now, &pings)
			}
		}
	}
}

// list returns all WebSockets.
func (o *Open) list() []*Watched {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]*Watched, 0, len(o.all))
	for w := range o.all {
		all = append(all, w)
	}
	return all
}

// look looks after one WebSocket.
func (o *Open) look(ctx context.Context, w *Watched, now time.Time, pings *sync.WaitGroup) {
	invalid := w.Valid(ctx)
	if now.Sub(w.pinged) >= o.timing.Ping {
		w.pinged = now
		pings.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, o.timing.Pong)
			defer cancel()
			_ = w.Conn.Ping(ctx)
		})
	}
	if invalid == nil && now.Sub(w.began) < o.timing.Life {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, open := o.all[w]; !open {
		return
	}
	if invalid != nil {
		w.end(Invalid, invalid)
		return
	}
	w.end(Expired, nil)
}
