package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// source is the commit that a release is built from.
type source struct {
	version string // without the v
	commit  string
	time    time.Time // of the commit, used as the time of all files
}

// fileVersion returns the version for file names, without the plus sign, which URLs must escape.
func (s *source) fileVersion() string { return strings.ReplaceAll(s.version, "+", ".") }

// developed matches the version that cmd/weir reports for a build from a clone.
var developed = regexp.MustCompile(`nextRelease = "(.+)"`)

// describe returns the source in a clone. A release is a commit with a tag such as v1.2.3 and without changes.
func describe(ctx context.Context, root string, snapshot bool) (source, error) {
	var s source
	var err error
	if s.commit, err = git(ctx, root, "rev-parse", "HEAD"); err != nil {
		return s, err
	}
	at, err := git(ctx, root, "show", "--no-patch", "--format=%cI", "HEAD")
	if err != nil {
		return s, err
	}
	if s.time, err = time.Parse(time.RFC3339, at); err != nil {
		return s, fmt.Errorf("the commit's time: %w", err)
	}
	s.time = s.time.UTC()
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return s, err
	}
	tag, untagged := git(ctx, root, "describe", "--tags", "--exact-match", "--match", "v[0-9]*", "HEAD")
	switch {
	case changes != "" && !snapshot:
		return s, fmt.Errorf("the clone has changes: commit them, or build a snapshot with -snapshot\n%s", changes)
	case untagged != nil && !snapshot:
		return s, errors.New("the commit has no tag such as v1.2.3: tag it, or build a snapshot with -snapshot")
	case untagged == nil && changes == "":
		s.version = strings.TrimPrefix(tag, "v")
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(root, "cmd/weir/version.go"))
	if err != nil {
		return s, err
	}
	next := developed.FindSubmatch(text)
	if next == nil {
		return s, errors.New("cmd/weir/version.go has no nextRelease")
	}
	s.version = string(next[1]) + "+" + s.commit[:12]
	if changes != "" {
		s.version += ".modified"
	}
	return s, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
