package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/must"
)

// TestSecurityPage checks that the tests which docs/security-evidence.md names exist.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../docs/security-evidence.md"))(t)
	named := regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 100 {
		t.Errorf("got %d tests, want about a hundred: this test looks for another form", len(named))
	}
	for _, name := range named {
		if !strings.Contains(testsOf(t, name[1]), "\nfunc "+name[2]+"(") {
			t.Errorf("%s.%s does not exist", name[1], name[2])
		}
	}
}

// testsOf returns the tests of a package, as text.
func testsOf(t *testing.T, name string) string {
	t.Helper()
	if !strings.HasPrefix(name, "cmd/") {
		name = "internal/" + name
	}
	files, err := filepath.Glob("../" + name + "/*_test.go")
	must.Do(t, err)
	var all strings.Builder
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		all.Write(text)
	}
	return all.String()
}
