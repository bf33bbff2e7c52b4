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

// target is a platform that a program is built for.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "_" + t.processor }

// program returns the name of the program's file.
func (t target) program() string {
	if t.system == "windows" {
		return "weir.exe"
	}
	return "weir"
}

// settings are the variables of the go command that affect the build, fixed so that the machine's own have no effect.
var settings = []string{
	"CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=off", "GOFLAGS=",
	"GOWORK=off",
}

// stripped are the linker flags that omit symbols and debug information.
const stripped = "-s -w"

// linkerFlags returns the linker flags of a release.
func linkerFlags(s *source, strip string) string {
	return strings.TrimSpace(strip + " -buildid= -X main.release=" + s.version + " -X main.revision=" + s.commit +
		" -X main.committed=" + s.time.Format(time.RFC3339))
}

// goToolchain matches the Go version in go.mod that builds the release.
var goToolchain = regexp.MustCompile(`(?m)^toolchain (go\S+)$`)

// toolchain returns the Go version of the repository.
func toolchain(root string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	if m := goToolchain.FindSubmatch(mod); m != nil {
		return string(m[1]), nil
	}
	return "", errors.New("go.mod has no line `toolchain`: add one with the Go version that builds the release")
}

// goCommand returns a go command for a target.
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
