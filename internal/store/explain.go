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

// Explain calls fn with what the sums of days are made of, by account, model and version of
// the price, the oldest day first, as of one moment: of rows that are kept, of those that
// retention has deleted, and of corrections. It ends with the first error of fn.
func (s *Reports) Explain(ctx context.Context, q report.ExportQuery, fn func(*report.Explanation) error) error {
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	return s.moment(ctx, s.read, "explain", func(tx *sql.Tx) error {
		x := explainer{tx: tx, account: q.Account}
		return x.run(ctx, f.from, f.to, fn)
	})
}

type explainer struct {
	tx      *sql.Tx
	account string            // id; empty for all
	terms   map[string]string // by version
}

func (x *explainer) run(ctx context.Context, from, to int64, fn func(*report.Explanation) error) error {
	if err := x.load(ctx); err != nil {
		return err
	}
	all := map[int64]bool{}
	for table, column := range map[string]string{"attempts": "day", "corrections": "day", tableExplanations: "period"} {
		days, err := daysOf(ctx, x.tx, table, column, from, to)
		if err != nil {
			return err
		}
		for _, day := range days {
			all[day] = true
		}
	}
	for _, day := range slices.Sorted(maps.Keys(all)) {
		sums, err := x.day(ctx, day)
		if err != nil {
			return fmt.Errorf("%s: %w", dateText(day), err)
		}
		for _, b := range sums.sorted() {
			if x.account != "" && b.account != x.account {
				continue
			}
			if err := fn(x.explanation(&b, sums[b])); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads the terms of all prices.
func (x *explainer) load(ctx context.Context) error {
	x.terms = map[string]string{}
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
	rows, err := x.tx.QueryContext(ctx, "SELECT "+attemptColumns+
		" FROM attempts WHERE day = ? AND outcome <> 'open' AND (? = '' OR account = ?)", day, x.account, x.account)
	err = each(rows, err, scanEntry, func(e *ledger.Entry) error {
		sums.add(bucketOf(&e.Attempt).ofDay().ofPrice(e.Price.Version), sumsOf(e))
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
