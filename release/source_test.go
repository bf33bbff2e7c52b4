package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDescribeReadsTagVersion reads the version of a tag, of either kind, and checks that a missing tag is an error.
func TestDescribeReadsTagVersion(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{
			"-C", root, "-c", "user.name=n", "-c", "user.email=n@example.com",
		}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	commit := func() {
		t.Helper()
		run("commit", "--quiet", "--allow-empty", "--message", "a commit")
	}
	check := func(what, want string) {
		t.Helper()
		s, err := describe(t.Context(), root, false)
		if s.version != want || (err == nil) != (want != "") {
			t.Errorf("%s: got version %q, %v; want %q", what, s.version, err, want)
		}
	}
	run("init", "--quiet")
	commit()
	check("no tag", "")
	run("tag", "v1.2.3")
	check("a lightweight tag", "1.2.3")
	commit()
	check("a commit behind the tag", "")
	run("tag", "--annotate", "--message", "a release", "v1.3.0-rc.1")
	check("an annotated tag", "1.3.0-rc.1")
	if err := os.WriteFile(filepath.Join(root, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("a file that is not in the commit", "")
}
