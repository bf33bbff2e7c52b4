package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/internal/store/opentest"
	"weir/internal/store/pgtest"
)

// TestMain runs the tests, or the real command when a script calls weir.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"weir": main})
}

// postgres is the server of the tests in this package.
var postgres pgtest.Shared

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

// TestScripts runs the scripts in testdata, with the commands of script_test.go in addition to testscript's own.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata", nil)
}

// TestPostgresScripts runs the scripts that use PostgreSQL. $DATABASE is the URL of an empty database for one script.
func TestPostgresScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/postgres/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d scripts, %v; want some", len(files), err)
	}
	databases := map[string]string{}
	for _, file := range files {
		databases[strings.TrimSuffix(filepath.Base(file), ".txtar")] = postgres.Database(t)
	}
	t.Run("all", func(t *testing.T) { runScripts(t, "testdata/postgres", databases) })
}

// runScripts runs the scripts of a directory, with these databases by name.
func runScripts(t *testing.T, dir string, databases map[string]string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOGC", "400")
			env.Setenv("GORACE", "atexit_sleep_ms=0")                            // otherwise each command takes a second longer
			opentest.File(t, filepath.Join(env.WorkDir, "weir-data", "weir.db")) // most commands need the newest schema
			env.Setenv("DATABASE", databases[strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")])
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "keep": keep, "until": until, "signal": send, "request": request, "becomes": becomes, "sql": sqlCommand,
			"receiver": receiver, "signed": signed, "shows": shows,
		},
	})
}
