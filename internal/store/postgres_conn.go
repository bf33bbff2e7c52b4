package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"weir/internal/llm"
)

const (
	connectTimeout = 5 * time.Second // for one of several hosts, unless the URL sets connect_timeout
	// silence is how long a server may send nothing while a call waits for it. It bounds every call to a server that
	// is frozen or unreachable, even if the caller sets no deadline. It is longer than all time limits of a session.
	silence = 60 * time.Second
	// idleConn is how long an unused connection stays open. Behind a pooler that pools sessions, an open connection
	// occupies one of the server's.
	idleConn = 20 * time.Second
)

// postgresConfig parses a URL, and the sizes of the pools in it. Its errors do not contain passwords.
func postgresConfig(target llm.Secret) (config *pgx.ConnConfig, conns poolSizes, err error) {
	config, err = pgx.ParseConfig(target.Reveal())
	if err != nil {
		return nil, conns, fmt.Errorf("the database URL cannot be used: %s", withoutSecrets(err.Error(), target))
	}
	if conns, err = takePoolSize(config); err != nil {
		return nil, conns, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime(config)
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "weir"
	}
	if config.ValidateConnect == nil { // a standby is not accepted
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.ValidateConnect = answered(config.ValidateConnect)
	config.DialFunc = postgresDial(silence)
	config.OnPgError = func(_ *pgconn.PgConn, e *pgconn.PgError) bool { return keeps(e) }
	return config, conns, nil
}

// keeps reports whether a connection can be used after an error. A connection to a server that has become read-only
// cannot: the next one finds the new primary.
func keeps(e *pgconn.PgError) bool {
	return !strings.EqualFold(e.SeverityUnlocalized, "FATAL") && !strings.EqualFold(e.Severity, "FATAL") &&
		e.Code != pgReadOnly && !strings.HasPrefix(e.Code, "57P")
}

// withoutSecrets replaces everything in a text that may be a password of the URL.
func withoutSecrets(text string, target llm.Secret) string {
	raw := target.Reveal()
	hidden := []string{raw}
	if u, err := url.Parse(raw); err == nil {
		if password, ok := u.User.Password(); ok {
			hidden = append(hidden, password, url.QueryEscape(password), url.PathEscape(password))
		}
		for key, values := range u.Query() {
			if strings.Contains(strings.ToLower(key), "pass") {
				hidden = append(hidden, values...)
			}
		}
	} else {
		return "it is not of the form postgres://user:password@host:5432/database; in the password write %25 for %, " +
			"%2F for /, %3A for :, %3F for ?, %23 for #, %40 for @"
	}
	slices.SortFunc(hidden, func(a, b string) int { return len(b) - len(a) })
	for _, h := range hidden {
		if h != "" {
			text = strings.ReplaceAll(text, h, "xxxxx")
		}
	}
	return text
}

// otherSettings returns the SET statements for the settings that the database URL does not have.
func otherSettings(config *pgx.ConnConfig, settings []setting) (statements string) {
	for _, s := range settings {
		if _, own := config.RuntimeParams[s.name]; !own {
			statements += "SET " + s.name + " = '" + s.value + "'; "
		}
	}
	return statements
}

// postgresPool opens a pool of up to n connections. Each gets these settings and then runs statement. short, if not
// nil, records the result of each attempt to connect.
func postgresPool(short *shortage, config *pgx.ConnConfig, n int, settings []setting, statement string) *sql.DB {
	session := otherSettings(config, settings) + statement
	set := stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, session, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	db := sql.OpenDB(postgresConnector{stdlib.GetConnector(*config, set), short})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxIdleTime(idleConn)
	return db
}

// postgresConnector opens connections that accept ? for parameters, as SQLite does.
type postgresConnector struct {
	driver.Connector
	short *shortage
}

// Connect opens a connection.
func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	c.short.note(err)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of the type %T", conn), conn.Close())
	}
	return postgresConn{inner}, nil
}

// postgresConn is a connection of pgx that accepts ? for parameters.
type postgresConn struct{ *stdlib.Conn }

// IsValid reports whether the connection can be used again.
func (c postgresConn) IsValid() bool { return !c.Conn.Conn().IsClosed() }

// Prepare calls PrepareContext with a background context.
func (c postgresConn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext prepares a statement.
func (c postgresConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, numbered(query))
}

// ExecContext runs a statement.
func (c postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(ctx, numbered(query), args)
}

// QueryContext runs a query. If its connection turns out to be broken, a SELECT outside a transaction is run again on
// another connection.
func (c postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	harmless := c.Conn.Conn().PgConn().TxStatus() == 'I' && strings.HasPrefix(query, "SELECT")
	rows, err := c.Conn.QueryContext(ctx, numbered(query), args)
	if err != nil && harmless && c.broke(ctx, err) {
		return nil, driver.ErrBadConn
	}
	return rows, err
}

// BeginTx begins a transaction, on another connection if this one is broken.
func (c postgresConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, o)
	if err != nil && c.broke(ctx, err) {
		return nil, driver.ErrBadConn
	}
	return tx, err
}

// broke reports whether an error ended the connection before any deadline.
func (c postgresConn) broke(ctx context.Context, err error) bool {
	return c.Conn.Conn().IsClosed() && ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// numbered replaces each ? outside of literals by $1, $2, ...
func numbered(query string) string {
	if strings.IndexByte(query, '?') < 0 {
		return query
	}
	b := make([]byte, 0, len(query)+64)
	quoted, n := false, 0
	for i := range len(query) {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b = append(b, c)
		case c == '?' && !quoted:
			n++
			b = strconv.AppendInt(append(b, '$'), int64(n), 10)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// postgresDial returns a function that dials connections. Their reads and writes fail after limit without any data; 0
// means no limit. Keep-alive detects a machine that is gone sooner.
func postgresDial(limit time.Duration) pgconn.DialFunc {
	dialer := &net.Dialer{
		Timeout:         connectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 3 * time.Second, Count: 3},
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil || limit == 0 {
			return conn, err
		}
		return &patientConn{Conn: conn, limit: limit}, nil
	}
}

// patientConn ends a read or a write if no data moves for limit. Earlier deadlines of its user apply.
type patientConn struct {
	net.Conn
	limit time.Duration

	mu          sync.Mutex
	read, write time.Time // deadlines of the user; zero for none
}

// Read reads within the limit.
func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.until(&c.read, c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes within the limit.
func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.until(&c.write, c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// until sets the deadline of a read or write that is about to start.
func (c *patientConn) until(user *time.Time, set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now().Add(c.limit)
	if !user.IsZero() && user.Before(at) {
		at = *user
	}
	return set(at)
}

// SetDeadline sets both deadlines.
func (c *patientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.write = t, t
	return c.settle(c.Conn.SetDeadline, t)
}

// SetReadDeadline sets the deadline of reads.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.settle(c.Conn.SetReadDeadline, t)
}

// SetWriteDeadline sets the deadline of writes.
func (c *patientConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.settle(c.Conn.SetWriteDeadline, t)
}

// settle passes a deadline on to a call that may be in progress. If the user removes her deadline, the limit remains.
func (c *patientConn) settle(set func(time.Time) error, t time.Time) error {
	if t.IsZero() {
		t = time.Now().Add(c.limit)
	}
	return set(t)
}
