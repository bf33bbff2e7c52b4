package reconcile

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxPacked   = 1 << 30 // bytes of a piped file in a format that needs random access
	maxUnpacked = 8 << 30 // total bytes of unpacked files
	maxNested   = 3       // levels of nested files
	maxEntries  = 1000    // files per archive
)

// These are the first bytes of file formats.
const (
	magicGzip    = "\x1f\x8b"
	magicZip     = "PK\x03\x04"
	magicNoFiles = "PK\x05\x06" // an empty archive
	magicParquet = "PAR1"
	magicLittle  = "\xff\xfe" // UTF-16
	magicBig     = "\xfe\xff"
)

// unpack detects the format of a file and reads it. Nested is its nesting level.
func (r *billReader) unpack(file io.Reader, nested int) error {
	if nested > maxNested {
		return fmt.Errorf("files are nested more than %d levels deep: unpack them first", maxNested)
	}
	in := bufio.NewReader(file)
	start, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	begins := func(magic string) bool { return strings.HasPrefix(string(start), magic) }
	switch {
	case begins(magicGzip):
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("the file looks like gzip but cannot be read: %w", err)
		}
		return r.unpack(&bounded{unzipped, &r.left}, nested+1)
	case begins(magicZip), begins(magicNoFiles):
		return withSize(file, in, func(file io.ReaderAt, size int64) error { return r.readZip(file, size, nested) })
	case begins(magicParquet):
		return withSize(file, in, r.readParquet)
	case begins(magicLittle), begins(magicBig):
		return r.readCSV(&utf16Reader{in: in, big: begins(magicBig)})
	}
	return r.readCSV(in)
}

// readZip reads all files of an archive.
func (r *billReader) readZip(file io.ReaderAt, size int64, nested int) error {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("the file looks like zip but cannot be read: %w", err)
	}
	if len(archive.File) > maxEntries {
		return fmt.Errorf("the archive has more than %d files", maxEntries)
	}
	found := false
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() || strings.HasPrefix(entry.Name, "__MACOSX/") {
			continue
		}
		found = true
		if err := r.readEntry(entry, nested); err != nil {
			return fmt.Errorf("%.100q in the archive: %w", entry.Name, err)
		}
	}
	if !found {
		return errors.New("the archive has no file")
	}
	return nil
}

func (r *billReader) readEntry(entry *zip.File, nested int) error {
	opened, err := entry.Open()
	if err != nil {
		return err
	}
	defer opened.Close() //nolint:errcheck // it was only read
	return r.unpack(&bounded{opened, &r.left}, nested+1)
}

// bounded limits the total bytes of several readers.
type bounded struct {
	in   io.Reader
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.left <= 0 {
		return 0, fmt.Errorf("the archive unpacks to more than %d bytes: "+
			"unpack it, and give only the files of the bill", int64(maxUnpacked))
	}
	n, err := b.in.Read(p[:min(int64(len(p)), *b.left)])
	*b.left -= int64(n)
	return n, err
}

// withSize calls fn with a file that supports random access: the file itself if it is a regular file, else a temporary
// copy of rest.
func withSize(file io.Reader, rest io.Reader, fn func(io.ReaderAt, int64) error) error {
	if f, ok := file.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return fn(f, info.Size())
		}
	}
	copied, err := os.CreateTemp("", "weir-bill-")
	if err != nil {
		return err
	}
	defer func() {
		_ = copied.Close() // the temporary copy is removed
		_ = os.Remove(copied.Name())
	}()
	size, err := io.Copy(copied, io.LimitReader(rest, maxPacked+1))
	if err == nil && size > maxPacked {
		err = fmt.Errorf("the input has more than %d bytes: save it as a file first", maxPacked)
	}
	if err != nil {
		return err
	}
	return fn(copied, size)
}

// utf16Reader converts UTF-16 to UTF-8 and removes byte order marks.
type utf16Reader struct {
	in   *bufio.Reader
	big  bool
	text []byte // not returned yet
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.text) == 0 {
		c, err := u.unit()
		if err != nil {
			return 0, err
		}
		if utf16.IsSurrogate(c) {
			low, err := u.unit()
			if err != nil {
				return 0, err
			}
			c = utf16.DecodeRune(c, low)
		}
		if c != '\ufeff' {
			u.text = utf8.AppendRune(u.text[:0], c)
		}
	}
	n := copy(p, u.text)
	u.text = u.text[n:]
	return n, nil
}

func (u *utf16Reader) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(u.in, b[:]); err != nil {
		return 0, err
	}
	if u.big {
		return rune(b[0])<<8 | rune(b[1]), nil
	}
	return rune(b[1])<<8 | rune(b[0]), nil
}
