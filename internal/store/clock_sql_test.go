package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/internal/must"
)

// serverClock finds the functions by which SQL reads the database's clock, in the words of both engines.
var serverClock = regexp.MustCompile(`(?i)\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|age|unixepoch|julianday|datetime|strftime)\s*\(|` +
	`\b(current_(timestamp|date|time)|localtime(stamp)?)\b`)

// TestOneStatementReadsTheClock holds that one statement alone reads the database's clock, the one of clock: every other
// one has its times from there, so that a server's wrong clock is wrong for all or for none.
func TestOneStatementReadsTheClock(t *testing.T) {
	t.Parallel()
	var found []string
	must.Do(t, fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		switch {
		case err != nil || strings.HasSuffix(path, "_test.go"):
		case strings.HasSuffix(path, ".sql"):
			sql := regexp.MustCompile(`--.*`).ReplaceAllString(string(must.Get(os.ReadFile(path))(t)), "")
			found = append(found, serverClock.FindAllString(sql, -1)...)
		case strings.HasSuffix(path, ".go"):
			ast.Inspect(must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t), func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					found = append(found, serverClock.FindAllString(l.Value, -1)...)
				}
				return true
			})
		}
		return err
	}))
	if len(found) != 1 || found[0] != "clock_timestamp(" {
		t.Errorf("got %q, want one clock_timestamp( alone, in postgresNow: take the time from the store's clock", found)
	}
}
