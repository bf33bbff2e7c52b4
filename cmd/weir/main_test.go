package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain runs the tests, or the real command when a script calls weir.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"weir": main})
}

// TestScripts runs the scripts in testdata. Beside testscript's own commands
// they have those of script_test.go.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command takes a second longer
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "keep": keep, "until": until, "signal": send, "request": request, "becomes": becomes, "sql": sqlCommand,
		},
	})
}
