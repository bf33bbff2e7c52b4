// Package backup keeps an installation in one file: a tar archive, compressed by Zstandard (RFC 8878), of the database,
// the journal and, last, a manifest with the SHA-256 of each.
package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/internal/disk"
)

const (
	format       = 1
	manifestName = "manifest.json"
	partSuffix   = ".part" // of a file that is not whole yet
	mostFiles    = 8 << 10 // of an archive: a journal of half a terabyte
	maxManifest  = mostFiles << 9
	maxWindow    = 64 << 20 // of memory, that unpacking takes
)

// Manifest is what an archive says of itself.
type Manifest struct {
	Format   int       `json:"format"`
	Created  time.Time `json:"created"` // when the backup began
	Version  string    `json:"version"` // of the program
	Schema   int64     `json:"schema"`  // of the database
	Journals []Journal `json:"journals,omitempty"`
	Files    []File    `json:"files"`
}

// Journal is a journal of which an archive has what the database does not.
type Journal struct {
	ID  string `json:"id"`
	Dir string `json:"dir"` // name of its directory
}

// File is one file of an archive.
type File struct {
	Name   string `json:"name"` // slashes separate
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
}

// Has reports whether the archive has a file of that name.
func (m *Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// Progress is told how many bytes of how many are done.
type Progress func(done, total int64)

// Writer makes an archive.
type Writer struct {
	path  string
	file  *os.File
	zstd  *zstd.Encoder
	tar   *tar.Writer
	files []File
}

// Create begins an archive that will be at the path, readable by its owner alone. Until Finish it is at the path with
// ".part" behind it.
func Create(path string) (*Writer, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("%s exists already: name another file", path), err)
	}
	f, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(f, zstd.WithWindowSize(8<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Writer{path: path, file: f, zstd: z, tar: tar.NewWriter(z)}, nil
}

// tooMany refuses an archive whose files no reader would take.
func tooMany() error { return fmt.Errorf("it has more than %d files, which no backup has", mostFiles) }

// Add copies a file into the archive, as long as it is now.
func (w *Writer) Add(name, from string, progress Progress) error {
	if len(w.files) == mostFiles {
		return fmt.Errorf("write %s: %w", w.path, tooMany())
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if err := w.begin(name, size); err != nil {
		return err
	}
	sum := sha256.New()
	counted := &counter{total: size, progress: progress}
	if _, err := io.Copy(io.MultiWriter(w.tar, sum, counted), io.LimitReader(f, size)); err != nil {
		return fmt.Errorf("back up %s: %w", from, err)
	}
	w.files = append(w.files, File{name, size, hexOf(sum)})
	return nil
}

func (w *Writer) begin(name string, size int64) error {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, Typeflag: tar.TypeReg})
	if err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	return nil
}

// Finish writes the manifest, whose format and files are filled in, and gives the archive its name once the disk has it.
func (w *Writer) Finish(m Manifest) (Manifest, error) {
	m.Format, m.Files = format, w.files
	text, err := json.MarshalIndent(&m, "", "  ")
	if err == nil {
		err = w.begin(manifestName, int64(len(text)))
	}
	if err == nil {
		_, err = w.tar.Write(text)
	}
	if err == nil {
		err = errors.Join(w.tar.Close(), w.zstd.Close(), w.file.Sync(), w.file.Close())
	}
	if err == nil {
		err = os.Rename(w.path+partSuffix, w.path)
	}
	return m, err
}

// Abandon deletes what was written. After Finish it does nothing.
func (w *Writer) Abandon() error {
	_ = w.zstd.Close() // the file is not wanted
	_ = w.file.Close()
	err := os.Remove(w.path + partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Extract writes the files of an archive below a directory, and is an error unless all are there as the manifest says.
// With an empty directory it only looks. Else it looks first: nothing is written of what is no whole backup, or of more
// than the disk has free.
func Extract(path, dir string, progress Progress) (m Manifest, err error) {
	if dir == "" {
		return read(path, "", math.MaxInt64, progress)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return m, err
	}
	room, err := disk.Free(dir)
	if err != nil {
		return m, fmt.Errorf("look how much room is at %s: %w", dir, err)
	}
	if m, err = read(path, "", room, nil); err != nil {
		return m, err
	}
	return read(path, dir, room, progress)
}

// read reads an archive of at most so many bytes, unpacked.
func read(path, dir string, room int64, progress Progress) (m Manifest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return m, err
	}
	z, err := zstd.NewReader(io.TeeReader(f, &counter{total: info.Size(), progress: progress}),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return m, err
	}
	defer z.Close()
	m, err = extract(tar.NewReader(z), dir, room)
	if err == nil {
		_, err = io.Copy(io.Discard, z) // to the end, where the checksum of all is
	}
	if err != nil {
		return m, fmt.Errorf("%s is not a whole backup: %w", path, err)
	}
	return m, nil
}

func extract(from *tar.Reader, dir string, room int64) (m Manifest, err error) {
	var found []File
	for {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			return m, errors.New("its end is missing")
		}
		if err != nil {
			return m, err
		}
		if head.Name == manifestName {
			return readManifest(from, found)
		}
		if len(found) == mostFiles {
			return m, tooMany()
		}
		if room -= head.Size; room < 0 || head.Size < 0 {
			return m, fmt.Errorf("%s in it has %d bytes, which are more than the disk has free: use another disk, or "+
				"free room", head.Name, head.Size)
		}
		f, err := extractFile(from, head, dir)
		if err != nil {
			return m, err
		}
		found = append(found, f)
	}
}

func extractFile(from io.Reader, head *tar.Header, dir string) (f File, err error) {
	if head.Typeflag != tar.TypeReg || !filepath.IsLocal(head.Name) || strings.Contains(head.Name, `\`) {
		return f, fmt.Errorf("it has %q, which is no file of a backup", head.Name)
	}
	sum := sha256.New()
	to := io.Writer(sum)
	if dir != "" {
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return f, err
		}
		out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, out.Sync(), out.Close()) }()
		to = io.MultiWriter(sum, out)
	}
	n, err := io.Copy(to, from)
	return File{head.Name, n, hexOf(sum)}, err
}

func readManifest(from io.Reader, found []File) (m Manifest, err error) {
	text, err := io.ReadAll(io.LimitReader(from, maxManifest))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("its manifest: %w", err)
	}
	if m.Format != format {
		return m, fmt.Errorf("it has format %d, and this version reads %d: use the version that wrote it, %s", m.Format,
			format, m.Version)
	}
	if len(found) != len(m.Files) {
		return m, fmt.Errorf("it has %d files, and its manifest names %d", len(found), len(m.Files))
	}
	for i := range found {
		if found[i] != m.Files[i] {
			return m, fmt.Errorf("%s is damaged: got %d bytes with SHA-256 %s, want %d with %s", m.Files[i].Name,
				found[i].Size, found[i].SHA256, m.Files[i].Size, m.Files[i].SHA256)
		}
	}
	return m, nil
}

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// counter tells of the bytes that are written to it.
type counter struct {
	done, total int64
	progress    Progress
}

func (c *counter) Write(b []byte) (int, error) {
	c.done += int64(len(b))
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
	return len(b), nil
}
