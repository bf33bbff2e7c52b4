package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// release is a release in the making.
type release struct {
	source
	root, out string
	targets   []target
	log       io.Writer

	stage string // directory of the intermediate files
}

// checksumsFile contains the checksums of all other files. It also marks a directory as that of a release.
const checksumsFile = "SHA256SUMS"

// make builds all files of the release.
func (r *release) make(ctx context.Context) (err error) {
	if err := r.begin(); err != nil {
		return err
	}
	if r.stage, err = os.MkdirTemp("", "weir-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.stage)) }()
	r.say("Weir %s, commit %s", r.version, r.commit)
	for _, t := range r.targets {
		r.say("build for %s", t)
		if err := compile(ctx, r.root, &r.source, t, stripped, r.program(t)); err != nil {
			return err
		}
	}
	if err := r.share(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		r.licences, r.archives, r.packages, r.image, r.bills, r.provenance, r.checksums,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return r.sizes()
}

func (r *release) say(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }

// begin creates the directory of the release, and removes that of an earlier one.
func (r *release) begin() error {
	entries, err := os.ReadDir(r.out)
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(r.out, checksumsFile)); err != nil {
			return fmt.Errorf("%s contains files and is not the directory of a release: name another one", r.out)
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.out, 0o755)
}

// program returns the file of the program for a target.
func (r *release) program(t target) string { return filepath.Join(r.stage, t.String(), t.program()) }

// file returns the path of a file of the release.
func (r *release) file(format string, args ...any) string {
	return filepath.Join(r.out, "weir_"+r.fileVersion()+fmt.Sprintf(format, args...))
}

// completions are the completion scripts by shell.
var completions = [][2]string{
	{"bash", "weir.bash"},
	{"zsh", "_weir"},
	{"fish", "weir.fish"},
	{"powershell", "weir.ps1"},
}

// share writes the files that the program itself generates: completion scripts and manual pages. They are the same for
// all targets.
func (r *release) share(ctx context.Context) error {
	host := target{runtime.GOOS, runtime.GOARCH}
	program := r.program(host)
	if _, err := os.Stat(program); err != nil {
		if err := compile(ctx, r.root, &r.source, host, stripped, program); err != nil {
			return err
		}
	}
	dir := filepath.Join(r.stage, "completion")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range completions {
		out, err := exec.CommandContext(ctx, program, "completion", c[0]).Output()
		if err != nil {
			return fmt.Errorf("completion for %s: %w", c[0], err)
		}
		if err := os.WriteFile(filepath.Join(dir, c[1]), out, 0o644); err != nil {
			return err
		}
	}
	manual := filepath.Join(r.stage, "man")
	if out, err := exec.CommandContext(ctx, program, "manual", manual).CombinedOutput(); err != nil {
		return fmt.Errorf("manual pages: %w: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(manual, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		if err := compressed(page, page+".gz"); err != nil {
			return err
		}
	}
	return nil
}

// sizes prints the sizes of the files of the release.
func (r *release) sizes() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		info, err := os.Stat(r.program(t))
		if err != nil {
			return err
		}
		r.say("%8.3f MB  the program for %s", megabytes(info.Size()), strings.ReplaceAll(t.String(), "_", "/"))
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		r.say("%8.3f MB  %s", megabytes(info.Size()), e.Name())
	}
	return nil
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
