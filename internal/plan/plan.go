// Package plan tells what a change would have done: it replays recorded requests against changed limits, budgets, keys,
// aliases and prices, with the code that enforces these, and compares with what happened.
package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// State is what requests are held to.
type State struct {
	Accounts map[string]*account.Account // by id
	Keys     map[string]*account.Key     // by id
	Policy   ratelimit.Policy
	Table    *route.Table
	Aliases  map[string]bool // names of those that are not what they are at present
}

// Ask is what the administration asks for.
type Ask struct {
	Change managed.Edit // of the managed configuration; the zero value for none
	Scopes Scopes
	Days   int // 0 for a week
}

// Options is what a plan is made of.
type Options struct {
	// Now is what holds at present, Then what is to hold.
	Now, Then State
	From      time.Time // midnight of the first day, UTC
	Most      int       // how many attempts are read; the rest is left out, and the Result says so
	// Attempts calls fn with each settled attempt since From, by day and request.
	Attempts func(ctx context.Context, fn func(*ledger.Entry) error) error
	// Spent is what a scope spent on days, yyyymmdd, both inclusive.
	Spent func(ctx context.Context, scope string, first, last int64) (llm.Money, error)
	// Beside is what it spent on days by its balances, and not by the attempts: opening balances, and what
	// deleted ones came to.
	Beside func(ctx context.Context, scope string, first, last int64) (llm.Money, error)
	// Decided is told of each request; nil for nobody.
	Decided func(*Decision)
	Log     *slog.Logger
}

// Refusal is why a request would have been refused.
type Refusal string

// The refusals.
const (
	NotRefused    Refusal = ""
	RefusedModel  Refusal = "model"  // its key may not use the model, or nobody serves it
	RefusedLimit  Refusal = "limit"  // of requests, tokens or requests at a time
	RefusedBudget Refusal = "budget" // of the key or the account, or credit
)

// Decision is what a request would have met.
type Decision struct {
	Request      string // its id
	Account, Key string // ids
	Model        string // as it was asked for
	Refused      Refusal
	Target       string    // the model that would have answered, where another did; empty for the same
	Cost         llm.Money // what the account was charged
	Planned      llm.Money // what it would have been charged
	Estimated    bool      // the record does not suffice to tell for certain
}

// Row is what the requests of a key would have met.
type Row struct {
	Account, Key string // ids
	AccountName  string
	KeyLabel     string
	Requests     int64
	Refused      map[Refusal]int64
	RefusedNow   int64 // that what holds at present would have refused
	Elsewhere    int64
	Estimated    int64
	Cost         llm.Money // what the account was charged
	Planned      llm.Money // what it would have been charged
}

// Result is what a change would have done.
type Result struct {
	From, To time.Time // of the first and the last request
	Rows     []Row     // by account and key
	Total    Row
	Cut      bool // there are more attempts than were read
}

// errCut ends the reading.
var errCut = errors.New("plan: enough attempts")

// Make replays the recorded requests.
func Make(ctx context.Context, o Options) (Result, error) {
	now, err := newReplay(ctx, &o, &o.Now)
	if err != nil {
		return Result{}, err
	}
	then, err := newReplay(ctx, &o, &o.Then)
	if err != nil {
		return Result{}, err
	}
	c := &comparison{options: &o, now: now, then: then, rows: map[rowKey]*Row{}}
	in := grouped{next: c.request}
	read := 0
	err = o.Attempts(ctx, func(e *ledger.Entry) error {
		if read++; read > o.Most {
			return errCut
		}
		if read%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in.add(e)
		return nil
	})
	cut := errors.Is(err, errCut)
	if err != nil && !cut {
		return Result{}, fmt.Errorf("replay requests: %w", err)
	}
	if !cut { // else some attempts of the last one may be missing
		in.end()
	}
	now.end()
	then.end()
	return c.done(cut), nil
}
