package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"weir/internal/account"
	"weir/internal/audit"
)

// noPriceLists is the column price_lists of an account that has none.
const noPriceLists = "[]"

// decodePriceLists decodes the column price_lists.
func decodePriceLists(text string) (lists []account.PriceList, err error) {
	if text == noPriceLists {
		return nil, nil
	}
	if err = json.Unmarshal([]byte(text), &lists); err == nil {
		err = account.CheckPriceLists(lists)
	}
	if err != nil {
		return nil, fmt.Errorf("price lists: %w", err)
	}
	return lists, nil
}

// setPriceList adds a price list to the account with that id and returns the result; or account.ErrNotFound. Its
// audit log entry does not belong to the account, because a markup reveals the cost.
func (s *Accounts) setPriceList(ctx context.Context, by audit.Actor, id string, l *account.PriceList) (
	a account.Account, err error,
) {
	err = s.write(ctx, s.sure, "set price list", func(tx *sql.Tx) error {
		if a, err = s.accountInTurn(ctx, tx, id); err != nil {
			return err
		}
		before := facts{"price_list": a.PriceListAt(l.Since)}
		a.PriceLists = a.WithPriceList(l)
		text, err := json.Marshal(a.PriceLists)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE accounts SET price_lists = ? WHERE id = ?", string(text),
			id); err != nil {
			return err
		}
		e := audit.Entry{
			Actor: by, Action: audit.AccountPriced, Object: audit.Object{Kind: "account", ID: a.ID, Name: a.Name},
		}
		if _, err := s.note(ctx, tx, e, before, facts{"price_list": l}); err != nil {
			return err
		}
		return s.changed(ctx, tx, account.ChangedAccount, a.ID)
	})
	return a, err
}
