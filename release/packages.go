package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // each registers its format with nfpm
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// formats are the package formats.
var formats = []string{"deb", "rpm", "apk"}

// packages writes the Linux packages described in packages.yaml.
func (r *release) packages(context.Context) error {
	for _, t := range r.targets {
		if t.system != "linux" {
			continue
		}
		for _, format := range formats {
			name := r.file("_%s.%s", t, format)
			r.say("%s", filepath.Base(name))
			if err := created(name, func(w io.Writer) error { return r.writePackage(w, t, format) }); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(name), err)
			}
		}
	}
	return nil
}

func (r *release) writePackage(w io.Writer, t target, format string) error {
	text, err := os.ReadFile(filepath.Join(r.root, "release/packages.yaml"))
	if err != nil {
		return err
	}
	of := strings.NewReplacer("${VERSION}", r.version, "${ARCH}", t.processor, "${ROOT}", r.root,
		"${STAGE}", r.stage, "${PROGRAM}", r.program(t), "${LICENCES}", r.licencesFile())
	cfg, err := nfpm.ParseWithEnvMapping(strings.NewReader(of.Replace(string(text))), func(string) string { return "" })
	if err != nil {
		return err
	}
	info, err := cfg.Get(format)
	if err != nil {
		return err
	}
	info.MTime = r.time
	for _, c := range info.Contents {
		if c.FileInfo == nil {
			c.FileInfo = &files.ContentFileInfo{}
		}
		c.FileInfo.MTime = r.time
	}
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return packager.Package(info, w)
}
