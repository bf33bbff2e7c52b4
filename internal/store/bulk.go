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

// bulkRows is the most rows that one statement inserts. More would save little
// and make statements that are slow to prepare; SQLite takes 32,766 values.
const bulkRows = 64

// statementRest is a pause behind each statement of batches of smallBatch rows where there is one processor alone, in
// which others have it: nothing that comes over the network is looked at while a goroutine can go on. Larger ones are of a
// gateway that is busy: its requests wait for one another. The system may make a millisecond of it, in which nobody else
// writes.
const (
	statementRest = 20 * time.Microsecond
	smallBatch    = 256
)

// bulk is the one connection that applies batches, with its statements, which
// stay prepared: one for each insertion and each power of two of rows. It is
// used by whoever holds conn.writing.
type bulk struct {
	db     *sql.DB
	arrays bool      // rows go in as arrays, one for each column
	rests  bool      // statements have a statementRest behind them
	conn   *sql.Conn // nil until it is needed, and after an error
	ready  map[*insertion]*[7]*sql.Stmt
	args   []any
}

// insertion is an INSERT statement: the text before and behind its rows of
// values.
type insertion struct {
	head    string // "INSERT INTO t (a, b) VALUES "
	columns int
	tail    string // " ON CONFLICT ..."
}

// sql is the statement for that many rows.
func (in *insertion) sql(rows int) string {
	row := "(" + strings.Repeat("?,", in.columns-1) + "?)"
	return in.head + strings.Repeat(row+",", rows-1) + row + in.tail
}

// rowsAtOnce is how many of the rows that are left the next statement inserts: a power of two, so that
// there are few statements.
func rowsAtOnce(left int) int { return min(bulkRows, 1<<(bits.Len(uint(left))-1)) }

// begin starts a transaction on the connection, or on another one when it was
// cut since it was used.
func (b *bulk) begin(ctx context.Context) (*sql.Tx, error) {
	if b.conn != nil {
		tx, err := b.conn.BeginTx(ctx, nil)
		if !errors.Is(err, driver.ErrBadConn) {
			return tx, err
		}
		_ = b.close() // it is broken, which is known
	}
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	b.conn, b.ready = conn, map[*insertion]*[7]*sql.Stmt{}
	return b.conn.BeginTx(ctx, nil)
}

// insert inserts n rows, whose values bind appends, and returns how many rows
// the statements touched. It belongs into the transaction of begin.
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

// close gives the connection up; begin takes a new one.
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
