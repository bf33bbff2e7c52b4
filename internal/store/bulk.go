package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/bits"
	"strings"
	"time"
)

// bulkRows is the most rows that one statement inserts. More would save little and make statements slow to prepare.
// SQLite accepts at most 32,766 values.
const bulkRows = 64

// statementRest is a pause after each statement of batches of at most smallBatch rows on a machine with one
// processor, so that other goroutines run: the network is not polled while any goroutine can run. Larger batches come
// from a busy gateway, where requests wait for each other anyway. The system may extend the pause to a millisecond,
// and nothing else can be written meanwhile.
const (
	statementRest = 20 * time.Microsecond
	smallBatch    = 256
)

// bulk is the connection that applies batches, with its prepared statements: one for each insertion and each power of
// two of rows. The caller must hold conn.writing.
type bulk struct {
	db     *sql.DB
	arrays bool      // rows are inserted as arrays, one for each column
	rests  bool      // a statementRest follows each statement
	conn   *sql.Conn // nil until it is needed, and after an error
	ready  map[*insertion]*[7]*sql.Stmt
	args   []any
}

// insertion is an INSERT statement: the text before and after its rows of values.
type insertion struct {
	head    string // "INSERT INTO t (a, b) VALUES "
	columns int
	tail    string // " ON CONFLICT ..."
}

// sql returns the statement for that many rows.
func (in *insertion) sql(rows int) string {
	row := "(" + strings.Repeat("?,", in.columns-1) + "?)"
	return in.head + strings.Repeat(row+",", rows-1) + row + in.tail
}

// rowsAtOnce returns how many of the remaining rows the next statement inserts: a power of two, so that there are few
// statements.
func rowsAtOnce(left int) int { return min(bulkRows, 1<<(bits.Len(uint(left))-1)) }

// begin starts a transaction on the connection, or on a new one if the connection is broken.
func (b *bulk) begin(ctx context.Context) (*sql.Tx, error) {
	if b.conn != nil {
		tx, err := b.conn.BeginTx(ctx, nil)
		if !errors.Is(err, driver.ErrBadConn) {
			return tx, err
		}
		_ = b.close() // its error adds nothing: the connection is broken
	}
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	b.conn, b.ready = conn, map[*insertion]*[7]*sql.Stmt{}
	return b.conn.BeginTx(ctx, nil)
}

// insert inserts n rows and returns how many rows the statements changed. bind appends the values of a row. It must
// run in the transaction of begin.
func (b *bulk) insert(ctx context.Context, in *insertion, n int, bind func(dst []any, row int) []any) (touched int64,
	err error,
) {
	if b.arrays {
		return b.insertArrays(ctx, in, n, bind)
	}
	for done := 0; done < n; {
		size := rowsAtOnce(n - done)
		b.args = b.args[:0]
		for i := range size {
			b.args = bind(b.args, done+i)
		}
		stmt, err := b.statement(ctx, in, size) //nolint:sqlclosecheck // it stays prepared until close
		if err != nil {
			return touched, err
		}
		result, err := stmt.ExecContext(ctx, b.args...)
		if err != nil {
			return touched, err
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return touched, err
		}
		touched += rows
		done += size
		if b.rests && n <= smallBatch {
			time.Sleep(statementRest)
		}
	}
	clear(b.args)
	return touched, nil
}

func (b *bulk) statement(ctx context.Context, in *insertion, rows int) (*sql.Stmt, error) {
	set := b.ready[in]
	if set == nil {
		set = &[7]*sql.Stmt{}
		b.ready[in] = set
	}
	slot := &set[bits.Len(uint(rows))-1]
	if *slot == nil {
		stmt, err := b.conn.PrepareContext(ctx, in.sql(rows)) //nolint:sqlclosecheck // it stays prepared until close
		if err != nil {
			return nil, err
		}
		*slot = stmt
	}
	return *slot, nil
}

// close closes the connection; begin opens a new one.
func (b *bulk) close() error {
	if b.conn == nil {
		return nil
	}
	var errs []error
	for _, set := range b.ready {
		for _, stmt := range set {
			if stmt != nil {
				errs = append(errs, stmt.Close())
			}
		}
	}
	errs = append(errs, b.conn.Close())
	b.conn, b.ready = nil, nil
	return errors.Join(errs...)
}
