package pgtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// initialise makes the server's data directory. What initdb made once is kept in the user's cache directory and
// copied: initdb takes a second of a processor, and CI starts some fifty servers.
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
	_ = keep(s.data(), kept) // initdb makes what is not kept again
	return nil
}

// initdb makes the data directory anew.
func (s *Server) initdb() error {
	args := []string{"-D", s.data(), "-U", user, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"}
	// A linguistic order of text by default, where the build has one: whoever needs another says so.
	if s.run("initdb", append(args, "--locale-provider=icu", "--icu-locale=en")...) == nil {
		return nil
	}
	return s.run("initdb", args...)
}

// keptCluster is where the data directory that this initdb made is kept; empty for nowhere. Servers whose clock is
// wrong have an initdb of their own, whose clock is wrong as well.
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

// keep copies a data directory to where all of it is seen at once or nothing.
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
		err = os.Rename(filepath.Join(dir, "data"), kept) // fails where another was faster
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// copyTree copies directories and files, which are for their owner alone, and gives each to its owner.
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
