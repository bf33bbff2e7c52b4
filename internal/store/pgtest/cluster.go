package pgtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// initialise makes the server's data directory. It copies one that initdb has made before, from the user's cache
// directory: initdb takes a second of processor time, and CI starts about fifty servers.
func (s *Server) initialise() error {
	kept := s.keptCluster()
	if kept == "" {
		return s.initdb()
	}
	if _, err := os.Stat(kept); err == nil {
		return copyTree(kept, s.data(), giveAway)
	}
	if err := s.initdb(); err != nil {
		return err
	}
	_ = keep(s.data(), kept) // without a copy, initdb runs again
	return nil
}

// initdb makes the data directory with initdb.
func (s *Server) initdb() error {
	args := []string{"-D", s.data(), "-U", user, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"}
	// A linguistic default collation, if the build has one; tests that need another one set it.
	if s.run("initdb", append(args, "--locale-provider=icu", "--icu-locale=en")...) == nil {
		return nil
	}
	return s.run("initdb", args...)
}

// keptCluster returns the directory with the copy of what this initdb made; empty for none. A server with a wrong
// clock runs initdb itself, with that clock.
func (s *Server) keptCluster() string {
	cache, err := os.UserCacheDir()
	if err != nil || s.clock != nil {
		return ""
	}
	program := filepath.Join(s.bin, "initdb")
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	id := sha256.Sum256(fmt.Append(nil, program, info.Size(), info.ModTime().UnixNano()))
	return filepath.Join(cache, "weir-test", fmt.Sprintf("postgres-%x", id[:8]))
}

// keep copies a data directory atomically.
func keep(data, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(kept), "new-")
	if err != nil {
		return err
	}
	err = copyTree(data, filepath.Join(dir, "data"), func(string) error { return nil })
	if err == nil {
		err = os.Rename(filepath.Join(dir, "data"), kept) // fails if another process was faster
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// copyTree copies directories and files, with permissions for their owner only, and sets the owner of each with give.
func copyTree(from, to string, give func(path string) error) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			err = os.Mkdir(target, 0o700)
		} else {
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(target, text, 0o600)
			}
		}
		return errors.Join(err, give(target))
	})
}
