package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/llm"
	"weir/internal/store"
	"weir/internal/store/opentest"
	"weir/internal/store/pgtest"
	"weir/internal/store/storetest"
	"weir/internal/worktest"
)

// postgres is the server of the tests in this package.
var postgres pgtest.Shared

// TestMain also runs the processes that tests kill.
func TestMain(m *testing.M) {
	url := llm.NewSecret(os.Getenv("WEIR_TEST_URL"))
	if path := os.Getenv("WEIR_TEST_MOVE"); path != "" {
		fmt.Fprintln(os.Stderr, moveSlowly(context.Background(), store.Options{Path: path}, store.Options{URL: url}))
		os.Exit(1)
	}
	if path := os.Getenv("WEIR_TEST_MIGRATE"); path != "" {
		if s, err := store.Open(context.Background(), store.Options{Path: path, URL: url}); err != nil || s.Close() != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv("WEIR_TEST_PACK"); path != "" {
		fmt.Fprintln(os.Stderr, packRows(context.Background(), store.Options{Path: path, URL: url}))
		os.Exit(1)
	}
	if journal := os.Getenv("WEIR_TEST_JOURNAL"); journal != "" {
		o := store.Options{Path: os.Getenv("WEIR_TEST_APPLY"), URL: url}
		fmt.Fprintln(os.Stderr, applyForever(context.Background(), o, journal))
		os.Exit(1)
	}
	worktest.Begin(4)
	goleak.VerifyTestMain(tests{m})
}

// tests runs the tests and then stops their server.
type tests struct{ *testing.M }

// Run runs the tests.
func (t tests) Run() int {
	code := t.M.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// engines returns the databases of a store. Each call of one returns an empty one with the newest schema, which is
// removed after the test.
func engines() map[string]func(testing.TB) store.Options {
	return map[string]func(testing.TB) store.Options{
		"SQLite": func(t testing.TB) store.Options {
			o := withoutSchema()["SQLite"](t)
			opentest.File(t, o.Path)
			return o
		},
		"PostgreSQL": func(t testing.TB) store.Options {
			return store.Options{URL: llm.NewSecret(postgres.Filled(t, func(url string) error {
				s, err := store.Open(t.Context(), store.Options{URL: llm.NewSecret(url)})
				if err != nil {
					return err
				}
				return s.Close()
			}))}
		},
	}
}

// withoutSchema returns engines without a schema.
func withoutSchema() map[string]func(testing.TB) store.Options {
	return map[string]func(testing.TB) store.Options{
		"SQLite": func(t testing.TB) store.Options {
			return store.Options{Path: filepath.Join(t.TempDir(), "data", "weir.db")}
		},
		"PostgreSQL": func(t testing.TB) store.Options {
			return store.Options{URL: llm.NewSecret(postgres.Database(t))}
		},
	}
}

// engineOf returns the options' engine.
func engineOf(o store.Options) func(testing.TB) store.Options {
	return engines()[nameOf(o)]
}

// nameOf returns the name of the options' engine.
func nameOf(o store.Options) string {
	if o.URL.IsZero() {
		return "SQLite"
	}
	return "PostgreSQL"
}

// everywhere runs a test on each engine, with an empty database.
func everywhere(t *testing.T, test func(t *testing.T, o store.Options)) {
	t.Helper()
	on(t, engines(), test)
}

func on(t *testing.T, engines map[string]func(testing.TB) store.Options, test func(t *testing.T, o store.Options)) {
	t.Helper()
	for name, backend := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, backend(t))
		})
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, backend := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Options { return backend(t) })
		})
	}
}
