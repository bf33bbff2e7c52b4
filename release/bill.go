package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bills writes a bill of materials for each program, in the CycloneDX format, from the modules recorded in the program.
func (r *release) bills(context.Context) error {
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(r.program(t))
		if err != nil {
			return err
		}
		sum, err := sha256Of(r.program(t))
		if err != nil {
			return err
		}
		bom := r.bill(t, info, sum)
		name := r.file("_%s.cdx.json", t)
		r.say("%s", filepath.Base(name))
		if err := created(name, func(w io.Writer) error {
			return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).
				EncodeVersion(bom, cyclonedx.SpecVersion1_6)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) bill(t target, info *buildinfo.BuildInfo, sum string) *cyclonedx.BOM {
	program := cyclonedx.Component{
		BOMRef: "weir", Type: cyclonedx.ComponentTypeApplication, Name: "weir", Version: r.version,
		Description: "LLM gateway with exact usage metering, budgets and rate limits, for " + t.String(),
		Hashes:      &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}},
		Licenses:    &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
	standard := strings.TrimPrefix(info.GoVersion, "go")
	parts := []cyclonedx.Component{{
		BOMRef: "std", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		Description: "the standard library of Go", PackageURL: "pkg:golang/std@" + standard,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "BSD-3-Clause"}}},
	}}
	refs := []string{"std"}
	for _, m := range info.Deps {
		c := component(m)
		parts, refs = append(parts, c), append(refs, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &program}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "weir", Dependencies: &refs}}
	return bom
}

// component returns a module of a program. Its hash is that of go.sum, which covers all its files and their names:
// https://pkg.go.dev/golang.org/x/mod/sumdb/dirhash#Hash1
func component(m *debug.Module) cyclonedx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := cyclonedx.Component{
		BOMRef: m.Path + "@" + m.Version, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
		PackageURL: fmt.Sprintf("pkg:golang/%s@%s", m.Path, strings.ReplaceAll(m.Version, "+", "%2B")),
	}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}

// sha256Of returns the checksum of a file, in hexadecimal.
func sha256Of(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
