package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/must"
)

// TestMakefileNamesTests checks that each test that the Makefile races exists: a renamed one would silently no longer
// be raced.
func TestMakefileNamesTests(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func Test(\w+)\(`)
	must.Do(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range declared.FindAllSubmatch(must.Get(os.ReadFile(path))(t), -1) {
			there[string(m[1])] = true
		}
		return nil
	}))
	list := regexp.MustCompile(`(?m)^AT_ONCE := ((?:.*\\\n)*.*)$`)
	found := list.FindStringSubmatch(string(must.Get(os.ReadFile("../Makefile"))(t)))
	must.Equal(t, len(found), 2, "AT_ONCE in the Makefile, and its names")
	for name := range strings.FieldsSeq(strings.ReplaceAll(found[1], "\\\n", " ")) {
		if !there[name] {
			t.Errorf("AT_ONCE in the Makefile has %s, and Test%s does not exist", name, name)
		}
	}
}
