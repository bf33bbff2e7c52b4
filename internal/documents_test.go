package internal_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
)

// TestMetricsAreDocumented compares the table of docs/operations.md with the metrics in the code.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	inCode, inTable := map[string]bool{}, map[string]bool{}
	literal := regexp.MustCompile(`"(weir_[a-z_]+)"`)
	must.Do(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || isTestSupport("weir/internal/"+filepath.ToSlash(filepath.Dir(path))) {
			return err
		}
		for _, m := range literal.FindAllSubmatch(must.Get(os.ReadFile(path))(t), -1) {
			inCode[string(m[1])] = true
		}
		return nil
	}))
	page := must.Get(os.ReadFile("../docs/operations.md"))(t)
	for line := range strings.Lines(string(page)) {
		if first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "| `weir_") {
			for _, m := range regexp.MustCompile("`(weir_[a-z_]+)`").FindAllStringSubmatch(first, -1) {
				inTable[m[1]] = true
			}
		}
	}
	if len(inCode) < 30 {
		t.Errorf("got %d metrics in the code, want more: this test looks for another form", len(inCode))
	}
	for _, name := range slices.Sorted(maps.Keys(inCode)) {
		if !inTable[name] {
			t.Errorf("%s is not in the table of docs/operations.md", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inTable)) {
		if !inCode[name] {
			t.Errorf("docs/operations.md has %s, which is not a metric", name)
		}
	}
}

// TestErrorsAreDocumented compares the headings of docs/troubleshooting.md with the codes of errors and their statuses.
func TestErrorsAreDocumented(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../docs/troubleshooting.md"))(t)
	code := must.Get(os.ReadFile("llm/error.go"))(t)
	codes := regexp.MustCompile(`(?m)^\tCode\w+ +Code = "([A-Z_]+)"$`).FindAllSubmatch(code, -1)
	if len(codes) < 10 {
		t.Fatalf("got %d codes, want more: this test looks for another form", len(codes))
	}
	for _, m := range codes {
		heading := fmt.Sprintf("\n### %d %s\n", llm.Code(m[1]).Status(), m[1])
		if !bytes.Contains(page, []byte(heading)) {
			t.Errorf("docs/troubleshooting.md has no heading %q", heading)
		}
	}
	if n := len(regexp.MustCompile(`(?m)^### \d{3} `).FindAll(page, -1)); n != len(codes) {
		t.Errorf("docs/troubleshooting.md has %d codes, want the %d of the errors", n, len(codes))
	}
}

// TestActionsAreDocumented checks that docs/audit.md lists every action of the audit log, and no other.
func TestActionsAreDocumented(t *testing.T) {
	t.Parallel()
	code := must.Get(os.ReadFile("audit/audit.go"))(t)
	actions := regexp.MustCompile(`(?m)^\t\w+ +Action = "([a-z_.]+)"`).FindAllSubmatch(code, -1)
	if len(actions) < 40 {
		t.Fatalf("got %d actions, want at least 40: this test looks for another form", len(actions))
	}
	_, list, _ := strings.Cut(string(must.Get(os.ReadFile("../docs/audit.md"))(t)), "\n## Actions\n")
	list, _, _ = strings.Cut(list, "\n## ")
	for _, m := range actions {
		if !strings.Contains(list, "`"+string(m[1])+"`") {
			t.Errorf("docs/audit.md does not list the action %s", m[1])
		}
	}
	if got := len(regexp.MustCompile("`[a-z_]+\\.[a-z_]+`").FindAllString(list, -1)); got != len(actions) {
		t.Errorf("docs/audit.md lists %d actions, want the %d of the code", got, len(actions))
	}
}

// TestLinesOfPagesAreFilled checks that no page has a short line within a paragraph, as a bad reflow leaves it: a line
// of less than 60 characters after one of more than 100, to which the next word would have fitted.
func TestLinesOfPagesAreFilled(t *testing.T) {
	t.Parallel()
	notText := regexp.MustCompile("^\\s*($|[|#>]|[-*] |[0-9]+\\. |```|<!--)")
	must.Do(t, filepath.WalkDir("../docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		lines, inCode := strings.Split(string(must.Get(os.ReadFile(path))(t)), "\n"), false
		for i, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inCode = !inCode
			}
			if inCode || i == 0 || i == len(lines)-1 || notText.MatchString(line) || notText.MatchString(lines[i+1]) {
				continue
			}
			word, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			if len(line) < 60 && len(lines[i-1]) > 100 && len(line)+len(word) < 100 {
				t.Errorf("%s:%d ends after %q: join it with the next line", path, i+1, strings.TrimSpace(line))
			}
		}
		return nil
	}))
}
