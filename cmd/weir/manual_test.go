package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"weir/internal/must"
)

// TestEachCommandHasManualPage checks that each command has a page with the content of its help, which groff reads
// without a warning.
func TestEachCommandHasManualPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	must.Do(t, execute(t.TempDir(), "manual", dir))
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("there is no groff: how it reads the pages is left out")
	}
	everyCommand(newRoot(&environment{}), func(c *cobra.Command) {
		file := filepath.Join(dir, pageName(c)+".1")
		page := string(must.Get(os.ReadFile(file))(t))
		for _, want := range []string{".SH NAME\n" + roff(pageName(c)) + ` \- `, ".SH SYNOPSIS\n", ".SH EXAMPLES\n"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q:\n%s", c.CommandPath(), want, page)
			}
		}
		if groff == "" {
			return
		}
		out, err := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Tutf8", "-P-c", file).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("warning:")) {
			t.Errorf("groff of the page of %s: %v: %s", c.CommandPath(), err, out)
		}
	})
}

// TestRoffIsEscaped checks texts that man(7) would read as a macro or an escape.
func TestRoffIsEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a-b":          `a\-b`,
		`\n`:           `\en`,
		".weir\n.data": "\\&.weir\n\\&.data",
		"'openai/*'":   `\(aqopenai/*\(aq`,
		`say "x"`:      `say \(dqx\(dq`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
