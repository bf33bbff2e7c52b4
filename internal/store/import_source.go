package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/jackc/pgx/v5"

	"weir/internal/llm"
)

const (
	foreignRows  = 1_000_000 // of a table
	foreignBytes = 1 << 20   // of a row, as JSON
)

// Foreign reads the PostgreSQL database of another program as of one moment. It never writes.
type Foreign struct {
	db *sql.DB
	tx *sql.Tx
}

// OpenForeign opens the database of another program.
func OpenForeign(ctx context.Context, target llm.Secret) (*Foreign, error) {
	plain, err := withoutPrisma(target)
	if err != nil {
		return nil, err
	}
	config, _, err := postgresConfig(plain)
	if err != nil {
		return nil, err
	}
	config.ValidateConnect = nil // a standby can be read too
	db := postgresPool(nil, config, 1, sessionOfAll, "")
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database to import from: %w", err), db.Close())
	}
	return &Foreign{db, tx}, nil
}

// Close ends the transaction and closes the database.
func (f *Foreign) Close() error { return errors.Join(ended(f.tx.Rollback()), f.db.Close()) }

// Rows calls each with each row of a table, as a JSON object of its columns. The error is fs.ErrNotExist if there is
// no such table.
func (f *Foreign) Rows(ctx context.Context, table string, each func(row []byte) error) error {
	name := pgx.Identifier{table}.Sanitize()
	var there bool
	if err := f.tx.QueryRowContext(ctx, "SELECT to_regclass(?) IS NOT NULL", name).Scan(&there); err != nil {
		return fmt.Errorf("find the table %s: %w", table, err)
	}
	if !there {
		return fmt.Errorf("table %s: %w", table, fs.ErrNotExist)
	}
	rows, err := f.tx.QueryContext(ctx, "SELECT left(to_jsonb(t)::text, ?) FROM "+name+" t LIMIT ?", foreignBytes+1,
		foreignRows+1)
	n := 0
	err = eachRow(rows, err, func(row scanner) error {
		var text string
		if err := row.Scan(&text); err != nil {
			return err
		}
		if n++; n > foreignRows {
			return fmt.Errorf("the table has more than %d rows", foreignRows)
		}
		if len(text) > foreignBytes {
			return fmt.Errorf("row %d is longer than %d bytes", n, foreignBytes)
		}
		return each([]byte(text))
	})
	if err != nil {
		return fmt.Errorf("read the table %s: %w", table, err)
	}
	return nil
}

// withoutPrisma returns a database URL without the parameters that only Prisma understands
// (https://www.prisma.io/docs/orm/overview/databases/postgresql#arguments, 2026-11), because PostgreSQL rejects
// unknown parameters.
func withoutPrisma(target llm.Secret) (llm.Secret, error) {
	u, err := url.Parse(target.Reveal())
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return target, errors.New("the database to import from must be a URL of the form " +
			"postgres://user:password@host:5432/database")
	}
	q := u.Query()
	if schema := q.Get("schema"); schema != "" {
		q.Set("search_path", schema)
	}
	for _, name := range []string{
		"schema", "connection_limit", "pool_timeout", "pgbouncer", "socket_timeout",
		"statement_cache_size", "sslaccept",
		"sslidentity", "sslpassword", "options",
	} {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	return llm.NewSecret(u.String()), nil
}
