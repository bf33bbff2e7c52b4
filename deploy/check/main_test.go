// Package check_test renders, lints and validates the files in deploy/, with the code of the programs that read them if
// it is available as a Go module. How: docs/deploy.md, "What was checked".
package check_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
)

// patience bounds every wait.
const patience = time.Minute

// path returns the path of a file of deploy/.
func path(name string) string { return filepath.Join("..", filepath.FromSlash(name)) }

// read returns the content of a file of deploy/.
func read(t *testing.T, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path(name)))(t))
}

// replaced replaces the first text of each pair by the second. A missing text is an error, because then the file
// differs from the test's assumption.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("there is no %q in:\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// program returns the path of a program. If it is missing the test is skipped, or fails if WEIR_TEST_REQUIRE is "all".
func program(t *testing.T, name string) string {
	t.Helper()
	found, err := exec.LookPath(name)
	switch {
	case err == nil:
		return found
	case os.Getenv("WEIR_TEST_REQUIRE") == "all":
		t.Fatalf("%s is not there, and WEIR_TEST_REQUIRE is all", name)
	default:
		t.Skipf("%s is not there", name)
	}
	return ""
}

// run runs a program to its end and returns its output.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}

// output holds the output of a process.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
