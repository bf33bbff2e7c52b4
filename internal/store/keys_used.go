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
	var key string
	var at int64 // when key was last used
	note := func() {
		if at > 0 {
			used[key] = at
		}
	}
	for of := range inBatch(b) {
		if of.Key != key {
			note()
			key, at = of.Key, used[of.Key]
		}
		at = max(at, micros(of.Opened))
	}
	note()
	keys := slices.Sorted(maps.Keys(used))
	_, err := a.bulk.insert(ctx, a.used, len(keys), func(dst []any, i int) []any {
		return append(dst, keys[i], used[keys[i]])
	})
	return err
}
