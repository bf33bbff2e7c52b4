package store

import (
	"context"
	"maps"
	"slices"

	"weir/internal/ledger"
)

// insertUsed returns the insertion of times of last use. It never moves a time back: a journal that is behind, or
// that is applied again, has older times.
func insertUsed() *insertion {
	return &insertion{
		head:    "INSERT INTO key_used (key, at) VALUES ",
		columns: 2,
		tail:    " ON CONFLICT (key) DO UPDATE SET at = excluded.at WHERE key_used.at < excluded.at",
	}
}

// use stores when the keys of a batch were last used.
func (a *applier) use(ctx context.Context, b *ledger.Batch) error {
	used := map[string]int64{}
	for i := range b.Opened {
		latest(used, &b.Opened[i])
	}
	for i := range b.Settled {
		latest(used, &b.Settled[i].Attempt)
	}
	keys := slices.Sorted(maps.Keys(used))
	_, err := a.bulk.insert(ctx, a.used, len(keys), func(dst []any, i int) []any {
		return append(dst, keys[i], used[keys[i]])
	})
	return err
}

// latest updates the time of the attempt's key if the attempt is newer.
func latest(used map[string]int64, a *ledger.Attempt) {
	if at := micros(a.Opened); at > used[a.Key] {
		used[a.Key] = at
	}
}
