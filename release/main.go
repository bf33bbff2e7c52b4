// Command release builds the files of a release of Weir from a clone: programs, archives, packages, an image, bills of
// materials, checksums and a provenance statement. The build is reproducible: the same commit gives the same bytes on
// every machine. docs/release.md describes the files and how to verify them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// allTargets are the platforms of a release.
var allTargets = []target{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "newcomer" {
		return newcomerCommand(ctx, args[1:])
	}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "..", "the clone to build")
	out := flags.String("out", "../dist", "directory for the files; it must not exist, or contain an earlier release")
	targets := flags.String("targets", "all", "targets, such as linux/amd64,darwin/arm64")
	snapshot := flags.Bool("snapshot", false,
		"build the clone as it is: without a tag, and even with uncommitted changes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := parseTargets(*targets)
	if err != nil {
		return err
	}
	s, err := describe(ctx, *root, *snapshot)
	if err != nil {
		return err
	}
	r := &release{source: s, targets: wanted, log: os.Stdout}
	if r.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	return r.make(ctx)
}

func parseTargets(text string) ([]target, error) {
	if text == "all" {
		return allTargets, nil
	}
	var all []target
	for name := range strings.SplitSeq(text, ",") {
		system, processor, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("%q is not a target: write it as linux/amd64", name)
		}
		all = append(all, target{system, processor})
	}
	return all, nil
}
