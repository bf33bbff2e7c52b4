package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// packed compares packed days and months with the rollup of days, and packed hours with that of hours.
func (v *verifier) packed(ctx context.Context) error {
	there, err := packedPeriods(ctx, v.tx)
	if err != nil {
		return err
	}
	for _, period := range slices.Sorted(maps.Keys(there)) {
		if !there[period].isReadable() {
			continue
		}
		if err := v.packedPeriod(ctx, period); err != nil {
			return fmt.Errorf("%s: %w", periodText(period), err)
		}
	}
	return nil
}

func (v *verifier) packedPeriod(ctx context.Context, period int64) error {
	days, err := readPeriod(ctx, v.tx, period, mostPacked)
	if err != nil {
		return err
	}
	row, err := readPacked(ctx, v.tx, period)
	if err != nil {
		return err
	}
	for _, of := range []struct {
		rollup string
		packed []byte
		want   buckets
	}{
		{"packed by model", row.byModel, days.folded(bucket.ofModel)},
		{"packed by key", row.byKey, days.folded(bucket.ofKey)},
		{"packed by key and model", row.byBoth, days},
	} {
		have, err := unpackBuckets(of.packed)
		if err != nil {
			v.differ(of.rollup, &bucket{period: period}, err.Error(), 0, 0)
			continue
		}
		v.result.Rollups += int64(len(have))
		on := func(b bucket) bucket {
			b.period = period
			return b
		}
		v.compare(of.rollup, of.want.folded(on), have.folded(on))
	}
	return nil
}
