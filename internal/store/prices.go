package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/ledger"
	"weir/internal/llm"
)

func insertPrices() *insertion {
	return &insertion{
		head:    "INSERT INTO prices (version, rates, tiers, modes) VALUES ",
		columns: 4,
		tail:    " ON CONFLICT (version) DO NOTHING",
	}
}

// price stores new prices.
func (a *applier) price(ctx context.Context, list []ledger.PriceRecord) error {
	rows := make([]storedPrice, len(list))
	for i := range list {
		var err error
		if rows[i], err = encodePrice(&list[i]); err != nil {
			return err
		}
	}
	_, err := a.bulk.insert(ctx, a.prices, len(rows), func(dst []any, i int) []any {
		return append(dst, list[i].Version, rows[i].rates, rows[i].tiers, rows[i].modes)
	})
	return err
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// errNoPrice means that the price with a version is not in the database.
var errNoPrice = errors.New("the price is not in the database")

// priceBook caches prices by version; nil for one that does not exist.
type priceBook map[string]*llm.Price

// fill completes a price that has its version.
func (b priceBook) fill(ctx context.Context, q querier, p *llm.Price) error {
	if !p.Known() {
		return nil
	}
	full, known := b[p.Version]
	if !known {
		var err error
		full, err = readPrice(ctx, q, p.Version)
		if err != nil && !errors.Is(err, errNoPrice) {
			return err
		}
		b[p.Version] = full
	}
	if full == nil {
		return fmt.Errorf("price %q: %w", p.Version, errNoPrice)
	}
	*p = *full
	return nil
}

// fillAll completes the prices of an attempt: that of its provider, and that of the account's own terms.
func (b priceBook) fillAll(ctx context.Context, q querier, a *ledger.Attempt) error {
	err := b.fill(ctx, q, &a.Price)
	if !a.Terms.Own() || err != nil && !errors.Is(err, errNoPrice) {
		return err
	}
	return cmp.Or(b.fill(ctx, q, &a.Terms.Price), err)
}

// load reads all prices. A PostgreSQL connection cannot run a query for one while it reads rows.
func (b priceBook) load(ctx context.Context, q querier) error {
	rows, err := q.QueryContext(ctx, "SELECT version, rates, tiers, modes FROM prices")
	err = eachRow(rows, err, func(row scanner) error {
		var version string
		var c storedPrice
		if err := row.Scan(&version, &c.rates, &c.tiers, &c.modes); err != nil {
			return err
		}
		p, err := decodePrice(version, c)
		b[version] = &p
		return err
	})
	if err != nil {
		return fmt.Errorf("read prices: %w", err)
	}
	return nil
}

func readPrice(ctx context.Context, q querier, version string) (*llm.Price, error) {
	var c storedPrice
	err := q.QueryRowContext(ctx, "SELECT rates, tiers, modes FROM prices WHERE version = ?", version).Scan(&c.rates,
		&c.tiers, &c.modes)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoPrice
	}
	if err != nil {
		return nil, fmt.Errorf("read price %q: %w", version, err)
	}
	p, err := decodePrice(version, c)
	return &p, err
}
