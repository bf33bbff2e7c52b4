package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user id of the program in the image, as in the manifests for Kubernetes.
const user = 65532

// image writes the Linux image, for all processors of the targets, as an archive in the OCI image layout:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
func (r *release) image(context.Context) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, t := range r.targets {
		if t.system != "linux" {
			continue
		}
		found = true
		img, err := r.imageFor(t)
		if err != nil {
			return fmt.Errorf("image for %s: %w", t, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: t.system, Architecture: t.processor},
		}})
	}
	if !found {
		return nil
	}
	dir := filepath.Join(r.stage, "image")
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	tag := r.fileVersion()
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": "weir:" + tag,
	})); err != nil {
		return err
	}
	entries, err := filesBelow(dir)
	if err != nil {
		return err
	}
	name := r.file("_image.tar")
	r.say("%s", filepath.Base(name))
	return created(name, func(w io.Writer) error { return writeTar(w, entries, r.time) })
}

// filesBelow returns the entries of a directory.
func filesBelow(dir string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		e := entry{name: filepath.ToSlash(name), mode: 0o644, from: path}
		if d.IsDir() {
			e.mode = fs.ModeDir | 0o755
		}
		all = append(all, e)
		return err
	})
	return all, err
}

// imageFor returns the image for a processor: one layer with the program and its files.
func (r *release) imageFor(t target) (v1.Image, error) {
	var layer bytes.Buffer
	if err := writeTarGz(&layer, r.imageFiles(t), r.time); err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: l, MediaType: types.OCILayer, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "release of Weir " + r.version,
	}})
	if err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = t.system, t.processor, v1.Time{Time: r.time}
	cfg.Config = r.imageConfig()
	return mutate.ConfigFile(img, cfg)
}

// imageConfig returns the configuration of the image.
func (r *release) imageConfig() v1.Config {
	return v1.Config{
		Entrypoint: []string{"/usr/bin/weir"}, Cmd: []string{"serve"}, WorkingDir: "/etc/weir",
		User:         fmt.Sprintf("%d:%d", user, user),
		Env:          []string{"PATH=/usr/bin", "WEIR_DATA=/data", "WEIR_LISTEN=0.0.0.0:8080"},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/weir", "ready"}, Interval: 10 * time.Second, Timeout: 5 * time.Second,
			StartPeriod: 15 * time.Minute, // a large database may have to be migrated
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "weir",
			"org.opencontainers.image.description": "LLM gateway with exact usage metering, budgets and rate limits",
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.revision":    r.commit,
			"org.opencontainers.image.created":     r.time.Format(time.RFC3339),
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
}

// imageFiles returns all files of the image.
func (r *release) imageFiles(t target) []entry {
	passwd := fmt.Appendf(nil, "weir:x:%d:%d:Weir:/data:/sbin/nologin\n", user, user)
	dirs := []string{
		"etc", "etc/ssl", "etc/ssl/certs", "etc/weir", "usr", "usr/bin", "usr/share", "usr/share/doc",
		"usr/share/doc/weir",
	}
	var all []entry
	for _, name := range dirs {
		all = append(all, entry{name: name, mode: fs.ModeDir | 0o755})
	}
	return slices.Concat(all, []entry{
		{name: "data", mode: fs.ModeDir | 0o700, owner: user},
		{name: "etc/passwd", mode: 0o644, text: passwd},
		{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "weir:x:%d:\n", user)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: authorities()},
		{name: "usr/bin/weir", mode: 0o755, from: r.program(t)},
		{name: "usr/share/doc/weir/LICENSE", mode: 0o644, from: filepath.Join(r.root, "LICENSE")},
		{name: "usr/share/doc/weir/LICENSES-OF-DEPENDENCIES", mode: 0o644, from: r.licencesFile()},
	})
}

// authorities returns the certificates of Mozilla's list from a Go module, so that they do not depend on the build
// machine. It omits roots that are trusted only for old certificates, because a PEM file cannot express that.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a write to memory
		}
	}
	return all.Bytes()
}
