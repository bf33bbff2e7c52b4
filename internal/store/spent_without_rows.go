package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"weir/internal/budget"
	"weir/internal/llm"
)

// isAlone returns the SQL condition that the row of a correction c is deleted.
func (e *engine) isAlone() string {
	return "NOT EXISTS (SELECT 1 FROM attempt_rows r WHERE r.day = c.day AND r.id = " + e.rowID + ")" +
		" AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.day = c.day AND a.request = c.request AND a.n = c.n)"
}

// SpentWithoutRows returns the spending of a scope on the days from first to last, yyyymmdd, both inclusive, that is in
// its balances but not in existing rows: opening balances, and the sums of deleted rows and their corrections.
func (s *Ledger) SpentWithoutRows(ctx context.Context, scope string, first, last int64) (llm.Money, error) {
	sum := s.wholeWithoutRows
	if _, _, isPart := budget.PartOf(scope); isPart {
		sum = s.partWithoutRows
	}
	spent, err := sum(ctx, scope, first, last)
	if err != nil {
		return 0, fmt.Errorf("read spending of deleted rows: %w", err)
	}
	return spent, nil
}

// wholeWithoutRows returns the spending without rows of an account or a key.
func (s *Ledger) wholeWithoutRows(ctx context.Context, scope string, first, last int64) (spent llm.Money, err error) {
	const charged = "coalesce(sum(cost + uncertain + margin + margin_uncertain), 0)"
	err = s.read.QueryRowContext(ctx, "SELECT (SELECT "+charged+" FROM checkpoints WHERE period BETWEEN ? AND ?"+
		" AND (account = ? OR key = ?)) + (SELECT "+charged+" FROM corrections c WHERE day BETWEEN ? AND ?"+
		" AND (account = ? OR key = ?) AND "+s.engine.isAlone()+")", first, last, scope, scope, first, last, scope,
		scope).Scan(&spent)
	if err != nil {
		return 0, err
	}
	openings, err := readOpenings(ctx, s.read, scope)
	for name, amount := range openings {
		if first <= name.day && name.day <= last {
			spent += amount
		}
	}
	return spent, err
}

// partWithoutRows returns the spending without rows of a part, which has no opening balance.
func (s *Ledger) partWithoutRows(ctx context.Context, scope string, first, last int64) (spent llm.Money, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT coalesce(sum(spent), 0) FROM part_checkpoints WHERE scope = ?"+
		" AND day BETWEEN ? AND ?", scope, first, last).Scan(&spent)
	if err != nil {
		return 0, err
	}
	owner, _, _ := budget.PartOf(scope)
	rows, err := s.read.QueryContext(ctx, "SELECT parts, cost + uncertain + margin + margin_uncertain"+
		" FROM corrections c"+
		" WHERE day BETWEEN ? AND ? AND (account = ? OR key = ?) AND parts <> '[]' AND "+s.engine.isAlone(), first,
		last, owner, owner)
	err = eachRow(rows, err, func(row scanner) error {
		var text string
		var charged llm.Money
		var parts []string
		if err := row.Scan(&text, &charged); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return err
		}
		if slices.Contains(parts, scope) {
			spent += charged
		}
		return nil
	})
	return spent, err
}
