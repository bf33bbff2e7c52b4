package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Target stores backups. Names contain slashes; lists are sorted by name.
type Target interface {
	// Put writes a file of that size. It replaces a file with that name. An incomplete file is never visible.
	Put(ctx context.Context, name string, from io.Reader, size int64) error
	// Get opens a file for reading.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the names of the files with that prefix.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove deletes a file.
	Remove(ctx context.Context, name string) error
}

// BucketOptions describes the access to an S3-compatible bucket. Empty fields are read from AWS's environment
// variables (https://docs.aws.amazon.com/cli/v1/userguide/cli-configure-envvars.html).
type BucketOptions struct {
	Endpoint        string // http:// or https:// and host; empty for AWS
	Region          string
	AccessKeyID     string
	SecretAccessKey llm.Secret
	Proxy           llm.Secret // see outbound.ParseProxy
	CAFile          string     // see outbound.Certificates
}

// OpenTarget opens a directory, or a bucket if where starts with s3://.
func OpenTarget(where string, o BucketOptions) (Target, error) {
	rest, isBucket := strings.CutPrefix(where, "s3://")
	if !isBucket {
		return Directory(where), nil
	}
	name, prefix, _ := strings.Cut(rest, "/")
	return newBucket(name, strings.Trim(prefix, "/"), &o)
}

// Directory is a Target in the file system.
type Directory string

func (d Directory) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// Put writes a temporary file, and renames it after syncing it to the disk.
func (d Directory) Put(_ context.Context, name string, from io.Reader, size int64) error {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, from)
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes, not %d", name, n, size)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+partSuffix))
	}
	return os.Rename(path+partSuffix, path)
}

// Get opens a file.
func (d Directory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

// List walks the directory.
func (d Directory) List(_ context.Context, prefix string) (names []string, err error) {
	err = filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(string(d), path)
		name = filepath.ToSlash(name)
		if strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, partSuffix) {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Remove deletes a file.
func (d Directory) Remove(_ context.Context, name string) error { return os.Remove(d.path(name)) }
