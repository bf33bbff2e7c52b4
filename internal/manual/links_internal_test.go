package manual

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"weir"
	"weir/internal/must"
)

// repository is the path of the repository's root.
const repository = "../.."

// TestLinksLeadToHeadings checks that each link and picture of a document, and of README.md, leads to a file of the
// repository and, with a fragment, to a heading of it.
func TestLinksLeadToHeadings(t *testing.T) {
	t.Parallel()
	trees := map[string]*tree{"README.md": parse(must.Get(os.ReadFile(filepath.Join(repository, "README.md")))(t))}
	must.Do(t, fs.WalkDir(weir.Documents, ".", func(file string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(file) == ".md" {
			trees[file] = parse(must.Get(fs.ReadFile(weir.Documents, file))(t))
		}
		return err
	}))
	count := 0
	for file, tr := range trees {
		check := func(to []byte) {
			count++
			checkLink(t, trees, file, string(to))
		}
		walk(tr, func(n *ast.Link) { check(n.Destination) })
		walk(tr, func(n *ast.Image) { check(n.Destination) })
	}
	if count < 300 {
		t.Errorf("got %d links, want some hundred", count)
	}
}

func checkLink(t *testing.T, trees map[string]*tree, file, to string) {
	t.Helper()
	if strings.Contains(to, ":") || strings.HasPrefix(to, "/") {
		return
	}
	name, fragment, _ := strings.Cut(to, "#")
	target := file
	if name != "" {
		target = path.Join(path.Dir(file), name)
	}
	if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
		t.Errorf("%s links to %s: %v", file, to, err)
		return
	}
	if fragment == "" {
		return
	}
	linked, ok := trees[target]
	if !ok {
		t.Errorf("%s links to %s, which is not a document with headings", file, to)
		return
	}
	found := false
	walk(linked, func(h *ast.Heading) { found = found || id(h) == fragment })
	if !found {
		t.Errorf("%s links to %s, and the heading does not exist", file, to)
	}
}

// TestSlugsMatchGitHub checks that headings have the same ids as at GitHub.
func TestSlugsMatchGitHub(t *testing.T) {
	t.Parallel()
	tr := parse([]byte("# `POST /v1/chat`\n## Übung: a_b – c!\n## Same\n## Same\n## [A *link*](x.md) \\& more\n"))
	var got []string
	walk(tr, func(h *ast.Heading) { got = append(got, id(h)) })
	want := []string{"post-v1chat", "übung-a_b--c", "same", "same-1", "a-link--more"}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got ids %q, want %q", got, want)
	}
}
