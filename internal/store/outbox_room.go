package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"weir/internal/webhook"
)

// leastFree is the free space on the database's disk, in bytes, below which no deliveries are written. The rest is
// for changes by operators, such as suspending accounts and revoking keys.
const leastFree = 128 << 20

// room checks the free space for deliveries.
type room struct {
	free func() (int64, error) // nil if the disk belongs to another machine
	log  *slog.Logger

	mu   sync.Mutex
	said time.Time // when the lack of space was last logged
}

// none reports whether the disk has too little space, and logs it once a minute.
func (r *room) none() bool {
	if r == nil || r.free == nil {
		return false
	}
	free, err := r.free()
	if err != nil || free >= leastFree {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.said) >= time.Minute {
		r.said = now
		r.log.Error("webhook events are dropped: the database's disk has too little space; free some, or use a "+
			"larger disk", "free_bytes", free, "least_bytes", int64(leastFree))
	}
	return true
}

// waiting is a subquery that counts the pending deliveries of an endpoint, up to a limit.
const waiting = "(SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE d.webhook = webhooks.id AND d.due IS NOT " +
	"NULL LIMIT ?) AS few)"

// fitting returns the endpoints that do not have too many pending deliveries. It counts the event as dropped for the
// others.
func (o *outbox) fitting(ctx context.Context, tx *sql.Tx, e *webhook.Event, endpoints []webhook.Endpoint) (
	fit []webhook.Endpoint, err error,
) {
	full, err := o.accountIsFull(ctx, tx, e, endpoints)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(endpoints, deliverRows) {
		waits, err := waitingForEach(ctx, tx, some)
		if err != nil {
			return nil, err
		}
		var dropped []any
		for i := range some {
			to := &some[i]
			crowding, err := isCrowding(ctx, tx, e, to, waits[to.ID])
			if err != nil {
				return nil, err
			}
			if waits[to.ID] >= webhook.MostWaiting(to.Account) || crowding || full && to.Account != "" {
				dropped = append(dropped, to.ID)
			} else {
				fit = append(fit, *to)
			}
		}
		if len(dropped) == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, "UPDATE webhooks SET dropped = dropped + 1 WHERE "+among("id", len(dropped)),
			dropped...); err != nil {
			return nil, fmt.Errorf("count dropped event: %w", err)
		}
	}
	return fit, nil
}

// waitingForEach returns how many pending deliveries each of the endpoints has, up to the highest bound.
func waitingForEach(ctx context.Context, tx *sql.Tx, endpoints []webhook.Endpoint) (map[string]int, error) {
	type waits struct {
		id string
		n  int
	}
	args := []any{int64(webhook.MostWaiting(""))}
	for i := range endpoints {
		args = append(args, endpoints[i].ID)
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, "+waiting+" FROM webhooks WHERE "+among("id", len(endpoints)),
		args...)
	all := map[string]int{}
	scan := func(row scanner) (w waits, err error) { return w, row.Scan(&w.id, &w.n) }
	err = each(rows, err, scan, func(w *waits) error {
		all[w.id] = w.n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	return all, nil
}

// waitingFor returns how many pending deliveries an endpoint has, counted up to most.
func waitingFor(ctx context.Context, q querier, endpoint string, most int) (n int, err error) {
	err = q.QueryRowContext(ctx, "SELECT "+waiting+" FROM webhooks WHERE id = ?", int64(most), endpoint).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count deliveries: %w", err)
	}
	return n, nil
}

// accountIsFull reports whether the endpoints of the event's account together have too many pending deliveries. An
// event for all accounts is only checked for each endpoint.
func (o *outbox) accountIsFull(ctx context.Context, tx *sql.Tx, e *webhook.Event, endpoints []webhook.Endpoint) (
	bool, error,
) {
	ofAccount := func(w webhook.Endpoint) bool { return w.Account != "" && w.Account == e.Account }
	if !slices.ContainsFunc(endpoints, ofAccount) {
		return false, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+waiting+" FROM webhooks WHERE account = ?",
		int64(webhook.MostWaiting(e.Account)), e.Account)
	sum := 0
	err = each(rows, err, func(row scanner) (n int, err error) { return n, row.Scan(&n) }, func(n *int) error {
		sum += *n
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("count deliveries: %w", err)
	}
	return sum >= webhook.MostWaitingInAll, nil
}

// isCrowding reports whether the event's account has as many pending deliveries at an endpoint of the installation as
// there is free room. So an account that causes many events does not take the room of the others.
func isCrowding(ctx context.Context, tx *sql.Tx, e *webhook.Event, to *webhook.Endpoint, waits int) (bool, error) {
	free := max(0, webhook.MostWaiting("")-waits)
	if to.Account != "" || e.Account == "" || waits < free {
		return false, nil
	}
	var n int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM deliveries d JOIN events e ON e.id = d.event"+
		" WHERE d.webhook = ? AND d.due IS NOT NULL AND e.account = ? LIMIT ?) AS few", to.ID, e.Account,
		int64(free)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("count an account's deliveries: %w", err)
	}
	return n >= free, nil
}

// mayAdd returns webhook.ErrNoRoom if there is no room for a delivery that a person requests.
func (o *outbox) mayAdd(ctx context.Context, q querier, to *webhook.Endpoint) error {
	if o.room.none() {
		return webhook.ErrNoRoom
	}
	n, err := waitingFor(ctx, q, to.ID, webhook.MostWaiting(to.Account))
	if err == nil && n >= webhook.MostWaiting(to.Account) {
		err = webhook.ErrNoRoom
	}
	return err
}
