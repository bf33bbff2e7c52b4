package admin

import (
	"os"
	"path/filepath"
	"testing"

	"weir/internal/backup"
	"weir/internal/must"
)

// TestRestoreRefusesOtherFiles checks that a backup with foreign files or journals is refused.
func TestRestoreRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, journal string
		good          bool
	}{
		{databaseFile, "journal", true},
		{secretsFile, "journal-2", true},
		{"journal/00000001.log", "journal", true},
		{"weir.yaml", "journal", false},
		{"acme/x", "journal", false},
		{databaseFile, "../journal", false},
		{databaseFile, "acme", false},
	} {
		dir := t.TempDir()
		from, path := filepath.Join(dir, "file"), filepath.Join(dir, "a.backup")
		must.Do(t, os.WriteFile(from, []byte("x"), 0o600))
		w := must.Get(backup.Create(path))(t)
		must.Do(t, w.Add(test.file, from, nil))
		must.Get(w.Finish(backup.Manifest{Journals: []backup.Journal{{ID: "id", Dir: test.journal}}}))(t)
		if _, err := extract(path, filepath.Join(dir, "to"), &RestoreOptions{}); (err == nil) != test.good {
			t.Errorf("%s, journal in %s: got %v, want it accepted: %t", test.file, test.journal, err, test.good)
		}
	}
}
