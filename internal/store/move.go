package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	// moveRows and moveBytes bound one transaction of a move.
	moveRows  = 5000
	moveBytes = 8 << 20
	// moveTable stores the progress of a move, in the target database. A database that has it cannot be opened
	// otherwise.
	moveTable = "moving"
)

// MoveOptions says which databases a move copies between.
type MoveOptions struct {
	From Options // the SQLite database
	To   Options // the PostgreSQL database
	// ID identifies this installation: only the same one can continue an interrupted move.
	ID string
	// Progress is called with the number of rows that are copied, and of all rows; nil for none.
	Progress func(done, total int64)
	// Rows bounds the rows of one transaction, for tests; 0 means moveRows.
	Rows int
}

// Moved is the result of a move.
type Moved struct {
	Tables int
	Rows   int64
	Kept   int64 // of Rows, how many an earlier, interrupted move had copied
}

// Reasons why a database cannot be the target of a move.
var (
	ErrNotEmpty   = errors.New("the target database already has data: use an empty database")
	ErrMoving     = errors.New("another \"weir move\" is filling that database: wait until it ends")
	errMoveTarget = errors.New("an installation can only be moved to PostgreSQL: use a postgres:// URL")
)

// Move copies an installation from SQLite to PostgreSQL and then compares both. No other process can write to the
// SQLite database meanwhile; it is not changed. An interrupted move, even by a kill, continues; if the installation
// was used in between, it starts again. The error is ErrNotEmpty or ErrMoving if the target is not free.
func Move(ctx context.Context, o MoveOptions) (m Moved, err error) {
	if o.To.URL.IsZero() {
		return m, errMoveTarget
	}
	target, err := o.To.engine()
	if err != nil {
		return m, err
	}
	if err := o.From.exists(); err != nil {
		return m, err
	}
	source, err := Open(ctx, o.From)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	mv := &mover{options: o, log: source.log}
	if err := mv.run(ctx, source, target); err != nil {
		return mv.moved, fmt.Errorf("move to PostgreSQL: %w", err)
	}
	return mv.moved, nil
}

func (o *Options) exists() error {
	e, err := o.engine()
	if err != nil {
		return err
	}
	if err := e.exists(); err != nil {
		return fmt.Errorf("there is no database to move: %w", err)
	}
	return nil
}

// table is a table of the source.
type table struct {
	name    string
	columns []string
	types   []string // INTEGER, TEXT, BLOB
	key     []string // columns of the primary key
	rows    int64
}

// readTables lists the tables in the order of their creation: a table comes after the tables that it refers to.
func readTables(ctx context.Context, tx *sql.Tx) ([]table, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table'"+
		" AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name NOT IN ('goose_db_version', 'schema_compatibility')"+
		" ORDER BY rowid")
	tables, err := collect(rows, err, func(row scanner) (t table, err error) { return t, row.Scan(&t.name) })
	for i := range tables {
		if err == nil {
			err = tables[i].read(ctx, tx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	return tables, nil
}

func (t *table) read(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", t.name)
	keys := map[int]string{}
	err = eachRow(rows, err, func(row scanner) error {
		var name, kind string
		var key int
		err := row.Scan(&name, &kind, &key)
		t.columns, t.types, keys[key] = append(t.columns, name), append(t.types, kind), name
		return err
	})
	if err != nil {
		return err
	}
	for i := 1; keys[i] != ""; i++ {
		t.key = append(t.key, keys[i])
	}
	return tx.QueryRowContext(ctx, "SELECT count(*) FROM "+t.name).Scan(&t.rows)
}

// after selects up to most rows after a place. A place is the values of the primary key.
func (t *table) after(ctx context.Context, tx *sql.Tx, place []any, most int) (*sql.Rows, error) {
	key, where := strings.Join(t.key, ", "), ""
	if len(place) > 0 {
		where = " WHERE (" + key + ") > (?" + strings.Repeat(", ?", len(place)-1) + ")"
	}
	query := "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + where + " ORDER BY " + key + " LIMIT ?"
	return tx.QueryContext(ctx, query, append(place, most)...)
}

// portion is a portion of a table's rows, which pgx reads for COPY.
type portion struct {
	table *table
	rows  *sql.Rows

	values []any
	count  int64
	bytes  int
	err    error
}

var _ pgx.CopyFromSource = (*portion)(nil)

// Next reads a row.
func (p *portion) Next() bool {
	if p.err != nil || p.bytes > moveBytes || !p.rows.Next() {
		return false
	}
	values := make([]any, len(p.table.columns))
	dest := make([]any, len(values))
	for i := range values {
		dest[i] = &values[i]
	}
	if p.err = p.rows.Scan(dest...); p.err != nil {
		return false
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			p.bytes += len(v)
		case []byte:
			p.bytes += len(v)
		}
	}
	p.values = values
	p.count++
	return true
}

// Values returns the row that Next has read.
func (p *portion) Values() ([]any, error) { return p.values, nil }

// Err returns the error that ended Next.
func (p *portion) Err() error { return errors.Join(p.err, p.rows.Err()) }

// place encodes the primary key of the last row that was read. Bytes are in an array of their own.
func (p *portion) place() (string, error) {
	key := make([]any, 0, len(p.table.key))
	for _, name := range p.table.key {
		for i, column := range p.table.columns {
			if column != name {
				continue
			}
			if b, ok := p.values[i].([]byte); ok {
				key = append(key, []any{b})
			} else {
				key = append(key, p.values[i])
			}
		}
	}
	b, err := json.Marshal(key)
	return string(b), err
}

// parsePlace decodes the output of place: integers, texts and bytes.
func parsePlace(text string) ([]any, error) {
	if text == "" {
		return nil, nil
	}
	var list []any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("progress of the move %q: %w", text, err)
	}
	for i, v := range list {
		var err error
		switch v := v.(type) {
		case json.Number:
			list[i], err = v.Int64()
		case []any:
			list[i], err = base64.StdEncoding.DecodeString(fmt.Sprint(v...))
		}
		if err != nil {
			return nil, fmt.Errorf("progress of the move %q: %w", text, err)
		}
	}
	return list, nil
}
