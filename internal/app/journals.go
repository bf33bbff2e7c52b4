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

// A data directory has one journal, or two while a gateway takes over from another one, which still settles what it has
// begun.
func journalNames() []string { return []string{"journal", "journal-2"} }

// journalDirs are the directories of the journals that there are.
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
	// journalWait is how long a gateway that takes over waits for a journal of its own: the one that it takes over from
	// may still read that of an earlier one.
	journalWait  = 20 * time.Second
	journalRetry = 50 * time.Millisecond
)

// awaitJournal is ownJournal, which is asked again while two gateways are at work and one is to be taken over.
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

// ownJournal is the directory for the journal of a gateway that starts. It is an error where another one runs, but for
// one that is taken over.
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
		case own == "", missing == nil && !exists(own): // one that is there before one that is to be made
			own = dir
		}
	}
	switch {
	case own == "":
		return "", fmt.Errorf("two gateways run on %s: one takes over from the other; wait until the first has stopped", data)
	case running > 0 && !takeover:
		return "", fmt.Errorf("another weir serve runs on %s: stop it first, take over from it with --takeover, or give this "+
			"one another data directory", data)
	}
	return own, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// adoptEvery is how often it is looked whether the gateway that was taken over has ended.
const adoptEvery = 2 * time.Second

// adoptOthers settles what an earlier gateway left open in the other journal, once it has ended. The journal stays, for
// the next one that takes over.
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
				g.options.Log.Error("the journal of an earlier gateway could not be read; it is tried again", "journal", dir, "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
		}
	}
}

// replay writes a journal to the database, and settles what it left open as unknown.
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
