package store

import (
	"database/sql"
	"fmt"
)

// collect scans all rows of a query.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	var list []T
	err = each(rows, err, scan, func(v *T) error {
		list = append(list, *v)
		return nil
	})
	return list, err
}

// listed calls collect and wraps its error; doing names the operation.
func listed[T any](doing string, rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	list, err := collect(rows, err, scan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

// each calls fn with each row of a query until it returns an error.
func each[T any](rows *sql.Rows, err error, scan func(scanner) (T, error), fn func(*T) error) error {
	return eachRow(rows, err, func(row scanner) error {
		v, err := scan(row)
		if err == nil {
			err = fn(&v)
		}
		return err
	})
}

// eachRow calls fn to scan each row of a query until it returns an error.
func eachRow(rows *sql.Rows, err error, fn func(scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanner is one row of a result: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }
