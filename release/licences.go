package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licencesFile returns the file with the licences of all modules in a program.
func (r *release) licencesFile() string { return filepath.Join(r.stage, "licences") }

// licenceNames matches files with the terms of redistribution of a module.
var licenceNames = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// licences writes the file, from the sources of the modules and of the embedded data.
func (r *release) licences(ctx context.Context) error {
	modules := map[string]string{} // directories by names and versions
	for _, t := range r.targets {
		cmd, err := goCommand(ctx, r.root, t, "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/weir")
		if err != nil {
			return err
		}
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("list the modules for %s: %w", t, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				modules[name] = dir
			}
		}
	}
	modules["the embedded data of models and prices"] = filepath.Join(r.root, "internal/pricing/data")
	var names []string
	for name := range modules {
		names = append(names, name)
	}
	slices.Sort(names)
	var all bytes.Buffer
	for _, name := range names {
		if err := addLicences(&all, name, modules[name]); err != nil {
			return err
		}
	}
	return os.WriteFile(r.licencesFile(), all.Bytes(), 0o644)
}

func addLicences(all *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceNames.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(all, "== %s, %s ==\n\n%s\n\n", name, e.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return errors.New(name + " has no licence file: add one, or remove the dependency")
	}
	return nil
}
