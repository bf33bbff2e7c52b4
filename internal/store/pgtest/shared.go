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
	// serverVariable names a server to use in place of one that is started: the
	// URL of a database in which others may be made.
	serverVariable = "WEIR_TEST_POSTGRES"
	// requireVariable says "all" where the absence of a part is a failure.
	requireVariable = "WEIR_TEST_REQUIRE"
	makeLimit       = 30 * time.Second
)

// Shared is one server for all tests of a binary, started when the first one
// needs it. Its zero value is ready; Close it when all tests are over.
type Shared struct {
	once   sync.Once
	server *Server
	base   string // URL of a database in which others are made
	err    error
	count  atomic.Int64

	filling sync.Once
	filled  error // what came of filling the template
}

// Database is the URL of an empty database, which is gone after the test.
// Without PostgreSQL the test is skipped, or fails where everything is required.
func (s *Shared) Database(t testing.TB) string {
	t.Helper()
	s.need(t)
	return s.database(t, "")
}

// template is the database that Filled copies, on a server of the tests' own or on another's.
func template() string { return fmt.Sprintf("weir_template_%d", os.Getpid()) }

// Filled is Database with what fill, which is called once for all tests of the binary, has
// written to the database of the URL that it was given.
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

// strategy is how a server of the tests' own copies a template: file by file, which takes half as long as by its log
// where nothing is synced. Servers before 15 know no other way, and no name for it.
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

// database makes a database, which is gone after the test.
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

// Close ends the server, if one was started, and leaves no template on another.
func (s *Shared) Close() error {
	if s.server == nil {
		if s.base == "" {
			return nil
		}
		return s.exec("DROP DATABASE IF EXISTS " + template())
	}
	return s.server.Close()
}

// inDatabase is a URL with another database.
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
