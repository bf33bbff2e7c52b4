package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// arrayRows bounds the arrays of one statement.
const arrayRows = 4096

// insertArrays inserts any number of rows and passes their columns as arrays: there is one text to prepare, and a
// value costs a fraction of a parameter. Values are int64, string or []byte, the same type in every row. A statement
// processes its rows in their order.
func (b *bulk) insertArrays(ctx context.Context, in *insertion, n int, bind func(dst []any, row int) []any) (
	touched int64, err error,
) {
	for done := 0; done < n; done += arrayRows {
		rows := min(arrayRows, n-done)
		columns, err := b.columns(in, rows, func(dst []any, i int) []any { return bind(dst, done+i) })
		if err != nil {
			return touched, err
		}
		set := b.ready[in]
		if set == nil {
			set = &[7]*sql.Stmt{}
			b.ready[in] = set
		}
		if set[0] == nil {
			//nolint:sqlclosecheck // it stays prepared until close
			stmt, err := b.conn.PrepareContext(ctx, in.fromArrays(columns))
			if err != nil {
				return touched, err
			}
			set[0] = stmt
		}
		result, err := set[0].ExecContext(ctx, columns...)
		if err != nil {
			return touched, err
		}
		some, err := result.RowsAffected()
		if err != nil {
			return touched, err
		}
		touched += some
	}
	return touched, nil
}

// column is a growing array; one of its lists is used.
type column struct {
	numbers []int64
	texts   []string
	bytes   [][]byte
}

func (c *column) array() any {
	switch {
	case c.numbers != nil:
		return c.numbers
	case c.bytes != nil:
		return c.bytes
	}
	return c.texts
}

// columns converts rows to arrays.
func (b *bulk) columns(in *insertion, rows int, bind func(dst []any, row int) []any) ([]any, error) {
	columns := make([]column, in.columns)
	for i := range rows {
		b.args = bind(b.args[:0], i)
		for c, v := range b.args {
			switch v := v.(type) {
			case int64:
				columns[c].numbers = append(slices.Grow(columns[c].numbers, rows-i), v)
			case string:
				columns[c].texts = append(slices.Grow(columns[c].texts, rows-i), v)
			case []byte:
				columns[c].bytes = append(slices.Grow(columns[c].bytes, rows-i), v)
			default:
				return nil, fmt.Errorf("column %d has a value of the type %T", c, v)
			}
		}
	}
	clear(b.args)
	arrays := make([]any, len(columns))
	for i := range columns {
		arrays[i] = columns[i].array()
	}
	return arrays, nil
}

// fromArrays returns the statement that reads its rows from arrays of these types.
func (in *insertion) fromArrays(columns []any) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(in.head, "VALUES "))
	b.WriteString("SELECT * FROM unnest(")
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i+1))
		switch c.(type) {
		case []int64:
			b.WriteString("::bigint[]")
		case [][]byte:
			b.WriteString("::bytea[]")
		default:
			b.WriteString("::text[]")
		}
	}
	b.WriteString(")" + in.tail)
	return b.String()
}
