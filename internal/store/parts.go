package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// storedPer is the form of an account.Per in the column per of an account or a key.
type storedPer struct {
	Tag         string        `json:"tag,omitempty"`
	RPM         int64         `json:"rpm,omitempty"`
	TPM         int64         `json:"tpm,omitempty"`
	Concurrency int64         `json:"concurrency,omitempty"`
	Budget      llm.Money     `json:"budget,omitempty"` // nano-USD
	Period      budget.Period `json:"period,omitempty"`
}

// noPer is the column per of an account or a key without limits for its parts.
const noPer = "[]"

// encodePer encodes the column per.
func encodePer(list []account.Per) (string, error) {
	stored := make([]storedPer, len(list))
	for i := range list {
		p := &list[i]
		stored[i] = storedPer{
			Tag: p.Tag, RPM: p.Limits.RPM, TPM: p.Limits.TPM, Concurrency: p.Limits.Concurrency, Budget: p.Budget.Limit,
			Period: p.Budget.Period,
		}
	}
	text, err := json.Marshal(stored)
	return string(text), err
}

// decodePer decodes the output of encodePer.
func decodePer(text string) (list []account.Per, err error) {
	if text == noPer {
		return nil, nil
	}
	var stored []storedPer
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, fmt.Errorf("limits per end user and tag: %w", err)
	}
	for i := range stored {
		p := &stored[i]
		list = append(list, account.Per{
			Tag: p.Tag, Limits: account.Limits{RPM: p.RPM, TPM: p.TPM, Concurrency: p.Concurrency},
			Budget: account.Budget{Limit: p.Budget, Period: p.Period},
		})
	}
	return list, nil
}

// per adds the limits of each end user, and of each value of a tag.
func (f facts) per(list []account.Per) {
	for i := range list {
		p := &list[i]
		of := facts{}
		of.limits(p.Limits)
		of.budget(p.Budget)
		for name, value := range of {
			if value == nil {
				delete(of, name)
			}
		}
		if p.Tag == "" {
			f["per_user"] = of
		} else {
			f["per_tag "+p.Tag] = of
		}
	}
}

// partBudget returns the budget of a part of an account or a key; zero if it has none.
func partBudget(ctx context.Context, q querier, owner string, p budget.Part) (budget.Budget, error) {
	var text string
	err := q.QueryRowContext(ctx, "SELECT per FROM accounts WHERE id = ? UNION ALL SELECT per FROM keys WHERE id = ?",
		owner, owner).Scan(&text)
	if err != nil {
		return budget.Budget{}, orNotFound(err)
	}
	list, err := decodePer(text)
	b := account.PartBudget(list, p)
	return budget.Budget{Period: b.Period, Limit: b.Limit}, err
}

// addParts adds the charge of a row to the parts that it counts against, in addition to its account and key.
func (m balances) addParts(e *ledger.Entry) {
	if scopes := e.PartScopes(); len(scopes) > 0 {
		m.addScopes(scopes, dayOf(e.Arrived), e.Charged())
	}
}

func (m balances) addScopes(scopes []string, day int64, charged llm.Money) {
	for _, scope := range scopes {
		if charged != 0 {
			m[scopeDay{scope, day}] += charged
		}
	}
}

func (m balances) addCorrection(c *correction) {
	m.addScopes(c.parts, c.bucket.ofDay().period, c.sums().charged())
}

// checkpointParts stores the charges of deleted rows to parts.
func checkpointParts(ctx context.Context, tx *sql.Tx, m balances) error {
	for _, name := range m.sorted() {
		_, err := tx.ExecContext(ctx, "INSERT INTO part_checkpoints (scope, day, spent) VALUES (?, ?, ?)"+
			" ON CONFLICT (scope, day) DO UPDATE SET spent = part_checkpoints.spent + excluded.spent",
			name.scope, name.day,
			int64(m[name]))
		if err != nil {
			return fmt.Errorf("checkpoint of parts: %w", err)
		}
	}
	return nil
}

// readPartCheckpoints returns the charges of deleted rows of a day to parts.
func readPartCheckpoints(ctx context.Context, q querier, day int64) (balances, error) {
	m := balances{}
	rows, err := q.QueryContext(ctx, "SELECT scope, spent FROM part_checkpoints WHERE day = ?", day)
	err = eachRow(rows, err, func(row scanner) error {
		var scope string
		var spent llm.Money
		err := row.Scan(&scope, &spent)
		m[scopeDay{scope, day}] = spent
		return err
	})
	return m, err
}

// ownersOf separates the scopes into whole accounts and keys, and parts by their owner.
func ownersOf(scopes []string) (whole []string, parts map[string][]string) {
	for _, scope := range scopes {
		owner, _, isPart := budget.PartOf(scope)
		switch {
		case !isPart:
			whole = append(whole, scope)
		case parts == nil:
			parts = map[string][]string{}
			fallthrough
		default:
			parts[owner] = append(parts[owner], scope)
		}
	}
	return whole, parts
}

// learnParts reads the budgets of parts, by their owners.
func (a *applier) learnParts(ctx context.Context, tx *sql.Tx, parts map[string][]string) error {
	for owner, scopes := range parts {
		list, err := partRows(ctx, tx, owner, scopes)
		if err != nil {
			return err
		}
		for i := range list {
			a.budgets[list[i].id] = &list[i]
		}
	}
	return nil
}

// partRows returns the budgets of an owner's parts.
func partRows(ctx context.Context, q querier, owner string, scopes []string) (rows []budgetRow, err error) {
	var id, text string
	err = q.QueryRowContext(ctx, "SELECT id, per FROM accounts WHERE id = ? UNION ALL SELECT account, per FROM keys"+
		" WHERE id = ?", owner, owner).Scan(&id, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read budgets of parts: %w", err)
	}
	list, err := decodePer(text)
	for _, scope := range scopes {
		_, part, _ := budget.PartOf(scope)
		if b := account.PartBudget(list, part); b.Limit > 0 {
			rows = append(rows, budgetRow{
				id: scope, account: id, owner: owner, part: part, limit: b.Limit,
				period: b.Period,
			})
		}
	}
	return rows, err
}

// partsFrom returns the first day that still has the spending of parts at a time: the first of the month before the
// last.
func partsFrom(now time.Time) int64 {
	year, month, _ := now.UTC().Date()
	return dayOf(time.Date(year, month-2, 1, 0, 0, 0, 0, time.UTC))
}

// forgetParts deletes the spending of parts in past periods, because it names end users.
func (s *Leases) forgetParts(ctx context.Context, now time.Time) error {
	from := partsFrom(now)
	for _, old := range []leftover{
		{table: "balances", key: "scope", where: "day < ? AND scope LIKE '%/%'", args: []any{from}},
		{table: "part_checkpoints", key: "scope", where: "day < ?", args: []any{from}},
	} {
		if err := s.clear(ctx, &old); err != nil {
			return fmt.Errorf("delete spending of parts: %w", err)
		}
	}
	return s.write(ctx, s.sure, "forget parts of corrections", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE corrections SET parts = '[]' WHERE day < ? AND parts <> '[]'", from)
		return err
	})
}

// withoutParts removes the balances of parts.
func (m balances) withoutParts() balances {
	maps.DeleteFunc(m, func(name scopeDay, _ llm.Money) bool {
		_, _, isPart := budget.PartOf(name.scope)
		return isPart
	})
	return m
}
