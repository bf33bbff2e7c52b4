package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weir/internal/disk"
)

// DirNames returns the directory names of journals. A data directory has one journal, or two while a gateway
// takes over from another one, which still settles its requests.
func DirNames() []string { return []string{"journal", "journal-2"} }

// Dirs returns the directories of the existing journals.
func Dirs(data string) (dirs []string) {
	for _, name := range DirNames() {
		if dir := filepath.Join(data, name); disk.Exists(dir) {
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

// AwaitDir calls OwnDir, and repeats the call while a takeover has to wait for a free journal.
func AwaitDir(ctx context.Context, data string, takeover bool) (dir string, err error) {
	ctx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	tick := time.NewTicker(journalRetry)
	defer tick.Stop()
	for {
		if dir, err = OwnDir(data, takeover); err == nil || !takeover {
			return dir, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-tick.C:
		}
	}
}

// OwnDir returns the directory for the journal of a starting gateway. It fails if another gateway runs, except
// during a takeover.
func OwnDir(data string, takeover bool) (string, error) {
	own, running := "", 0
	for _, name := range DirNames() {
		dir := filepath.Join(data, name)
		held, err := Held(dir)
		if err != nil {
			return "", err
		}
		_, missing := os.Stat(dir)
		switch {
		case held:
			running++
		case own == "", missing == nil && !disk.Exists(own): // prefer an existing journal to a new one
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
