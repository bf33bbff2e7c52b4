package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/webhook"
)

// Accounts stores the accounts and their keys, and the feed of changes.
type Accounts struct{ *conn }

// Stores returns the stores for account.NewService.
func (s *Accounts) Stores() account.Stores {
	return account.Stores{Lookups: s, Accounts: s, Keys: s, Setup: s}
}

const accountColumns = "id, name, suspended, on_hangup, budget, budget_period, rpm, tpm, concurrency, credit, " +
	"credit_from, goodwill, price_lists, per, created, closed, content_percent"

// accountRow is a scanned row of accountColumns, with its encoded columns not decoded yet.
type accountRow struct {
	account.Account
	credit, from sql.NullInt64
	priceLists   string
	per          string
	created      int64
	closed       sql.NullInt64
}

func (r *accountRow) dest() []any {
	return []any{
		&r.ID, &r.Name, &r.Suspended, &r.OnDisconnect, &r.Budget.Limit, &r.Budget.Period,
		&r.Limits.RPM, &r.Limits.TPM, &r.Limits.Concurrency, &r.credit, &r.from, &r.Goodwill, &r.priceLists, &r.per,
		&r.created, &r.closed, &r.ContentPercent,
	}
}

func (r *accountRow) account() (account.Account, error) {
	a := r.Account
	a.Created, a.Closed = fromMicros(r.created), optionalTime(r.closed)
	if r.credit.Valid {
		a.Credit = &account.Credit{Paid: llm.Money(r.credit.Int64), From: llm.Money(r.from.Int64)}
	}
	var err error
	if a.PriceLists, err = decodePriceLists(r.priceLists); err == nil {
		a.Per, err = decodePer(r.per)
	}
	return a, err
}

func scanAccount(row scanner) (account.Account, error) {
	var r accountRow
	if err := row.Scan(r.dest()...); err != nil {
		return account.Account{}, err
	}
	return r.account()
}

// List returns all accounts by name, or only the one with that name or id, if it exists.
func (s *Accounts) List(ctx context.Context, nameOrID string) ([]account.Account, error) {
	query, args := "SELECT "+accountColumns+" FROM accounts", []any(nil)
	if nameOrID != "" {
		query, args = query+" WHERE id = ? OR name = ?", []any{nameOrID, nameOrID}
	}
	rows, err := s.read.QueryContext(ctx, query+" ORDER BY name", args...)
	return listed("read accounts", rows, err, scanAccount)
}

// CreateAccount adds an account. It returns account.ErrExists if the name is taken.
func (s *Accounts) CreateAccount(ctx context.Context, by audit.Actor, a account.Account) error {
	return s.write(ctx, s.sure, "create account", func(tx *sql.Tx) error { return s.createAccount(ctx, tx, by, &a) })
}

func (s *Accounts) createAccount(ctx context.Context, tx *sql.Tx, by audit.Actor, a *account.Account) error {
	created, err := s.insertAccount(ctx, tx, by, a, "WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = ?)", a.Name)
	if err == nil && !created {
		err = account.ErrExists
	}
	return err
}

// Bootstrap adds the account if there is no account at all, and reports whether it did.
func (s *Accounts) Bootstrap(ctx context.Context, by audit.Actor, a account.Account) (created bool, err error) {
	err = s.write(ctx, s.sure, "create first account", func(tx *sql.Tx) error {
		created, err = s.insertAccount(ctx, tx, by, &a, "WHERE NOT EXISTS (SELECT 1 FROM accounts)")
		return err
	})
	return created, err
}

// insertAccount adds an account if the condition is true, and reports whether it did.
func (s *conn) insertAccount(ctx context.Context, tx *sql.Tx, by audit.Actor, a *account.Account, condition string,
	args ...any,
) (bool, error) {
	if err := s.inTurn(ctx, tx); err != nil { // because concurrent transactions may change the condition
		return false, err
	}
	per, err := encodePer(a.Per)
	if err != nil {
		return false, err
	}
	result, err := tx.ExecContext(
		ctx, "INSERT INTO accounts (id, name, suspended, on_hangup, budget, budget_period, rpm, tpm, concurrency, "+
			"per, created, content_percent)"+
			" SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? "+condition, append([]any{
			a.ID, a.Name, number(a.Suspended), string(a.OnDisconnect), int64(a.Budget.Limit), string(a.Budget.Period),
			a.Limits.RPM, a.Limits.TPM, a.Limits.Concurrency, per, micros(a.Created), a.ContentPercent,
		}, args...)...)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, s.noteAccount(ctx, tx, by, audit.AccountCreated, nil, a)
}

// UpdateAccount changes the account with that id and returns the result. It returns account.ErrNotFound if there is
// no such account.
func (s *Accounts) UpdateAccount(ctx context.Context, by audit.Actor, id string, u account.Update) (a account.Account,
	err error,
) {
	// NULL leaves a column unchanged.
	var suspended, onDisconnect, limit, period, rpm, tpm, concurrency, per, content any
	if u.Suspended != nil {
		suspended = number(*u.Suspended)
	}
	if u.OnDisconnect != nil {
		onDisconnect = string(*u.OnDisconnect)
	}
	if u.Budget != nil {
		limit, period = int64(u.Budget.Limit), string(u.Budget.Period)
	}
	if l := u.Limits; l != nil {
		rpm, tpm, concurrency = l.RPM, l.TPM, l.Concurrency
	}
	if u.Per != nil {
		if per, err = encodePer(*u.Per); err != nil {
			return a, err
		}
	}
	if u.ContentPercent != nil {
		content = *u.ContentPercent
	}
	if u.PriceList != nil {
		return s.setPriceList(ctx, by, id, u.PriceList)
	}
	end := ""
	if u.EndCredit {
		end = " credit = NULL, credit_from = 0,"
	}
	err = s.write(ctx, s.sure, "update account", func(tx *sql.Tx) error {
		before, err := s.accountInTurn(ctx, tx, id)
		if err != nil {
			return err
		}
		row := tx.QueryRowContext(ctx, "UPDATE accounts SET"+end+
			" suspended = coalesce(?, suspended), on_hangup = coalesce(?, on_hangup),"+
			" budget = coalesce(?, budget), budget_period = coalesce(?, budget_period),"+
			" rpm = coalesce(?, rpm), tpm = coalesce(?, tpm), concurrency = coalesce(?, concurrency),"+
			" per = coalesce(?, per), content_percent = coalesce(?, content_percent) WHERE id = ? RETURNING "+
			accountColumns, suspended, onDisconnect, limit,
			period, rpm, tpm,
			concurrency, per, content, id)
		if a, err = scanAccount(row); err != nil {
			return orNotFound(err)
		}
		return s.noteAccount(ctx, tx, by, updateAction(&before, &a), &before, &a)
	})
	return a, err
}

// accountInTurn returns the account with that id. No other transaction changes it until this one ends. The error is
// account.ErrNotFound if it does not exist, or account.Closed if it is closed.
func (s *conn) accountInTurn(ctx context.Context, tx *sql.Tx, id string) (account.Account, error) {
	a, err := s.anyAccountInTurn(ctx, tx, id)
	if err == nil && a.Closed != nil {
		err = account.Closed()
	}
	return a, err
}

// anyAccountInTurn works like accountInTurn, but also returns a closed account.
func (s *conn) anyAccountInTurn(ctx context.Context, tx *sql.Tx, id string) (account.Account, error) {
	if err := s.inTurn(ctx, tx); err != nil {
		return account.Account{}, err
	}
	a, err := scanAccount(tx.QueryRowContext(ctx, "SELECT "+accountColumns+" FROM accounts WHERE id = ?", id))
	return a, orNotFound(err)
}

func updateAction(before, after *account.Account) audit.Action {
	switch {
	case before.Suspended == after.Suspended:
		return audit.AccountChanged
	case after.Suspended:
		return audit.AccountSuspended
	}
	return audit.AccountResumed
}

// AddCredit adds to the credit of an account, or to its goodwill, and returns the account afterwards. If the sum
// would be too large, it returns account.ErrTooMuch with the unchanged account. The first credit applies to spending
// from then on. Goodwill for an account without credit creates no credit.
func (s *Accounts) AddCredit(ctx context.Context, by audit.Actor, e account.CreditEntry) (a account.Account,
	err error,
) {
	err = s.write(ctx, s.sure, "add credit", func(tx *sql.Tx) error {
		a, err = s.addCredit(ctx, tx, by, &e)
		return err
	})
	return a, err
}

func (s *Accounts) addCredit(ctx context.Context, tx *sql.Tx, by audit.Actor, e *account.CreditEntry) (
	a account.Account, err error,
) {
	before, err := s.accountInTurn(ctx, tx, e.AccountID)
	if err != nil {
		return a, err
	}
	_, err = tx.ExecContext(
		ctx, "INSERT INTO credits (id, account, amount, goodwill, who, at) VALUES (?, ?, ?, ?, ?, ?)",
		e.ID, e.AccountID, int64(e.Amount), number(e.Goodwill), by.String(), micros(e.At))
	if err != nil {
		return a, err
	}
	set := "credit = coalesce(credit, 0) + ?," +
		" credit_from = CASE WHEN credit IS NULL THEN (SELECT coalesce(sum(spent), 0) FROM balances WHERE scope " +
		"= accounts.id) ELSE credit_from END"
	action := audit.AccountCredited
	if e.Goodwill {
		action = audit.AccountGoodwill
	}
	if e.Goodwill && before.Credit == nil {
		set = "goodwill = goodwill + ?"
	}
	row := tx.QueryRowContext(ctx, "UPDATE accounts SET "+set+" WHERE id = ? RETURNING "+accountColumns,
		int64(e.Amount), e.AccountID)
	if a, err = scanAccount(row); err != nil {
		return a, orNotFound(err)
	}
	sum := a.Goodwill
	if a.Credit != nil {
		sum = a.Credit.Paid
	}
	switch {
	case sum < 0:
		return a, account.ErrOverdrawn
	case sum > account.MaxAmount:
		return before, account.ErrTooMuch
	}
	return a, s.noteAccount(ctx, tx, by, action, &before, &a)
}

// CreateSetupToken stores the hash of a token that can be used once, until it expires.
func (s *Accounts) CreateSetupToken(ctx context.Context, by audit.Actor, hash account.Hash, created,
	expires time.Time,
) error {
	return s.write(ctx, s.sure, "create setup token", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO setup_tokens (hash, created, expires) VALUES (?, ?, ?)",
			hash.String(), micros(created), micros(expires))
		if err != nil {
			return err
		}
		e := audit.Entry{Actor: by, Action: audit.SetupLinkCreated, Object: audit.Object{Kind: "setup_link"}}
		_, err = s.note(ctx, tx, e, nil, facts{"expires": timeFact(&expires)})
		return err
	})
}

// orNotFound converts sql.ErrNoRows to account.ErrNotFound.
func orNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return account.ErrNotFound
	}
	return err
}

// noteAccount adds a change of an account to the audit log and the feed of changes. before is nil for a new account.
func (s *conn) noteAccount(ctx context.Context, tx *sql.Tx, by audit.Actor, action audit.Action, before,
	after *account.Account,
) error {
	e := audit.Entry{
		Actor: by, Action: action, Account: after.ID,
		Object: audit.Object{Kind: "account", ID: after.ID, Name: after.Name},
	}
	noted, err := s.note(ctx, tx, e, accountFacts(before), accountFacts(after))
	if err != nil || !noted {
		return err
	}
	if action == audit.AccountSuspended || action == audit.AccountResumed {
		e := webhook.NewEvent(webhook.Type(action), after.ID, s.clock.now(),
			webhook.Data{Account: &webhook.Account{ID: after.ID, Name: after.Name}})
		if _, err := s.outbox.tell(ctx, tx, &e); err != nil {
			return err
		}
	}
	if before != nil && (account.AnotherPeriod(before.Budget, after.Budget, before.Per, after.Per) ||
		before.Budget.Limit > 0 && (before.Credit == nil) != (after.Credit == nil)) {
		if err := s.noteBudget(ctx, tx, after.ID); err != nil {
			return err
		}
	}
	return s.changed(ctx, tx, account.ChangedAccount, after.ID)
}

func accountFacts(a *account.Account) facts {
	if a == nil {
		return nil
	}
	f := facts{
		"name": a.Name, "suspended": a.Suspended, "on_hangup": string(a.OnDisconnect), "credit_usd": nil,
		"credit_from_usd": nil, "goodwill_usd": nil,
	}
	if a.Credit != nil {
		f["credit_usd"], f["credit_from_usd"] = a.Credit.Paid.String(), a.Credit.From.String()
	}
	if a.Goodwill != 0 {
		f["goodwill_usd"] = a.Goodwill.String()
	}
	if a.ContentPercent != 0 {
		f["content_percent"] = a.ContentPercent
	}
	f.limits(a.Limits)
	f.budget(a.Budget)
	f.per(a.Per)
	return f
}
