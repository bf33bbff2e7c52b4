package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

const (
	// mostPrepared bounds the prepared statements of a connection, and longestPrepared the text of each, in bytes. A
	// statement of the store takes 10 to 25 KB.
	mostPrepared    = 32
	longestPrepared = 4 << 10
)

// sqliteConnector opens connections that reuse their prepared statements.
type sqliteConnector struct{ driver.Connector }

// Connect opens a connection.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, runs := conn.(sqliteDriverConn)
	session, pooled := conn.(sqliteSession)
	if !runs || !pooled {
		return nil, errors.Join(fmt.Errorf("a connection of the type %T", conn), conn.Close())
	}
	return &sqliteConn{sqliteDriverConn: inner, sqliteSession: session, ready: map[string]*preparedStmt{}}, nil
}

// sqliteDriverConn lists the methods by which the driver's connections run statements.
type sqliteDriverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

// sqliteSession lists the methods by which a pool checks and resets the driver's connections, and by which backups copy
// their pages.
type sqliteSession interface {
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	NewBackup(to string) (*sqlite.Backup, error)
}

// sqliteConn wraps the driver's connection. It prepares a statement at its first run and reuses it, because parsing the
// text takes longer than most runs. database/sql calls it from one goroutine at a time.
type sqliteConn struct {
	sqliteDriverConn
	sqliteSession
	ready map[string]*preparedStmt // idle statements, by text
	runs  uint64
}

// preparedStmt holds a statement of the driver.
type preparedStmt struct {
	sqliteDriverStmt
	text string
	used uint64 // number of its latest run
}

// sqliteDriverStmt lists the methods of the driver's statements.
type sqliteDriverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !isReused(query) {
		return c.sqliteDriverConn.ExecContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		_ = s.Close() // it returns err again
		return nil, err
	}
	return result, c.give(s)
}

// QueryContext implements driver.QueryerContext. Closing the rows returns the statement.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !isReused(query) {
		return c.sqliteDriverConn.QueryContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = s.Close() // it returns err again
		return nil, err
	}
	return &preparedRows{rows, c, s}, nil
}

// Close closes the statements, and then the connection.
func (c *sqliteConn) Close() error {
	var errs []error
	for _, s := range c.ready {
		errs = append(errs, s.Close())
	}
	clear(c.ready)
	return errors.Join(append(errs, c.sqliteDriverConn.Close())...)
}

// isReused reports whether a statement reads or writes rows, so that it is likely to run again.
func isReused(query string) bool {
	verb, _, _ := strings.Cut(query, " ")
	switch verb {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return len(query) <= longestPrepared
	}
	return false
}

// take returns a statement for exclusive use until give.
func (c *sqliteConn) take(ctx context.Context, query string) (*preparedStmt, error) {
	c.runs++
	if s := c.ready[query]; s != nil {
		delete(c.ready, query)
		s.used = c.runs
		return s, nil
	}
	stmt, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	inner, ok := stmt.(sqliteDriverStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of the type %T", stmt), stmt.Close())
	}
	return &preparedStmt{inner, query, c.runs}, nil
}

// give stores a statement for its next run. Beyond the bound it closes the least recently used one.
func (c *sqliteConn) give(s *preparedStmt) error {
	if c.ready[s.text] != nil { // two were in use
		return s.Close()
	}
	c.ready[s.text] = s
	if len(c.ready) <= mostPrepared {
		return nil
	}
	oldest := s
	for _, other := range c.ready {
		if other.used < oldest.used {
			oldest = other
		}
	}
	delete(c.ready, oldest.text)
	return oldest.Close()
}

// preparedRows returns its statement when it is closed.
type preparedRows struct {
	driver.Rows
	conn *sqliteConn
	stmt *preparedStmt
}

// Close implements driver.Rows.
func (r *preparedRows) Close() error {
	if err := r.Rows.Close(); err != nil {
		return errors.Join(err, r.stmt.Close())
	}
	return r.conn.give(r.stmt)
}
