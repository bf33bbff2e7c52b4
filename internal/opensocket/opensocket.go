// Package opensocket reports the open WebSockets of this node to the database, which has those of all nodes, and ends
// those that a person has ended there.
package opensocket

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/websocket"
)

// Socket is an open WebSocket of any node.
type Socket struct {
	websocket.Described
	Node     uuid.UUID // id of its journal
	NodeName string    // empty if it is not known
	Ending   bool      // a person has ended it
}

// Changes are what has changed at a node since its last report.
type Changes struct {
	Node uuid.UUID // id of its journal
	// All is set if Open has all WebSockets of the node, so that others in the database do not exist any more.
	All  bool
	Open []websocket.Described // new or changed
	Gone []uuid.UUID
}

// Store stores the open WebSockets of all nodes.
type Store interface {
	// ReportSockets stores the changes of a node, and that the node is alive. It returns the node's WebSockets that a
	// person has ended.
	ReportSockets(ctx context.Context, c *Changes) (ending []uuid.UUID, err error)
}

const (
	// Every is the time between two reports of a node with open WebSockets.
	Every = 2 * time.Second
	// mostChanges bounds the new or changed WebSockets in one report, and those that are gone. The others wait for the
	// next one.
	mostChanges = 500
	// lastReport bounds the report of a node that stops.
	lastReport = 2 * time.Second
)

// Options configures a Reporter. All fields are required.
type Options struct {
	Open  *websocket.Open
	Store Store
	Node  uuid.UUID // id of this node's journal
	Every time.Duration
	Log   *slog.Logger
}

// Reporter reports the open WebSockets of this node.
type Reporter struct {
	o      Options
	known  map[uuid.UUID]websocket.State // as the database has them
	all    bool                          // the next report has all, because the database may have others
	last   uuid.UUID                     // the last one in the last report that had no room for all
	failed bool
}

// NewReporter returns a reporter.
func NewReporter(o Options) *Reporter {
	return &Reporter{o: o, known: map[uuid.UUID]websocket.State{}, all: true}
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	every := time.NewTicker(r.o.Every)
	defer every.Stop()
	for {
		r.report(ctx, r.o.Open.Describe())
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReport)
			defer cancel()
			r.all = r.all || len(r.known) > 0
			r.report(ctx, nil)
			return
		case <-every.C:
		}
	}
}

// report reports the changes, if there are open WebSockets or were some, and ends those that a person has ended.
func (r *Reporter) report(ctx context.Context, open []websocket.Described) {
	if len(open) == 0 && len(r.known) == 0 && !r.all {
		return
	}
	c := r.changes(open)
	ending, err := r.o.Store.ReportSockets(ctx, c)
	if err != nil {
		if !r.failed {
			r.o.Log.Warn("the open WebSockets could not be reported: lists show those of before", "err", err)
		}
		r.failed, r.all = true, true
		clear(r.known)
		return
	}
	r.failed, r.all = false, false
	for _, id := range c.Gone {
		delete(r.known, id)
	}
	for _, d := range c.Open {
		r.known[d.ID] = d.State
	}
	for _, id := range ending {
		if !r.o.Open.End(id, &llm.Error{Code: llm.CodeForbidden, Message: "This WebSocket was ended by an operator " +
			"or a member of the account."}) {
			r.known[id] = websocket.State{} // the next report has that it is gone
		}
	}
}

// changes returns the differences to the last report.
func (r *Reporter) changes(open []websocket.Described) *Changes {
	c := &Changes{Node: r.o.Node, All: r.all}
	there := make(map[uuid.UUID]struct{}, len(open))
	for _, d := range open {
		there[d.ID] = struct{}{}
	}
	for id := range r.known {
		if _, ok := there[id]; !ok && len(c.Gone) < mostChanges {
			c.Gone = append(c.Gone, id)
		}
	}
	c.Open = r.changed(open)
	return c
}

// changed returns the new and changed WebSockets, which are in the order of their ids. It begins after those of the
// last report, so that some that change all the time do not hide the others.
func (r *Reporter) changed(open []websocket.Described) (changed []websocket.Described) {
	start, _ := slices.BinarySearchFunc(open, r.last, func(d websocket.Described, id uuid.UUID) int {
		return cmp.Or(bytes.Compare(d.ID[:], id[:]), -1) // the one after it
	})
	r.last = uuid.Nil
	for _, d := range slices.Concat(open[start:], open[:start]) {
		if state, ok := r.known[d.ID]; ok && state == d.State {
			continue
		}
		if len(changed) == mostChanges {
			r.last = changed[len(changed)-1].ID
			break
		}
		changed = append(changed, d)
	}
	return changed
}
