package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// target is what a program is built for.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "_" + t.processor }

// program is the name of the program's file.
func (t target) program() string {
	if t.system == "windows" {
		return "weir.exe"
	}
	return "weir"
}

// settings are variables of the go command that change what is built: those of a release, whatever the machine has.
var settings = []string{
	"CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=off", "GOFLAGS=",
	"GOWORK=off",
}

// stripped are the linker's flags that leave out symbols and debug information.
const stripped = "-s -w"

// linkerFlags are those of a release.
func linkerFlags(s *source, strip string) string {
	return strings.TrimSpace(strip + " -buildid= -X main.release=" + s.version + " -X main.revision=" + s.commit +
		" -X main.committed=" + s.time.Format(time.RFC3339))
}

// goToolchain matches the version of Go in go.mod, which is the one that builds.
var goToolchain = regexp.MustCompile(`(?m)^toolchain (go\S+)$`)

// toolchain is that of the repository.
func toolchain(root string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	if m := goToolchain.FindSubmatch(mod); m != nil {
		return string(m[1]), nil
	}
	return "", errors.New("go.mod has no line `toolchain`, so that nobody knows which Go builds the release")
}

// goCommand is the go command for a target.
func goCommand(ctx context.Context, root string, t target, args ...string) (*exec.Cmd, error) {
	tool, err := toolchain(root)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = slices.Concat(os.Environ(), settings,
		[]string{"GOTOOLCHAIN=" + tool, "GOOS=" + t.system, "GOARCH=" + t.processor})
	return cmd, nil
}

// compile builds the program for a target.
func compile(ctx context.Context, root string, s *source, t target, strip, to string) error {
	cmd, err := goCommand(ctx, root, t, "build", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(s, strip),
		"-o", to, "./cmd/weir")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s: %w\n%s", t, err, out)
	}
	return nil
}
