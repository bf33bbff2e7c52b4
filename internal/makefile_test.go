package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	for _, name := range namesIn(t, "AT_ONCE") {
		if !there[name] {
			t.Errorf("AT_ONCE in the Makefile has %s, and Test%s does not exist", name, name)
		}
	}
}

// TestMakefileNamesConformanceTests holds the same of the store's conformance tests which it races or runs with servers
// whose clocks are wrong.
func TestMakefileNamesConformanceTests(t *testing.T) {
	t.Parallel()
	text := string(must.Get(os.ReadFile("store/storetest/storetest.go"))(t))
	there := regexp.MustCompile(`\{"(\w+)", test`).FindAllStringSubmatch(text, -1)
	for _, list := range []string{"CONFORMANCE", "TIMED"} {
		for _, pattern := range namesIn(t, list) {
			is := regexp.MustCompile("^" + pattern + "$")
			if !slices.ContainsFunc(there, func(m []string) bool { return is.MatchString(m[1]) }) {
				t.Errorf("%s in the Makefile has %s, and no conformance test has such a name", list, pattern)
			}
		}
	}
}

// namesIn returns the names of a list in the Makefile.
func namesIn(t *testing.T, list string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + list + ` := ((?:.*\\\n)*.*)$`).FindStringSubmatch(string(must.Get(os.ReadFile("../Makefile"))(t)))
	must.Equal(t, len(found), 2, "%s in the Makefile, and its names", list)
	return strings.Fields(strings.ReplaceAll(found[1], "\\\n", " "))
}
