package app

import (
	"context"

	"weir/internal/config"
	"weir/internal/contentlog"
	"weir/internal/store"
)

// contentQuota returns the bounds of the content log.
func contentQuota(c *config.Config) store.SealedQuota {
	return store.SealedQuota{Account: int64(c.Content.BytesPerAccount), All: int64(c.Content.TotalBytes)}
}

// openContent creates the recorder of the content log, and the answer cache.
func (g *instance) openContent() {
	o := g.options
	g.content = contentlog.NewRecorder(contentlog.Options{
		Keys: g.admin.Content.Keys(), Write: g.store.Content.Write, Dropped: g.metrics.ContentDropped,
		Most: int(o.Config.Content.MaxBytes), Now: g.store.Now, Log: o.Log,
	})
	openAnswers(g)
}

// storeRetention returns how long data is stored that is deleted by age.
func storeRetention(g *instance) store.Retention {
	r := retentionOf(g)
	return store.Retention{
		Requests: r.Requests, Explanations: r.Explanations, Attribution: r.Attribution, Tags: r.Tags,
		Content: r.Content,
	}
}

// bytesInAll returns the bytes that are stored for all accounts; 0 if the database does not answer in time.
func bytesInAll[T any](usage func(context.Context) ([]T, error), bytes func(*T) int64) (sum int64) {
	ctx, cancel := context.WithTimeout(context.Background(), keptWait)
	defer cancel()
	all, _ := usage(ctx) // without an answer there is no sum
	for i := range all {
		sum += bytes(&all[i])
	}
	return sum
}
