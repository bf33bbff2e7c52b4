package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/must"
)

const (
	// serverVariable names a server to use instead of starting one: the URL of a database that may create others.
	serverVariable = "WEIR_TEST_POSTGRES"
	// requireVariable is "all" if a missing program must fail the test.
	requireVariable = "WEIR_TEST_REQUIRE"
	makeLimit       = 30 * time.Second
)

// Shared is one server for all tests of a binary, started for the first one that needs it. Its zero value is ready;
// Close it after all tests.
type Shared struct {
	once   sync.Once
	server *Server
	base   string // URL of the database that creates others
	err    error
	count  atomic.Int64

	filling sync.Once
	filled  error // result of filling the template
}

// Database returns the URL of an empty database, which is removed after the test. Without PostgreSQL it skips the
// test, or fails it if everything is required.
func (s *Shared) Database(t testing.TB) string {
	t.Helper()
	s.need(t)
	return s.database(t, "")
}

// template returns the name of the database that Filled copies, on the tests' own server or on another one.
func template() string { return fmt.Sprintf("weir_template_%d", os.Getpid()) }

// Filled returns the URL of a copy of the database that fill has filled. fill is called once for all tests of the
// binary.
func (s *Shared) Filled(t testing.TB, fill func(url string) error) string {
	t.Helper()
	s.need(t)
	s.filling.Do(func() {
		if s.filled = s.exec("CREATE DATABASE " + template()); s.filled == nil {
			s.filled = fill(inDatabase(s.base, template()))
		}
	})
	if s.filled != nil {
		t.Fatal(s.filled)
	}
	return s.database(t, " TEMPLATE "+template()+s.strategy())
}

// strategy returns how a server of the tests' own copies a template: file by file, which takes half the time of
// copying by its log if nothing is synced. Servers before 15 always do so, and do not know the option.
func (s *Shared) strategy() string {
	if s.server == nil || version(filepath.Join(s.server.bin, "initdb")) < 15 {
		return ""
	}
	return " STRATEGY FILE_COPY"
}

// need starts the server, or skips the test.
func (s *Shared) need(t testing.TB) {
	t.Helper()
	s.once.Do(s.start)
	switch {
	case errors.Is(s.err, ErrAbsent) && os.Getenv(requireVariable) != "all":
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
	}
}

// database makes a database, which is removed after the test.
func (s *Shared) database(t testing.TB, options string) string {
	t.Helper()
	name := fmt.Sprintf("weir_test_%d_%d", os.Getpid(), s.count.Add(1))
	if err := s.exec("CREATE DATABASE " + name + options); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return inDatabase(s.base, name)
}

func (s *Shared) start() {
	if s.base = os.Getenv(serverVariable); s.base != "" {
		return
	}
	if s.server, s.err = Start(); s.err == nil {
		s.base = s.server.URL("postgres")
	}
}

func (s *Shared) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), makeLimit)
	defer cancel()
	return execute(ctx, s.base, statement)
}

// Close ends the server, if one was started, and removes the template on another one.
func (s *Shared) Close() error {
	if s.server == nil {
		if s.base == "" {
			return nil
		}
		return s.exec("DROP DATABASE IF EXISTS " + template())
	}
	return s.server.Close()
}

// inDatabase returns a URL with another database.
func inDatabase(base, name string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	u.Path = "/" + strings.TrimPrefix(name, "/")
	return u.String()
}

// New starts a server of the test's own, for tests that stop it.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if errors.Is(err, ErrAbsent) && os.Getenv(requireVariable) != "all" {
		t.Skip(err)
	}
	must.Do(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close PostgreSQL: %v", err)
		}
	})
	return s
}
