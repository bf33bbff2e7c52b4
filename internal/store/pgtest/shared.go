package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
}

// Database is the URL of an empty database, which is gone after the test.
// Without PostgreSQL the test is skipped, or fails where everything is required.
func (s *Shared) Database(t testing.TB) string {
	t.Helper()
	s.once.Do(s.start)
	switch {
	case errors.Is(s.err, ErrAbsent) && os.Getenv(requireVariable) != "all":
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
	}
	name := fmt.Sprintf("weir_test_%d_%d", os.Getpid(), s.count.Add(1))
	if err := s.exec("CREATE DATABASE " + name); err != nil {
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

// Close ends the server, if one was started.
func (s *Shared) Close() error {
	if s.server == nil {
		return nil
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close PostgreSQL: %v", err)
		}
	})
	return s
}
