package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/store"
)

// journalNames returns the directory names of journals. A data directory has one journal, or two while a gateway
// takes over from another one, which still settles its requests.
func journalNames() []string { return []string{"journal", "journal-2"} }

// journalDirs returns the directories of the existing journals.
func journalDirs(data string) (dirs []string) {
	for _, name := range journalNames() {
		dir := filepath.Join(data, name)
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

const (
	// journalWait bounds how long a gateway that takes over waits for a free journal: the other gateway may still
	// read the journal of an earlier one.
	journalWait  = 20 * time.Second
	journalRetry = 50 * time.Millisecond
)

// awaitJournal calls ownJournal, and repeats the call while a takeover has to wait for a free journal.
func awaitJournal(ctx context.Context, data string, takeover bool) (dir string, err error) {
	ctx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	tick := time.NewTicker(journalRetry)
	defer tick.Stop()
	for {
		if dir, err = ownJournal(data, takeover); err == nil || !takeover {
			return dir, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-tick.C:
		}
	}
}

// ownJournal returns the directory for the journal of a starting gateway. It fails if another gateway runs, except
// during a takeover.
func ownJournal(data string, takeover bool) (string, error) {
	own, running := "", 0
	for _, name := range journalNames() {
		dir := filepath.Join(data, name)
		held, err := ledger.Held(dir)
		if err != nil {
			return "", err
		}
		_, missing := os.Stat(dir)
		switch {
		case held:
			running++
		case own == "", missing == nil && !exists(own): // prefer an existing journal to a new one
			own = dir
		}
	}
	switch {
	case own == "":
		return "", fmt.Errorf("a takeover on %s is not finished: wait until the first gateway has stopped", data)
	case running > 0 && !takeover:
		return "", fmt.Errorf("another weir serve runs on %s: stop it first, take over from it with --takeover, "+
			"or use "+
			"another data directory", data)
	}
	return own, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// adoptEvery is the interval for checking whether the former gateway has ended.
const adoptEvery = 2 * time.Second

// adoptOthers settles the open attempts in the journal of a former gateway, once that has ended. The journal remains
// for the next takeover.
func (g *instance) adoptOthers(ctx context.Context) {
	look := time.NewTicker(adoptEvery)
	defer look.Stop()
	for _, dir := range journalDirs(g.options.Config.Data) {
		for done := dir == g.journal; !done; {
			held, err := ledger.Held(dir)
			if err == nil && !held {
				err = replay(ctx, g.store, dir, g.options.Log)
				done = err == nil
			}
			if err != nil && ctx.Err() == nil {
				g.options.Log.Error("the journal of an earlier gateway could not be read; "+
					"retrying", "journal", dir, "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
		}
	}
}

// replay writes a journal to the database, and settles its open attempts as unknown.
func replay(ctx context.Context, db *store.DB, dir string, log *slog.Logger) error {
	id, ok, err := ledger.Identity(dir)
	if err != nil || !ok {
		return err
	}
	l, err := ledger.New(ctx, ledger.Options{
		Dir: dir, Store: db.Ledger, Leases: db.Leases, Now: time.Now, SharedNow: db.Now, Log: log,
	})
	if err != nil {
		return fmt.Errorf("open the journal %s: %w", dir, err)
	}
	if err := l.Close(ctx); err != nil {
		return fmt.Errorf("write the journal %s to the database: %w", dir, err)
	}
	if lost := l.Lost(); lost > 0 {
		return fmt.Errorf("%d bytes of the journal %s cannot be read", lost, dir)
	}
	_, err = db.Kept.IdempotencyRelease(ctx, id.String(), uuid.NewString())
	return err
}
