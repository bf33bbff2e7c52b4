package route

import (
	"sync"
	"sync/atomic"
	"time"
)

// Router holds the table in force. A reload replaces it whole; requests under
// way keep the one that they began with.
type Router struct {
	table   atomic.Pointer[Table]
	mu      sync.Mutex
	listing *Listing // made last; nil for none
}

// NewRouter makes a router.
func NewRouter(t *Table) *Router {
	r := &Router{}
	r.Use(t)
	return r
}

// Use puts another table in force.
func (r *Router) Use(t *Table) { r.table.Store(t) }

// Table is the table in force.
func (r *Router) Table() *Table { return r.table.Load() }

// Listing is the models of a table as they were in a minute: prices may change with the time.
// Nobody changes it.
type Listing struct {
	Models []Model // that can be asked for, by name
	All    []Model // with aliases that end with an asterisk, likewise
	table  *Table
	minute int64
}

// Models lists what is known by name, once a minute for each table.
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
