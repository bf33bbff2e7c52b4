package alert

import (
	"context"
	"log/slog"
	"time"
)

// Store stores alerts, and reads what they are about.
type Store interface {
	// Claim makes this node the one that evaluates until the lease ends. It returns the time that all nodes share;
	// false if another node evaluates.
	Claim(ctx context.Context, lease time.Duration) (now time.Time, mine bool, err error)
	// Facts reads the facts that can fire under the rules and under limits of accounts, except the age of the prices.
	Facts(ctx context.Context, r *Rules, now time.Time) (Facts, error)
	// Write writes the alerts that fire and those that end, with their events, in one transaction.
	Write(ctx context.Context, conditions []Condition, now time.Time) (fired, ended []Alert, err error)
}

const (
	evaluateEvery = time.Minute
	// leaseFor is shorter than the interval, so that the same node may evaluate again.
	leaseFor    = evaluateEvery - 5*time.Second
	evaluateFor = 30 * time.Second // bounds one evaluation
)

// Options configures an Evaluator. All are required.
type Options struct {
	Store  Store
	Rules  func() Rules     // in force
	Prices func() time.Time // day of the newest price data; zero if it is not known
	Log    *slog.Logger
}

// Evaluator evaluates alerts, on one of the nodes that share a database.
type Evaluator struct{ options Options }

// NewEvaluator returns an evaluator. Run starts it.
func NewEvaluator(o Options) *Evaluator { return &Evaluator{o} }

// Run evaluates every minute until ctx ends.
func (e *Evaluator) Run(ctx context.Context) {
	every := time.NewTicker(evaluateEvery)
	defer every.Stop()
	for {
		if err := e.Evaluate(ctx); err != nil && ctx.Err() == nil {
			e.options.Log.Warn("alerts could not be evaluated; they are evaluated again in a minute", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// Evaluate evaluates once, unless another node does.
func (e *Evaluator) Evaluate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, evaluateFor)
	defer cancel()
	now, mine, err := e.options.Store.Claim(ctx, leaseFor)
	if err != nil || !mine {
		return err
	}
	rules := e.options.Rules()
	facts, err := e.options.Store.Facts(ctx, &rules, now)
	if err != nil {
		return err
	}
	facts.Prices = e.options.Prices()
	fired, ended, err := e.options.Store.Write(ctx, rules.AllConditions(&facts, now), now)
	for i := range fired {
		e.log("fired", &fired[i])
	}
	for i := range ended {
		e.log("ended", &ended[i])
	}
	return err
}

// log logs an alert of the installation.
func (e *Evaluator) log(state string, a *Alert) {
	if a.Own {
		return
	}
	e.options.Log.Info("alert", "state", state, "kind", string(a.Kind), "account", a.Account, "subject", a.Subject,
		"value", a.Value, "limit", a.Limit, "text", a.Text)
}
