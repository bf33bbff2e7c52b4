package admin

import (
	"context"
	"time"

	"weir/internal/reconcile"
	"weir/internal/webhook"
)

const (
	// driftEvery is the interval of the check for a new day to compare. A day is compared driftAfter its end, when
	// providers have reported it and the day after it, to which they may assign some of its usage.
	driftEvery, driftAfter = time.Hour, 32 * time.Hour
	// driftBack is the number of earlier days that are compared again, in case no gateway ran in time. driftKept is
	// how long a reported day is remembered.
	driftBack, driftKept = 6, 40 * 24 * time.Hour
	// driftModels bounds the models that an event names.
	driftModels = 20
)

// WatchDrift compares each finished day with the reports of the providers that have an admin key, and sends an event
// for unexplained differences, until ctx ends.
func (r *Reconciliation) WatchDrift(ctx context.Context) {
	every := time.NewTicker(driftEvery)
	defer every.Stop()
	compared := map[string]string{} // last compared day, by provider
	for {
		cfg, table := r.inForce()
		c := comparison{r.store, cfg, table}
		day := r.store.Now().Add(-driftAfter).UTC().AddDate(0, 0, -1).Truncate(24 * time.Hour)
		for i := range cfg.Providers {
			p := &cfg.Providers[i]
			if date := day.Format(time.DateOnly); !p.AdminKey.IsZero() && compared[p.Name] != date {
				err := r.reportDrift(ctx, &c, p.Name, day)
				if err == nil {
					compared[p.Name] = date
				} else if ctx.Err() == nil {
					r.log.Warn("a provider's report could not be compared with the ledger", "provider", p.Name,
						"date", date, "err", err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// reportDrift compares the days up to last, together with the days before and after them, and sends an event for each
// day with unexplained differences.
func (r *Reconciliation) reportDrift(ctx context.Context, c *comparison, provider string, last time.Time) error {
	result, err := c.reconcile(ctx, provider, last.AddDate(0, 0, -driftBack-1), last.AddDate(0, 0, 1))
	if err != nil {
		return err
	}
	began, err := c.store.Reports.FirstDay(ctx, provider)
	if err != nil {
		return err
	}
	for back := driftBack; back >= 0; back-- {
		day := last.AddDate(0, 0, -back)
		if began == "" || day.Format(time.DateOnly) < began { // there was no usage through this gateway yet
			continue
		}
		d := driftOf(provider, day.Format(time.DateOnly), result.Rows)
		if d.Rows == 0 {
			continue
		}
		r.log.Warn("a provider's report differs from the ledger", "provider", provider, "date", d.Date,
			"models", d.Rows)
		e := webhook.NewEvent(webhook.UsageDrift, "", r.store.Now(), webhook.Data{Drift: &d})
		e.TellOnce(day.Add(driftKept), provider, d.Date)
		if err := r.store.Events.Tell(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// driftOf returns the unexplained differences of a day.
func driftOf(provider, date string, rows []reconcile.Row) webhook.Drift {
	d := webhook.Drift{Provider: provider, Date: date, Models: []webhook.DriftedOf{}}
	for i := range rows {
		row := &rows[i]
		if row.Day != date || row.Finding.Explained() {
			continue
		}
		if d.Rows++; len(d.Models) < driftModels {
			one := webhook.DriftedOf{Model: row.Model, Finding: string(row.Finding), OursUSD: row.Ours.Cost.String()}
			if row.Cost != nil {
				one.TheirsUSD = new(row.Cost.String())
			}
			d.Models = append(d.Models, one)
		}
	}
	return d
}
