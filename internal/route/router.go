package route

import (
	"sync"
	"sync/atomic"
	"time"
)

// Router holds the current table. A reload replaces the whole table; running requests use the one that they started
// with.
type Router struct {
	table   atomic.Pointer[Table]
	mu      sync.Mutex
	listing *Listing // the latest; nil before the first
}

// NewRouter returns a router with the table.
func NewRouter(t *Table) *Router {
	r := &Router{}
	r.Use(t)
	return r
}

// Use replaces the current table.
func (r *Router) Use(t *Table) { r.table.Store(t) }

// Table returns the current table.
func (r *Router) Table() *Table { return r.table.Load() }

// Listing holds the models of a table at a minute, because prices may change with time. It must not be changed.
type Listing struct {
	Models []Model // models that clients can request, by name
	All    []Model // the same with aliases that end with an asterisk
	table  *Table
	minute int64
}

// Models lists the known models. It builds a listing once a minute for each table.
func (r *Router) Models(at time.Time) *Listing {
	table, minute := r.Table(), at.Unix()/60
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.listing; l == nil || l.table != table || l.minute != minute {
		all := table.Models(at)
		r.listing = &Listing{Models: table.asked(all, at), All: all, table: table, minute: minute}
	}
	return r.listing
}
