package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadKeys reads a file with one key a line. A missing file has no keys.
func ReadKeys(path string) (keys []Key, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := ParseKey(line)
		if err != nil {
			return nil, fmt.Errorf("%s has a line that is %w", path, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// WriteKeys writes the keys to path, synced to the disk and with the permissions of the file that is there. place is
// os.Rename to replace that file, or os.Link to keep it.
func WriteKeys(path string, keys []Key, place func(from, to string) error) error {
	var text strings.Builder
	text.WriteString(
		"# Secrets in the database are sealed with the first of these keys. Without it they are lost: keep a copy.\n")
	for _, k := range keys {
		text.WriteString(k.Text().Reveal() + "\n")
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // readable by its owner only
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	if err == nil {
		err = readableAs(f, path)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place(f.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if rest := os.Remove(f.Name()); !errors.Is(rest, fs.ErrNotExist) {
		err = errors.Join(err, rest)
	}
	return err
}

// readableAs gives f the permissions of the file that it will replace. A first file belongs to its creator; if root
// creates it, it belongs to the owner of the directory, which is the gateway's user.
func readableAs(f *os.File, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist) && os.Geteuid() == 0:
		info, err = os.Stat(filepath.Dir(path))
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	if err != nil {
		return err
	}
	return giveAs(f, info)
}

// syncDir syncs a directory, so that its new entries survive a power cut.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
