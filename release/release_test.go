package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/sassoftware/go-rpmutils"
)

var (
	wanted = flag.String("release.targets", runtime.GOOS+"/"+runtime.GOARCH, "what to build for, or all")
	fresh  = flag.Bool("release.fresh", false, "compile everything anew for the second release")
)

// made is a release that was made for the tests.
type made struct{ release }

// TestReleaseIsReproducible builds a release twice, in two places, and checks its files.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	root := must(filepath.Abs(".."))(t)
	s := must(describe(t.Context(), root, true))(t)
	targets := must(parseTargets(*wanted))(t)
	dir := t.TempDir()
	first := makeOf(t, &made{release{source: s, root: root, out: filepath.Join(dir, "first"), targets: targets}})
	copied := filepath.Join(dir, "a directory elsewhere")
	copyClone(t, root, copied)
	if *fresh {
		t.Setenv("GOCACHE", filepath.Join(dir, "cache"))
	}
	second := makeOf(t, &made{release{source: s, root: copied, out: filepath.Join(dir, "second"), targets: targets}})
	t.Run("Equal", func(t *testing.T) { holdEqual(t, first, second) })
	t.Run("Checksums", func(t *testing.T) { holdChecksums(t, first) })
	for _, target := range targets {
		t.Run("Bill/"+target.String(), func(t *testing.T) { holdBill(t, first, target) })
		t.Run("Archive/"+target.String(), func(t *testing.T) { holdArchive(t, first, target) })
		if target.system == "linux" {
			t.Run("Debian/"+target.String(), func(t *testing.T) { holdDebian(t, first, target) })
			t.Run("RPM/"+target.String(), func(t *testing.T) { holdRPM(t, first, target) })
			t.Run("Alpine/"+target.String(), func(t *testing.T) { holdAlpine(t, first, target) })
		}
	}
	t.Run("Image", func(t *testing.T) { holdImage(t, first) })
	if here := (target{runtime.GOOS, runtime.GOARCH}); slices.Contains(targets, here) {
		t.Run("Newcomer", func(t *testing.T) {
			n := &newcomer{home: t.TempDir(), log: t.Output()}
			if err := n.walk(t.Context(), root, first.file("_%s.tar.gz", here)); err != nil {
				t.Error(err)
			}
		})
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func makeOf(t *testing.T, m *made) *made {
	t.Helper()
	m.log = t.Output()
	if err := m.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// copyClone copies the files of a clone that are no build results, so that the copy has another path and no history.
func copyClone(t *testing.T, root, to string) {
	t.Helper()
	list := must(git(t.Context(), root, "ls-files", "--cached", "--others", "--exclude-standard"))(t)
	for name := range strings.SplitSeq(list, "\n") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func holdEqual(t *testing.T, a, b *made) {
	names := func(m *made) []string {
		var all []string
		for _, s := range must(m.subjects())(t) {
			all = append(all, s.Name+" "+s.Digest["sha256"])
		}
		return all
	}
	first, second := names(a), names(b)
	if len(first) < 5 || !slices.Equal(first, second) {
		t.Errorf("two releases of the same source differ:\n%s\n\n%s", strings.Join(first, "\n"),
			strings.Join(second, "\n"))
	}
}

func holdChecksums(t *testing.T, m *made) {
	text := string(must(os.ReadFile(filepath.Join(m.out, checksumsFile)))(t))
	var s statement
	if err := json.Unmarshal(must(os.ReadFile(m.file("_provenance.json")))(t), &s); err != nil {
		t.Fatal(err)
	}
	entries := must(os.ReadDir(m.out))(t)
	if len(s.Subject) != len(entries)-2 {
		t.Errorf("the provenance is of %d files; want %d, all but itself and the checksums", len(s.Subject),
			len(entries)-2)
	}
	for _, of := range s.Subject {
		if want := of.Digest["sha256"] + "  " + of.Name + "\n"; !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", checksumsFile, want)
		}
	}
}

// holdBill compares the bill of materials with the modules in the archive's program.
func holdBill(t *testing.T, m *made, target target) {
	f := must(os.Open(m.file("_%s.cdx.json", target)))(t)
	defer f.Close()
	bom := &cyclonedx.BOM{}
	if err := cyclonedx.NewBOMDecoder(f, cyclonedx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	if target.system == "windows" {
		return // in a zip
	}
	program := unpacked(t, m, target)
	info := must(buildinfo.ReadFile(program))(t)
	if got, want := len(*bom.Components), len(info.Deps)+1; got != want {
		t.Errorf("the bill names %d parts, want %d", got, want)
	}
	if got := (*bom.Metadata.Component.Hashes)[0].Value; got != must(sha256Of(program))(t) {
		t.Errorf("the bill is of a program with the checksum %s, which is not that of the archive", got)
	}
	for _, c := range *bom.Components {
		if c.BOMRef != "std" && c.Hashes == nil {
			t.Errorf("%s has no hash", c.BOMRef)
		}
	}
}

// unpacked extracts the program of an archive.
func unpacked(t *testing.T, m *made, target target) string {
	t.Helper()
	dir := t.TempDir()
	command(t, "tar", "-xzf", m.file("_%s.tar.gz", target), "-C", dir, "--strip-components=1")
	return filepath.Join(dir, "weir")
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// runs reports whether this machine can run a program for the target.
func (t target) runs() bool { return t.system == runtime.GOOS && t.processor == runtime.GOARCH }

func holdVersion(t *testing.T, m *made, text string) {
	t.Helper()
	for _, want := range []string{m.version, m.commit, m.time.Format("2006-01-02T15:04:05Z")} {
		if !strings.Contains(text, want) {
			t.Errorf("the output of weir version is %q, want %q in it", text, want)
		}
	}
}

func holdArchive(t *testing.T, m *made, target target) {
	if target.system == "windows" {
		return
	}
	program := unpacked(t, m, target)
	for _, name := range []string{"LICENSE", "README.md", "completion/_weir", "man/man1/weir-serve.1"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(program), name)); err != nil {
			t.Error(err)
		}
	}
	if target.runs() {
		holdVersion(t, m, command(t, program, "version"))
	}
}

// ofPackages lists the files of every package.
var ofPackages = []string{"/usr/bin/weir", "/usr/share/doc/weir/copyright", "/usr/share/man/man1/weir-serve.1.gz"}

// ofServices lists the files of packages for systems with systemd.
var ofServices = []string{
	"/usr/lib/systemd/system/weir.service", "/usr/lib/systemd/system/weir.socket", "/usr/lib/sysusers.d/weir.conf",
}

func holdDebian(t *testing.T, m *made, target target) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("there is no dpkg-deb")
	}
	dir, file := t.TempDir(), m.file("_%s.deb", target)
	command(t, "dpkg-deb", "--extract", file, dir)
	for _, name := range slices.Concat(ofPackages, ofServices) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	command(t, "dpkg-deb", "--control", file, filepath.Join(dir, "control"))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		command(t, "sh", "-n", filepath.Join(dir, "control", script))
	}
	if target.runs() {
		holdVersion(t, m, command(t, filepath.Join(dir, "usr/bin/weir"), "version"))
	}
}

func holdRPM(t *testing.T, m *made, target target) {
	f := must(os.Open(m.file("_%s.rpm", target)))(t)
	defer f.Close()
	rpm := must(rpmutils.ReadRpm(f))(t)
	var names []string
	for _, info := range must(rpm.Header.GetFiles())(t) {
		names = append(names, info.Name())
	}
	for _, name := range slices.Concat(ofPackages, ofServices) {
		if !slices.Contains(names, name) {
			t.Errorf("the package lacks %s", name)
		}
	}
}

func holdAlpine(t *testing.T, m *made, target target) {
	names := strings.Split(command(t, "tar", "-tzf", m.file("_%s.apk", target)), "\n")
	for _, name := range ofPackages {
		if !slices.Contains(names, strings.TrimPrefix(name, "/")) {
			t.Errorf("the package lacks %s", name)
		}
	}
	if slices.Contains(names, strings.TrimPrefix(ofServices[0], "/")) {
		t.Errorf("the package has %s, but Alpine has no systemd", ofServices[0])
	}
}

// holdImage checks the images of all architectures, and runs the one for this machine.
func holdImage(t *testing.T, m *made) {
	dir := t.TempDir()
	command(t, "tar", "-xf", m.file("_image.tar"), "-C", dir)
	index := decoded[manifest](t, filepath.Join(dir, "index.json"))
	images := decoded[manifest](t, index.Manifests[0].in(dir))
	linux := slices.DeleteFunc(slices.Clone(m.targets), func(t target) bool { return t.system != "linux" })
	if len(images.Manifests) != len(linux) {
		t.Errorf("the image is for %d processors, want %d", len(images.Manifests), len(linux))
	}
	for i, of := range images.Manifests {
		if of.Platform.Architecture != linux[i].processor || of.Platform.OS != "linux" {
			t.Errorf("image %d is for %v, want %s", i, of.Platform, linux[i])
		}
		image := decoded[manifest](t, of.in(dir))
		config := decoded[imageFile](t, image.Config.in(dir))
		if config.Config.User != "65532:65532" || len(config.Config.Volumes) != 1 {
			t.Errorf("the image runs as %q with the volumes %v", config.Config.User, config.Config.Volumes)
		}
		root := t.TempDir()
		unpackLayer(t, image.Layers[0].in(dir), root)
		if linux[i].runs() {
			runImage(t, m, root, config)
		}
	}
}

// manifest holds the members of an image's layout that the test reads.
type manifest struct {
	Manifests []descriptor
	Config    descriptor
	Layers    []descriptor
}

type descriptor struct {
	Digest   string
	Platform struct{ OS, Architecture string }
}

func (d descriptor) in(dir string) string {
	return filepath.Join(dir, "blobs", strings.Replace(d.Digest, ":", "/", 1))
}

type imageFile struct {
	Config struct {
		User, WorkingDir     string
		Env, Entrypoint, Cmd []string
		Volumes              map[string]struct{}
		Healthcheck          struct{ Test []string }
	}
}

func decoded[T any](t *testing.T, name string) (v T) {
	t.Helper()
	if err := json.Unmarshal(must(os.ReadFile(name))(t), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// unpackLayer unpacks the files of an image, with their owners if the test may set them.
func unpackLayer(t *testing.T, layer, root string) {
	t.Helper()
	z := must(gzip.NewReader(bytes.NewReader(must(os.ReadFile(layer))(t))))(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		name := filepath.Join(root, h.Name)
		switch {
		case err != nil:
		case h.Typeflag == tar.TypeDir:
			err = os.Mkdir(name, h.FileInfo().Mode().Perm())
		default:
			text := must(io.ReadAll(r))(t)
			err = os.WriteFile(name, text, h.FileInfo().Mode().Perm())
		}
		if err == nil && os.Getuid() == 0 {
			err = os.Chown(name, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
