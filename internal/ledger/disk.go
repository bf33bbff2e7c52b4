package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weir/internal/disk"
	"weir/internal/rawio"
)

// Disk is the directory that stores a journal. The simulation test has a second implementation, which loses writes that
// were not synced.
type Disk interface {
	// List returns the names of the files, in no particular order.
	List() ([]string, error)
	// Create makes a zeroed file of the given size, reserves its space and makes its name durable. It fails and leaves
	// no file if the space cannot be reserved or if fewer than keep bytes would stay free on the disk.
	Create(name string, size, keep int64) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Truncate cuts a file down to size.
	Truncate(name string, size int64) error
	// Remove deletes a file.
	Remove(name string) error
}

// File is one segment on a Disk.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync makes all writes survive a power failure.
	Sync() error
	Close() error
}

// Directory implements Disk on a directory of the file system.
type Directory string

// List names the files of the directory.
func (d Directory) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Create makes a file with reserved space, which only its owner can read.
func (d Directory) Create(name string, size, keep int64) (File, error) {
	if err := d.checkFree(size, keep); err != nil {
		return nil, err
	}
	path := filepath.Join(string(d), name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = reserve(f, size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.sync()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserve %d bytes for %s: %w", size, path, err), f.Close(), os.Remove(path))
	}
	return rawio.NewFile(f), nil
}

// Open opens a file for reading.
func (d Directory) Open(name string) (File, error) {
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return nil, err
	}
	return rawio.NewFile(f), nil
}

// Truncate cuts a file down to size.
func (d Directory) Truncate(name string, size int64) error {
	return os.Truncate(filepath.Join(string(d), name), size)
}

// Remove deletes a file.
func (d Directory) Remove(name string) error {
	return os.Remove(filepath.Join(string(d), name))
}

// checkFree returns an error if fewer than keep bytes would stay free after size bytes are reserved.
func (d Directory) checkFree(size, keep int64) error {
	if keep == 0 {
		return nil
	}
	free, err := disk.Free(string(d))
	if err != nil {
		return fmt.Errorf("query the free space of the journal's disk: %w", err)
	}
	if free < size+keep {
		return fmt.Errorf("the journal's disk has %d MiB free and needs %d, so that operators can still work: "+
			"free some space, or move the data directory to a larger disk", free>>20, (size+keep)>>20)
	}
	return nil
}

// sync makes the directory's own entries durable.
func (d Directory) sync() error {
	dir, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// fillZeros reserves space on file systems that cannot do it in one call.
func fillZeros(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}
