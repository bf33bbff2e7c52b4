// Package backup stores an installation in one file: a tar archive, compressed with Zstandard (RFC 8878), of the
// database, the journal and, last, a manifest with the SHA-256 of each file.
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
	partSuffix   = ".part" // of an incomplete file
	mostFiles    = 8 << 10 // of an archive: a journal of half a terabyte
	maxManifest  = mostFiles << 9
	maxWindow    = 64 << 20 // memory for decompression
)

// Manifest describes an archive.
type Manifest struct {
	Format   int       `json:"format"`
	Created  time.Time `json:"created"` // start of the backup
	Version  string    `json:"version"` // of the program
	Schema   int64     `json:"schema"`  // of the database
	Journals []Journal `json:"journals,omitempty"`
	Files    []File    `json:"files"`
}

// Journal is a journal with records that the database in the archive does not have.
type Journal struct {
	ID  string `json:"id"`
	Dir string `json:"dir"` // name of its directory
}

// File is one file of an archive.
type File struct {
	Name   string `json:"name"` // separated by slashes
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
}

// Has reports whether the archive has a file with that name.
func (m *Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// Progress is called with the number of bytes that are done, and their total.
type Progress func(done, total int64)

// Writer writes an archive.
type Writer struct {
	path  string
	file  *os.File
	zstd  *zstd.Encoder
	tar   *tar.Writer
	files []File
}

// Create starts an archive at path, readable by its owner only. Until Finish, it has the suffix ".part".
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

// tooMany returns the error for an archive with more files than a reader accepts.
func tooMany() error {
	return fmt.Errorf("it has more than %d files, but a backup has at most that many", mostFiles)
}

// Add copies a file into the archive, up to its current size.
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

// Finish writes the manifest, with its format and files filled in, and renames the archive after syncing it to the
// disk.
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

// Abandon deletes the incomplete archive. After Finish it does nothing.
func (w *Writer) Abandon() error {
	_ = w.zstd.Close() // the file is deleted anyway
	_ = w.file.Close()
	err := os.Remove(w.path + partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Extract writes the files of an archive below a directory. It returns an error unless all files are as the manifest
// says. If dir is empty, it only checks the archive. Otherwise it checks first, so that nothing is written if the
// backup is incomplete or larger than the free disk space.
func Extract(path, dir string, progress Progress) (m Manifest, err error) {
	if dir == "" {
		return read(path, "", math.MaxInt64, progress)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return m, err
	}
	room, err := disk.Free(dir)
	if err != nil {
		return m, fmt.Errorf("read free disk space at %s: %w", dir, err)
	}
	if m, err = read(path, "", room, nil); err != nil {
		return m, err
	}
	return read(path, dir, room, progress)
}

// read reads an archive of at most room bytes, decompressed.
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
		_, err = io.Copy(io.Discard, z) // to the end, which has the checksum of the whole
	}
	if err != nil {
		return m, fmt.Errorf("%s is not a complete backup: %w", path, err)
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
			return m, fmt.Errorf("its file %s has %d bytes, more than the free disk space: use another disk, or "+
				"free some space", head.Name, head.Size)
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
		return f, fmt.Errorf("its file %q does not belong to a backup", head.Name)
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
		return m, fmt.Errorf("it has format %d, but this version reads %d: use the version that wrote it, %s", m.Format,
			format, m.Version)
	}
	if len(found) != len(m.Files) {
		return m, fmt.Errorf("it has %d files, but its manifest lists %d", len(found), len(m.Files))
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

// counter reports the number of bytes that are written to it.
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
