package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/imports"
	"weir/internal/llm"
)

const (
	// importRows is how many keys one transaction imports: few, so that other writers do not wait for long.
	importRows = 200
	// mostNames is how many accounts may have names that differ only in a number.
	mostNames = 1000
)

// errDryRun rolls back a transaction that only shows what it would change.
var errDryRun = errors.New("store: dry run")

// Imported returns the hashes that imported keys' tokens had at import.
func (s *Accounts) Imported(ctx context.Context) ([]account.Hash, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT imported FROM keys WHERE imported <> ''")
	return listed("read keys of another gateway", rows, err, func(row scanner) (h account.Hash, err error) {
		var text string
		if err = row.Scan(&text); err == nil {
			h, err = account.ParseHash(text)
		}
		return h, err
	})
}

// Import imports an account with its keys and returns the changes; with dryRun it changes nothing. Objects that were
// imported before stay unchanged, except that opening balances are raised. One transaction imports the account with
// its first keys; further transactions import the others. If it is called again after an error, it continues.
func (s *Accounts) Import(ctx context.Context, by audit.Actor, a *imports.Account, dryRun bool) (
	done imports.Done, err error,
) {
	for from := 0; from == 0 || from < len(a.Keys); from += importRows {
		part := *a
		part.Keys = a.Keys[from:min(from+importRows, len(a.Keys))]
		var one importer
		err := s.write(ctx, s.sure, "import "+a.From, func(tx *sql.Tx) error {
			one = importer{Accounts: s, tx: tx, by: by, now: s.clock.now().UTC().Truncate(time.Microsecond)}
			err := one.account(ctx, &part)
			if err == nil && dryRun {
				err = errDryRun
			}
			return err
		})
		if err != nil && !errors.Is(err, errDryRun) {
			return done, err
		}
		done.ID, done.Name, done.Changes = one.id, one.name, append(done.Changes, one.changes...)
	}
	return done, nil
}

// importer imports an account in a transaction.
type importer struct {
	*Accounts
	tx      *sql.Tx
	by      audit.Actor
	now     time.Time
	id      string // of the account in this installation
	name    string
	changes []imports.Change
}

func (i *importer) account(ctx context.Context, a *imports.Account) error {
	if err := i.inTurn(ctx, i.tx); err != nil {
		return err
	}
	there, err := scanAccount(i.tx.QueryRowContext(ctx, "SELECT "+accountColumns+" FROM accounts WHERE imported = ?",
		identity(a.From)))
	if errors.Is(err, sql.ErrNoRows) {
		there, err = i.newAccount(ctx, a)
	}
	if err != nil {
		return err
	}
	i.id, i.name = there.ID, there.Name
	if err := i.open(ctx, audit.Object{Kind: "account", ID: there.ID, Name: there.Name}, there.ID, there.Budget,
		a.Opening); err != nil {
		return err
	}
	for n := range a.Keys {
		if err := i.key(ctx, there.ID, &a.Keys[n]); err != nil {
			return fmt.Errorf("%s: %w", a.Keys[n].From, err)
		}
	}
	if len(i.changes) == 0 {
		return nil
	}
	return i.changed(ctx, i.tx, account.ChangedImport, there.ID)
}

// newAccount creates the account. If its name is taken, it appends a number.
func (i *importer) newAccount(ctx context.Context, a *imports.Account) (account.Account, error) {
	made := a.Account
	made.ID, made.Created = uuid.Must(uuid.NewV7()).String(), i.now
	for n := 2; n < mostNames; n++ {
		created, err := i.insertAccount(ctx, i.tx, i.by, &made,
			"WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = ?)", made.Name)
		if err != nil {
			return made, err
		}
		if created {
			i.name = made.Name
			i.tell("account", "", "made from "+a.From)
			_, err := i.tx.ExecContext(ctx, "UPDATE accounts SET imported = ? WHERE id = ?", identity(a.From),
				made.ID)
			return made, err
		}
		suffix := "-" + strconv.Itoa(n)
		made.Name = a.Name[:min(len(a.Name), account.MaxName-len(suffix))] + suffix
	}
	return made, fmt.Errorf("%s: %w", a.From, account.ErrExists)
}

// identity returns the stored form of the account's id at the other gateway: a hash, because it may name a person.
func identity(from string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(from))) }

func (i *importer) key(ctx context.Context, accountID string, k *imports.Key) error {
	there, err := scanKey(i.tx.QueryRowContext(ctx, "SELECT "+keyColumns+" FROM keys WHERE imported = ?",
		k.Hash.String()))
	if errors.Is(err, sql.ErrNoRows) {
		there = k.Key
		there.ID, there.AccountID, there.Created = uuid.Must(uuid.NewV7()).String(), accountID, i.now
		err = i.insertKey(ctx, i.tx, i.by, &there, k.Hash, k.Hash.String())
		i.tell("key", k.Label, "made from "+k.From)
	}
	if err != nil {
		return err
	}
	return i.open(ctx, audit.Object{Kind: "key", ID: there.ID, Name: there.Label}, there.AccountID, there.Budget,
		k.Opening)
}

// open raises the opening balance of a budget to an amount. It applies to the budget of this installation.
func (i *importer) open(ctx context.Context, of audit.Object, accountID string, b account.Budget,
	amount llm.Money,
) error {
	if b.Limit == 0 || amount <= 0 {
		return nil
	}
	more, err := i.raise(ctx, i.tx, i.by, &opening{
		object: of, account: accountID, period: b.Period.Number(i.now), amount: amount,
	})
	if err != nil || more == 0 {
		return err
	}
	name := of.Name
	if of.Kind == "account" {
		name = ""
	}
	i.tell("opening", name, fmt.Sprintf("$%s spent before, of the budget of $%s %s", amount, b.Limit,
		imports.Every(b.Period)))
	return nil
}

func (i *importer) tell(kind, name, detail string) {
	i.changes = append(i.changes, imports.Change{Kind: kind, Account: i.name, Name: name, Detail: detail})
}
