package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// AccountNames returns the names of all accounts, by id.
func (s *Reports) AccountNames(ctx context.Context) (map[string]string, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT id, name FROM accounts")
	names := map[string]string{}
	err = eachRow(rows, err, func(row scanner) error {
		var id, name string
		err := row.Scan(&id, &name)
		names[id] = name
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read names of accounts: %w", err)
	}
	return names, nil
}

// SetNames sets the values of maps by id: the names of accounts, and the labels of keys of one account, or of all
// accounts if it is empty. It leaves the values of other ids.
func (s *Reports) SetNames(ctx context.Context, account string, accounts, keys map[string]string) error {
	for _, of := range []struct {
		query string
		names map[string]string
		where string
		args  []any
	}{
		{"SELECT id, name FROM accounts", accounts, "", nil},
		{"SELECT id, label FROM keys", keys, " AND (account = ? OR ? = '')", []any{account, account}},
	} {
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(of.names)), bulkRows) {
			var args []any
			for _, id := range ids {
				args = append(args, id)
			}
			rows, err := s.read.QueryContext(ctx, of.query+" WHERE "+among("id", len(ids))+of.where,
				append(args, of.args...)...)
			err = eachRow(rows, err, func(row scanner) error {
				var id, name string
				err := row.Scan(&id, &name)
				of.names[id] = name
				return err
			})
			if err != nil {
				return fmt.Errorf("read names of accounts and keys: %w", err)
			}
		}
	}
	return nil
}
