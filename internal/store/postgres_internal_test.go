package store

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"weir/internal/llm"
	"weir/internal/must"
)

func TestNumberedPlaceholders(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                      "",
		"SELECT 1":                              "SELECT 1",
		"a = ? AND b IN (?, ?)":                 "a = $1 AND b IN ($2, $3)",
		"a = '?' AND b = ? AND c = 'it''s ?' ?": "a = '?' AND b = $1 AND c = 'it''s ?' $2",
		"a = $1":                                "a = $1",
		"?,?,?,?,?,?,?,?,?,?,?":                 "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11",
	} {
		if got := numbered(query); got != want {
			t.Errorf("numbered(%q): got %q, want %q", query, got, want)
		}
	}
}

func TestKeepsConnectionAfterStatementErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  pgconn.PgError
		want bool
	}{
		{pgconn.PgError{Severity: "ERROR", Code: "23505"}, true},
		{pgconn.PgError{Severity: "ERROR", Code: "40001"}, true},
		{pgconn.PgError{Severity: "ERROR", Code: "25006"}, false},
		{pgconn.PgError{Severity: "FATAL", Code: "57P01"}, false},
		{pgconn.PgError{Severity: "ERROR", Code: "57P02"}, false},
		{pgconn.PgError{Severity: "FATALE", SeverityUnlocalized: "FATAL", Code: "25P03"}, false},
		{pgconn.PgError{Severity: "ERROR", Code: "57014"}, true}, // a statement was cancelled
	} {
		if got := keeps(&test.err); got != test.want {
			t.Errorf("keeps(%+v): got %v, want %v", test.err, got, test.want)
		}
	}
}

func TestSettingsOfURL(t *testing.T) {
	t.Parallel()
	config, _, err := postgresConfig(llm.NewSecret("postgres://weir@localhost/weir?lock_timeout=7s"))
	must.Do(t, err)
	got := otherSettings(config, []setting{{"lock_timeout", "20s"}, {"statement_timeout", "55s"}})
	if want := "SET statement_timeout = '55s'; "; got != want {
		t.Errorf("next to a URL with lock_timeout: got %q, want %q", got, want)
	}
}

// TestPatientConn reads from a silent server.
func TestPatientConn(t *testing.T) {
	t.Parallel()
	const short, long = 30 * time.Millisecond, time.Hour
	for _, test := range []struct {
		name  string
		limit time.Duration
		set   func(net.Conn) error
	}{
		{"its own limit", short, nil},
		{"its user's deadline", long, func(c net.Conn) error { return c.SetDeadline(time.Now().Add(short)) }},
		{"its user's deadline of reads", long, func(c net.Conn) error { return c.SetReadDeadline(time.Now().Add(short)) }},
		{"its own limit, when the user's is later", short, func(c net.Conn) error { return c.SetDeadline(time.Now().Add(long)) }},
		{"its own limit, when the user's was taken back", short, func(c net.Conn) error {
			return errors.Join(c.SetDeadline(time.Now()), c.SetDeadline(time.Time{}))
		}},
	} {
		for name, call := range map[string]func(net.Conn) (int, error){
			"read":  func(c net.Conn) (int, error) { return c.Read(make([]byte, 1)) },
			"write": func(c net.Conn) (int, error) { return c.Write(make([]byte, 1)) },
		} {
			t.Run(test.name+" "+name, func(t *testing.T) {
				t.Parallel()
				if test.name == "its user's deadline of reads" && name == "write" {
					return
				}
				here, there := net.Pipe()
				defer there.Close()
				c := &patientConn{Conn: here, limit: test.limit}
				defer c.Close()
				if test.set != nil {
					must.Do(t, test.set(c))
				}
				if _, err := call(c); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want a deadline", err)
				}
			})
		}
	}
	t.Run("a deadline while it reads", func(t *testing.T) {
		t.Parallel()
		here, there := net.Pipe()
		defer there.Close()
		c := &patientConn{Conn: here, limit: long}
		defer c.Close()
		stop := time.AfterFunc(short, func() { _ = c.SetDeadline(time.Now()) })
		defer stop.Stop()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want a deadline", err)
		}
	})
}
