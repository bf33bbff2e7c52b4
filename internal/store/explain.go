package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"weir/internal/ledger"
	"weir/internal/report"
)

// Explain calls fn with the components of the sums of each day, by account, model and version of the price, oldest
// day first, each day as of one moment. They include the rows that are stored, those that retention has deleted, and
// corrections. It ends with the first error of fn. No connection is held while fn runs.
func (s *Reports) Explain(ctx context.Context, q report.ExportQuery, fn func(*report.Explanation) error) error {
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	var days []int64
	err = s.moment(ctx, s.read, "explain", func(tx *sql.Tx) (err error) {
		days, err = explainedDays(ctx, tx, f.from, f.to)
		return err
	})
	x := explainer{account: q.Account, terms: map[string]string{}}
	for i := 0; i < len(days) && err == nil; i++ {
		var list []*report.Explanation
		err = s.moment(ctx, s.read, "explain "+dateText(days[i]), func(tx *sql.Tx) (err error) {
			x.tx = tx
			list, err = x.explain(ctx, days[i])
			return err
		})
		for k := 0; k < len(list) && err == nil; k++ {
			err = fn(list[k])
		}
	}
	return err
}

// explainedDays returns the days that have attempts or corrections, oldest first.
func explainedDays(ctx context.Context, tx *sql.Tx, from, to int64) ([]int64, error) {
	all := map[int64]bool{}
	attempts, err := attemptDays(ctx, tx, from, to)
	if err != nil {
		return nil, err
	}
	corrections, err := daysOf(ctx, tx, "corrections", "day", from, to)
	if err != nil {
		return nil, err
	}
	explanations, err := daysOf(ctx, tx, tableExplanations, "period", from, to)
	if err != nil {
		return nil, err
	}
	for _, day := range slices.Concat(attempts, corrections, explanations) {
		all[day] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}

type explainer struct {
	tx      *sql.Tx
	account string            // id; empty for all
	terms   map[string]string // by version
}

func (x *explainer) explain(ctx context.Context, day int64) (list []*report.Explanation, err error) {
	sums, err := x.day(ctx, day)
	if err != nil {
		return nil, err
	}
	for _, b := range sums.sorted() {
		if x.account != "" && b.account != x.account {
			continue
		}
		if err := x.know(ctx, b.key); err != nil {
			return nil, err
		}
		list = append(list, x.explanation(&b, sums[b]))
	}
	return list, nil
}

// know reads the terms of all prices if those of a version are not known. Prices are only added and never change.
func (x *explainer) know(ctx context.Context, version string) error {
	if _, known := x.terms[version]; known {
		return nil
	}
	x.terms[version] = "" // stays empty if the version belongs to no price
	rows, err := x.tx.QueryContext(ctx, "SELECT version, rates, tiers, modes FROM prices")
	return eachRow(rows, err, func(row scanner) error {
		var version, rates, tiers, modes string
		err := row.Scan(&version, &rates, &tiers, &modes)
		x.terms[version] = `{"rates":` + rates + `,"tiers":` + tiers + `,"modes":` + modes + `}`
		return err
	})
}

// day adds up a day by price.
func (x *explainer) day(ctx context.Context, day int64) (buckets, error) {
	sums, err := newRollup(tableExplanations).read(ctx, x.tx, day, day)
	if err != nil {
		return nil, err
	}
	query := ofDay(day)
	query.account = x.account
	err = walk(ctx, x.tx, query, func(r *storedRow) error {
		if r.Outcome != ledger.OutcomeOpen {
			sums.add(bucketOf(&r.Attempt).ofDay().ofPrice(r.Price.Version), sumsOf(&r.Entry))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	corrections, err := readCorrections(ctx, x.tx, day, day, "")
	for i := range corrections {
		sums.add(corrections[i].bucket.ofDay().ofPrice(report.PriceCorrections), corrections[i].sums())
	}
	return sums, err
}

func (x *explainer) explanation(b *bucket, s *sums) *report.Explanation {
	return &report.Explanation{
		Date: dateText(b.period), Account: b.account, Model: b.model, Price: b.key, Terms: x.terms[b.key],
		Sum: s.reported(),
	}
}
