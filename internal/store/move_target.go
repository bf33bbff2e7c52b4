package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// mover copies tables. It uses one connection to the target, which also holds the lock against other movers.
type mover struct {
	options MoveOptions
	log     *slog.Logger
	tx      *sql.Tx // of the source; it blocks other writers until it ends
	to      *pgx.Conn
	tables  []table
	total   int64
	moved   Moved
}

func (m *mover) run(ctx context.Context, source *DB, target *engine) error {
	if err := m.options.To.migrateFor(ctx, target); err != nil {
		return err
	}
	config, _, err := postgresConfig(m.options.To.URL)
	if err != nil {
		return err
	}
	config.DialFunc = postgresDial(0) // adding up a large table takes longer than any query of a gateway
	if m.to, err = pgx.ConnectConfig(ctx, config); err != nil {
		return err
	}
	defer func() { _ = m.to.Close(context.WithoutCancel(ctx)) }() // everything to be stored is committed
	var free bool
	if err := m.to.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", lockSpace, lockMove).Scan(&free); err != nil {
		return err
	}
	if !free {
		return ErrMoving
	}
	err = source.write(ctx, source.sure, "hold SQLite", func(tx *sql.Tx) error {
		m.tx = tx
		return m.all(ctx)
	})
	// The server also releases it when it notices the end of the connection, which may be after the next move begins.
	_, _ = m.to.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1, $2)", lockSpace, lockMove)
	return err
}

// migrateFor brings the schema of a database up to date that Open refuses because a move is filling it.
func (o *Options) migrateFor(ctx context.Context, e *engine) error {
	s, err := o.connect(e)
	if err != nil {
		return err
	}
	status, err := s.MigrationStatus(ctx)
	if err == nil {
		err = status.refuseNewer()
	}
	if err == nil && status.Pending() {
		err = e.up(ctx, s.log)
	}
	return errors.Join(err, s.Close())
}

func (m *mover) all(ctx context.Context) (err error) {
	if m.tables, err = readTables(ctx, m.tx); err != nil {
		return err
	}
	m.moved.Tables = len(m.tables)
	for i := range m.tables {
		m.total += m.tables[i].rows
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	for i := range m.tables {
		if err := m.copyTable(ctx, &m.tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", m.tables[i].name, err)
		}
	}
	for i := range m.tables {
		if err := m.compare(ctx, &m.tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", m.tables[i].name, err)
		}
	}
	return m.finish(ctx)
}

// fingerprint returns a hash that changes when the installation is used.
func (m *mover) fingerprint(ctx context.Context) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, m.options.ID)
	for i := range m.tables {
		fmt.Fprintln(h, m.tables[i].name, m.tables[i].rows)
	}
	for _, query := range []string{
		"SELECT coalesce(max(seq), 0) FROM changes", "SELECT coalesce(sum(position), 0) FROM journals",
		"SELECT coalesce(sum(attempts), 0) FROM checkpoints", "SELECT coalesce(max(created), 0) FROM responses",
		"SELECT coalesce(max(expires), 0) FROM idempotency",
	} {
		var n int64
		if err := m.tx.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return "", err
		}
		fmt.Fprintln(h, n)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// begin creates the table of places, or continues with an existing one. Its row without a name has the installation's
// fingerprint.
func (m *mover) begin(ctx context.Context) error {
	print, err := m.fingerprint(ctx)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, m.to, func(tx pgx.Tx) error {
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", moveTable).Scan(&there); err != nil {
			return err
		}
		if !there {
			return m.first(ctx, tx, print)
		}
		var id, before string
		err := tx.QueryRow(ctx, "SELECT id, place FROM moving WHERE name = ''").Scan(&id, &before)
		if err != nil {
			return fmt.Errorf("read progress of the move: %w", err)
		}
		if id != m.options.ID {
			return fmt.Errorf("%w: the move of another installation into it is not complete", ErrNotEmpty)
		}
		if before == print {
			return nil
		}
		m.log.Warn("the installation was used since the move was interrupted: the move starts again")
		return m.again(ctx, tx, print)
	})
}

// first marks an empty database as the target of a move.
func (m *mover) first(ctx context.Context, tx pgx.Tx, print string) error {
	for i := range m.tables {
		var filled bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+m.tables[i].name+")").Scan(&filled); err != nil {
			return err
		}
		if filled {
			return ErrNotEmpty
		}
	}
	_, err := tx.Exec(ctx, "CREATE TABLE moving (name TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL, place TEXT NOT "+
		"NULL, rows BIGINT NOT NULL)")
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO moving (name, id, place, rows) VALUES ('', $1, $2, 0)", m.options.ID, print)
	}
	return err
}

// again deletes the rows of an earlier move.
func (m *mover) again(ctx context.Context, tx pgx.Tx, print string) error {
	var names []string
	for i := range m.tables {
		names = append(names, m.tables[i].name)
	}
	_, err := tx.Exec(ctx, "TRUNCATE "+strings.Join(names, ", "))
	if err == nil {
		_, err = tx.Exec(ctx, "DELETE FROM moving WHERE name <> ''")
	}
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE moving SET place = $1", print)
	}
	return err
}

// copyTable copies the rows of a table that are not copied yet.
func (m *mover) copyTable(ctx context.Context, t *table) error {
	var text string
	var done int64
	err := m.to.QueryRow(ctx, "SELECT place, rows FROM moving WHERE name = $1", t.name).Scan(&text, &done)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	m.moved.Kept += done
	m.moved.Rows += done
	for {
		place, err := parsePlace(text)
		if err != nil {
			return err
		}
		n, next, err := m.copyPortion(ctx, t, place)
		if err != nil || n == 0 {
			return err
		}
		text = next
		m.moved.Rows += n
		if m.options.Progress != nil {
			m.options.Progress(m.moved.Rows, m.total)
		}
	}
}

// copyPortion copies some rows and the place after them in one transaction.
func (m *mover) copyPortion(ctx context.Context, t *table, place []any) (n int64, next string, err error) {
	//nolint:rowserrcheck // portion.Err checks it
	rows, err := t.after(ctx, m.tx, place, cmp.Or(m.options.Rows, moveRows))
	if err != nil {
		return 0, "", err
	}
	defer rows.Close()
	p := &portion{table: t, rows: rows}
	err = pgx.BeginFunc(ctx, m.to, func(tx pgx.Tx) error {
		if n, err = tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, p); err != nil || n == 0 {
			return err
		}
		if next, err = p.place(); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO moving (name, id, place, rows) VALUES ($1, '', $2, $3)"+
			" ON CONFLICT (name) DO UPDATE SET place = excluded.place, rows = moving.rows + excluded.rows", t.name,
			next, n)
		return err
	})
	return n, next, err
}

// compare counts and adds up a table on both sides. It adds up numbers modulo a prime, because sums of times exceed
// 64 bits, and the lengths of texts and bytes.
func (m *mover) compare(ctx context.Context, t *table) error {
	query := "SELECT count(*)"
	for i, column := range t.columns {
		if t.types[i] == "INTEGER" {
			query += ", CAST(coalesce(sum(" + column + " % 2147483647), 0) AS BIGINT)"
		} else {
			query += ", CAST(coalesce(sum(length(" + column + ")), 0) AS BIGINT)"
		}
	}
	query += " FROM " + t.name
	want, got := make([]int64, 1+len(t.columns)), make([]int64, 1+len(t.columns))
	if err := m.tx.QueryRowContext(ctx, query).Scan(pointers(want)...); err != nil {
		return err
	}
	if err := m.to.QueryRow(ctx, query).Scan(pointers(got)...); err != nil {
		return err
	}
	for i, name := range slices.Concat([]string{"rows"}, t.columns) {
		if got[i] != want[i] {
			return fmt.Errorf(
				"the copy differs: the sum of %s is %d, but %d in SQLite; empty the database and move again", name,
				got[i], want[i])
		}
	}
	return nil
}

func pointers(list []int64) []any {
	dest := make([]any, len(list))
	for i := range list {
		dest[i] = &list[i]
	}
	return dest
}

// finish sets the sequences to continue after the existing numbers and opens the database to gateways.
func (m *mover) finish(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, m.to, func(tx pgx.Tx) error {
		for name, column := range map[string]string{
			"changes": "seq", "journals": "number", "attempt_accounts": "number", "attempt_kinds": "number",
		} {
			_, err := tx.Exec(ctx, "SELECT setval(pg_get_serial_sequence('"+name+"', '"+column+"'), max("+column+
				")) FROM "+name+" HAVING count(*) > 0")
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "DROP TABLE moving")
		return err
	})
	if err != nil {
		return err
	}
	_, err = m.to.Exec(ctx, "ANALYZE") // until autovacuum has run
	return err
}
