package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// packed compares packed days and months with the rollup of days, and packed hours with that of hours, or with rows.
func (v *verifier) packed(ctx context.Context) error {
	there, err := packedPeriods(ctx, v.tx)
	if err != nil {
		return err
	}
	for _, period := range slices.Sorted(maps.Keys(there)) {
		p := there[period]
		if !p.isReadable() && !p.areSpeedsReadable() {
			continue
		}
		row, err := readPacked(ctx, v.tx, period)
		if err == nil && p.isReadable() {
			err = v.packedSums(ctx, period, &row)
		}
		if err == nil && p.areSpeedsReadable() {
			err = v.packedSpeeds(ctx, period, &row)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", periodText(period), err)
		}
	}
	return nil
}

func (v *verifier) packedSums(ctx context.Context, period int64, row *packedRow) error {
	days, err := readPeriod(ctx, v.tx, period, mostPacked)
	if err != nil {
		return err
	}
	names := measureColumns()
	v.comparePacked(period, "packed by model", row.byModel, days.folded(bucket.ofModel), names)
	v.comparePacked(period, "packed by key", row.byKey, days.folded(bucket.ofKey), names)
	v.comparePacked(period, "packed by key and model", row.byBoth, days, names)
	return nil
}

func (v *verifier) packedSpeeds(ctx context.Context, period int64, row *packedRow) error {
	want, err := readSpeedsOf(ctx, v.tx, period, mostPacked)
	if err == nil && want != nil { // else the rows of an hour are deleted
		v.comparePacked(period, "packed speeds", row.speeds, want, speedColumns())
	}
	return err
}

// comparePacked compares the packed sums of a period. names are the names of their measures.
func (v *verifier) comparePacked(period int64, rollup string, packed []byte, want buckets, names []string) {
	have, err := unpackNamed(packed, names)
	if err != nil {
		v.differ(rollup, &bucket{period: period}, err.Error(), 0, 0)
		return
	}
	v.result.Rollups += int64(len(have))
	on := func(b bucket) bucket {
		b.period = period
		return b
	}
	v.compareNamed(rollup, want.folded(on), have.folded(on), names)
}
