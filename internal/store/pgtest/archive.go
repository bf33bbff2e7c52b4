package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Archive makes the server copy each finished segment of its log to a directory of its own (continuous archiving,
// https://www.postgresql.org/docs/15/continuous-archiving.html), which restarts it, and makes a base backup.
func (s *Server) Archive(ctx context.Context) error {
	err := os.Mkdir(s.archive(), 0o700)
	if err == nil {
		err = giveAway(s.archive())
	}
	if err == nil {
		err = s.set(ctx, "archive_mode", "on")
	}
	if err == nil {
		err = s.set(ctx, "archive_command", fmt.Sprintf("cp %%p %s/%%f", s.archive()))
	}
	if err == nil {
		err = s.Down()
	}
	if err == nil {
		err = s.Up()
	}
	if err != nil {
		return err
	}
	return s.run("pg_basebackup", "-D", s.base(), "--checkpoint=fast", "--no-sync", "-d", s.plainURL("postgres"))
}

// Lose kills the server and removes its data, like a lost disk.
func (s *Server) Lose() error { return errors.Join(s.Kill(), os.RemoveAll(s.data())) }

// Restore starts a lost server from its base backup and its archived log, and waits until it accepts writes.
func (s *Server) Restore(ctx context.Context) error {
	if err := os.Rename(s.base(), s.data()); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "restore_command = 'cp %s/%%f %%p'\narchive_mode = 'off'\n", s.archive())
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	signal := filepath.Join(s.data(), "recovery.signal")
	if err := errors.Join(os.WriteFile(signal, nil, 0o600), giveAway(signal)); err != nil {
		return err
	}
	if err := s.Up(); err != nil {
		return err
	}
	for limit := time.Now().Add(startLimit); ; time.Sleep(poll) {
		rows, err := s.Query(ctx, "postgres", "SELECT pg_is_in_recovery()")
		if err == nil && rows[0][0] == "f" {
			return nil
		}
		if time.Now().After(limit) {
			return errors.Join(errors.New("the recovery does not end"), err)
		}
	}
}

func (s *Server) set(ctx context.Context, name, value string) error {
	return s.Exec(ctx, "postgres", fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value))
}

func (s *Server) archive() string { return filepath.Join(s.dir, "archive") }

func (s *Server) base() string { return filepath.Join(s.dir, "base") }
