package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is a script's longest wait.
const patience = time.Minute

// exits runs a command and checks the exit code: exits 2 weir keys create.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGS]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("%s exited with %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// keep sets a variable to the match of a pattern in the last output: keep ID '"id": "(.*)"'. Without a pattern it is
// the whole output.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: keep VARIABLE [PATTERN]")
	}
	text := ts.ReadFile("stdout")
	if len(args) == 1 {
		ts.Setenv(args[0], strings.TrimSpace(text))
		return
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(text)
	if len(found) < 2 {
		ts.Fatalf("%q is not in %s", args[1], text)
	}
	ts.Setenv(args[0], found[1])
}

// until waits until a pattern matches in a growing file, and sets a variable to its first group: until serve.err 'on
// (http.*)' URL.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: until FILE PATTERN [VARIABLE]")
	}
	pattern, path := regexp.MustCompile(args[1]), ts.MkAbs(args[0])
	var text []byte
	poll(ts, args[0]+" to hold "+args[1], func() bool {
		text, _ = os.ReadFile(path) // it may not be there yet
		return pattern.Match(text)
	})
	if len(args) == 3 {
		ts.Setenv(args[2], string(pattern.FindSubmatch(text)[1]))
	}
}

// shows runs a command until a pattern matches its output: shows PATTERN weir nodes list.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: shows PATTERN COMMAND [ARGS]")
	}
	pattern := regexp.MustCompile(args[0])
	poll(ts, strings.Join(args[1:], " ")+" to show "+args[0], func() bool {
		ts.Check(ts.Exec(args[1], args[2:]...))
		return pattern.MatchString(ts.ReadFile("stdout"))
	})
}

// sql changes a database by hand: sql weir-data/weir.db STATEMENT.
func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	driver, source := "sqlite", "file:"+ts.MkAbs(args[0])
	if strings.Contains(args[0], "://") {
		driver, source = "pgx", args[0]
	}
	db, err := sql.Open(driver, source)
	ts.Check(err)
	defer db.Close()
	result, err := db.ExecContext(context.Background(), args[1])
	ts.Check(err)
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		ts.Fatalf("%d rows changed: %v", n, err)
	}
}

func poll(ts *testscript.TestScript, what string, done func() bool) {
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("timeout: %s", what)
		}
	}
}

// send sends a signal to every weir in the background: signal HUP.
func send(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM}
	if neg || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal HUP|KILL|TERM")
	}
	for _, cmd := range ts.BackgroundCmds() {
		if strings.Contains(cmd.String(), "exec weir ") {
			ts.Check(cmd.Process.Signal(signals[args[0]]))
		}
	}
}

// request sends a request to the gateway at $URL with the key $KEY, checks the status and prints the body on stdout:
// request 200 POST /v1/chat BODY.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: request STATUS METHOD PATH [BODY]")
	}
	status, body := do(ts, args[1:])
	_, err := io.WriteString(ts.Stdout(), body)
	ts.Check(err)
	if status != args[0] {
		ts.Fatalf("status %s, want %s: %s", status, args[0], body)
	}
}

// becomes repeats a request until it has that status, and prints the duration: within one second, according to the
// documents.
func becomes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: becomes STATUS METHOD PATH [BODY]")
	}
	began := time.Now()
	poll(ts, "status "+args[0], func() bool {
		status, _ := do(ts, args[1:])
		return status == args[0]
	})
	ts.Logf("after %s", time.Since(began))
}

func do(ts *testscript.TestScript, args []string) (status, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var content io.Reader
	if len(args) > 2 {
		content = strings.NewReader(args[2])
	}
	r, err := http.NewRequestWithContext(ctx, args[0], ts.Getenv("URL")+args[1], content)
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+ts.Getenv("KEY"))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "none", fmt.Sprint(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return strconv.Itoa(resp.StatusCode), string(b)
}
