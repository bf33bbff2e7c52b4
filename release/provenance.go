package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// statement describes how files were built: https://github.com/in-toto/attestation/blob/v1.1.0/spec/v1/statement.md
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// predicate follows https://slsa.dev/spec/v1.0/provenance. It has no times and no id of the run, so that it is
// reproducible.
type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// Names of this build. The repository has no URL to derive them from.
const (
	buildType = "urn:weir:release:v1"
	builderID = "urn:weir:release:unattended" // an unattested machine: the statement is not signed
)

// provenance writes the statement about all files of the release.
func (r *release) provenance(context.Context) error {
	tool, err := toolchain(r.root)
	if err != nil {
		return err
	}
	s := statement{
		Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1",
	}
	if s.Subject, err = r.subjects(); err != nil {
		return err
	}
	var targets []string
	for _, t := range r.targets {
		targets = append(targets, t.system+"/"+t.processor)
	}
	sums, err := sha256Of(filepath.Join(r.root, "go.sum"))
	if err != nil {
		return err
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = buildType
	d.ExternalParameters = map[string]string{"version": r.version, "targets": strings.Join(targets, ",")}
	d.InternalParameters = map[string]string{
		"go": tool, "flags": "-trimpath -buildvcs=false", "ldflags": linkerFlags(&r.source, stripped),
		"environment": strings.Join(settings, " "),
	}
	d.ResolvedDependencies = []subject{
		{Name: "source", URI: "git+weir", Digest: map[string]string{"gitCommit": r.commit}},
		{Name: "go.sum", Digest: map[string]string{"sha256": sums}},
	}
	s.Predicate.RunDetails.Builder.ID = builderID
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file("_provenance.json"), append(text, '\n'), 0o644)
}

// subjects returns the files of the release with their checksums.
func (r *release) subjects() ([]subject, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	var all []subject
	for _, e := range entries {
		sum, err := sha256Of(filepath.Join(r.out, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, subject{Name: e.Name(), Digest: map[string]string{"sha256": sum}})
	}
	return all, nil
}

// checksums writes the checksums of all files, for sha256sum --check.
func (r *release) checksums(context.Context) error {
	all, err := r.subjects()
	if err != nil {
		return err
	}
	return created(filepath.Join(r.out, checksumsFile), func(w io.Writer) error {
		for _, s := range all {
			fmt.Fprintf(w, "%s  %s\n", s.Digest["sha256"], s.Name)
		}
		return nil
	})
}
