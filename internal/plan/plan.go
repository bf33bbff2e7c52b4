// Package plan computes what a change would have done: it replays recorded requests against changed limits, budgets,
// keys, aliases and prices, with the code that enforces these, and compares the results with the recorded ones.
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

// State is the set of accounts, keys, limits, routes and aliases that a replay applies.
type State struct {
	Accounts map[string]*account.Account // by id
	Keys     map[string]*account.Key     // by id
	Policy   ratelimit.Policy
	Table    *route.Table
	Aliases  map[string]bool // names of the aliases that differ from the present ones
}

// Ask says what changes, and which requests to replay.
type Ask struct {
	Change  managed.Edit // of the managed configuration; may be the zero value
	Scopes  Scopes
	Days    int             // whole UTC days up to now, including today; 0 for a week
	Decided func(*Decision) // see Options
}

// Options holds the options of Make.
type Options struct {
	// Now is the present state, Then the planned one.
	Now, Then State
	From      time.Time // midnight of the first day, UTC
	Most      int       // maximum number of attempts; Result.Cut reports whether there are more
	// Attempts calls fn with each settled attempt since From, by day and request.
	Attempts func(ctx context.Context, fn func(*ledger.Entry) error) error
	// Spent returns the spending of a scope on days, yyyymmdd, both inclusive.
	Spent func(ctx context.Context, scope string, first, last int64) (llm.Money, error)
	// WithoutRows returns the spending of a scope on days that is in its balances but not in the attempts: opening
	// balances, and the cost of deleted attempts.
	WithoutRows func(ctx context.Context, scope string, first, last int64) (llm.Money, error)
	// Decided receives each request; it may be nil.
	Decided func(*Decision)
	Log     *slog.Logger
}

// Refusal is the reason why a request would have been refused.
type Refusal string

// The reasons of refusals.
const (
	NotRefused    Refusal = ""
	RefusedModel  Refusal = "model"  // its key may not use the model, or no provider serves it
	RefusedLimit  Refusal = "limit"  // of requests, tokens or concurrent requests
	RefusedBudget Refusal = "budget" // of the key or the account, or its credit
)

// Decision is the planned result of a request.
type Decision struct {
	Request      string // its id
	Account, Key string // ids
	Model        string // as requested
	Refused      Refusal
	Target       string    // the model that would have answered, if it is another one; else empty
	Cost         llm.Money // the account's charge
	Planned      llm.Money // the planned charge
	Estimated    bool      // the record does not determine the result
}

// Row holds the planned results of the requests of a key.
type Row struct {
	Account, Key string // ids
	AccountName  string
	KeyLabel     string
	Requests     int64
	Refused      map[Refusal]int64
	RefusedNow   int64 // that the present state would have refused
	Elsewhere    int64
	Estimated    int64
	Cost         llm.Money // the account's charge
	Planned      llm.Money // the planned charge
}

// Result holds the planned results of all requests.
type Result struct {
	From, To time.Time // of the first and the last request
	Rows     []Row     // by account and key
	Total    Row
	Cut      bool // there are more attempts than Options.Most
}

// errCut stops the reading.
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
	if !cut { // otherwise some attempts of the last request may be missing
		in.end()
	}
	now.end()
	then.end()
	return c.done(cut), nil
}
