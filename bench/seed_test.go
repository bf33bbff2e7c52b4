package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/refusal"
	"weir/internal/store"
)

// TestSeedContinuesAfterInterruption seeds a small year with a command that is interrupted and run again: the data is
// complete, and every sum agrees with the rows.
func TestSeedContinuesAfterInterruption(t *testing.T) {
	t.Parallel()
	dir := relativeDir(t)
	args := []string{"--data", dir, "--requests", "20000", "--rows", "5000", "--days", "8", "--accounts", "20", "--end", "2026-12-01"}
	ctx, cancel := context.WithCancel(t.Context())
	broken := breaker{cancel, new(int)}
	if err := seedCommand(ctx, args, io.Discard, broken); err == nil {
		t.Error("the seeding that is broken off: got no error")
	}
	for range 2 { // the second time nothing is left to do
		must.Do(t, seedCommand(t.Context(), args, io.Discard, io.Discard))
	}
	s := openSeeded(t, dir)
	v, err := s.Ledger.Verify(t.Context(), nil)
	if err != nil || len(v.Differences) > 0 || v.Rows != 5000 {
		t.Errorf("verify: got %d rows, %d differences, %v; want 5000 and none", v.Rows, len(v.Differences), err)
	}
	if err := seedCommand(t.Context(), append(args, "--days", "9"), io.Discard, io.Discard); !errors.Is(err, errOther) {
		t.Errorf("another shape: got %v, want %v", err, errOther)
	}
	if err := reportsCommand(t.Context(), []string{"--data", dir, "--rounds", "1", "--end", "2026-12-01"}, io.Discard, io.Discard); err != nil {
		t.Errorf("reports: %v", err)
	}
}

// relativeDir returns an empty directory by a path without a leading slash.
func relativeDir(t *testing.T) string {
	t.Helper()
	here := must.Get(os.Getwd())(t)
	return must.Get(filepath.Rel(here, t.TempDir()))(t)
}

// TestSeedContinuesBehindItsEnd seeds a database twice, the second time up to a later time: rows and refused requests
// continue at the same rate, and a third run adds nothing.
func TestSeedContinuesBehindItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	end := time.Now().UTC().Add(-4 * time.Hour).Truncate(time.Hour)
	args := []string{
		"--data", dir, "--requests", "4800", "--rows", "4800", "--days", "2", "--accounts", "20", "--refusals", "720",
		"--end", end.Format(time.RFC3339),
	}
	later := append(slices.Clone(args), "--until", end.Add(2*time.Hour).Format(time.RFC3339))
	for _, args := range [][]string{args, later, later} {
		must.Do(t, seedCommand(t.Context(), args, io.Discard, io.Discard))
	}
	s := openSeeded(t, dir)
	v := must.Get(s.Ledger.Verify(t.Context(), nil))(t)
	must.Equal(t, v.Rows, int64(5000), "rows")
	for _, c := range []struct {
		from time.Time
		want int
	}{{end.Add(-time.Hour), 1 + 2}, {end, 2}, {end.Add(2 * time.Hour), 0}} {
		r := must.Get(s.Refusals.Read(t.Context(), refusal.Query{
			All: true, From: c.from, By: []refusal.Group{refusal.ByMinute, refusal.ByKey, refusal.ByModel},
		}))(t)
		must.Equal(t, len(r.Sums), c.want, "counts from %v", c.from)
	}
}

// breaker is a terminal that interrupts the command after three lines.
type breaker struct {
	cancel context.CancelFunc
	lines  *int
}

func (b breaker) Write(p []byte) (int, error) {
	if *b.lines++; *b.lines == 3 {
		b.cancel()
	}
	return len(p), nil
}

func openSeeded(t *testing.T, dir string) *store.DB {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "weir.db")})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSeedRefuses checks that other data is not changed.
func TestSeedRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSeeded(t, dir)
	must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "theirs", Name: "theirs"}))
	args := []string{"--data", dir, "--requests", "10", "--rows", "5", "--days", "3", "--accounts", "2"}
	if err := seedCommand(t.Context(), args, io.Discard, io.Discard); !errors.Is(err, errOther) {
		t.Errorf("got %v, want %v", err, errOther)
	}
	if list, err := s.Accounts.List(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("got %d accounts, %v; want one", len(list), err)
	}
}
