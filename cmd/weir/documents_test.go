package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"weir"
	"weir/internal/must"
)

// documents returns the text of README.md and of the pages, by their paths. It excludes the changelog, which names
// former commands.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"README.md": string(must.Get(os.ReadFile("../../README.md"))(t))}
	must.Do(t, fs.WalkDir(weir.Documents, ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && path != "CHANGELOG.md" {
			all[path] = string(must.Get(fs.ReadFile(weir.Documents, path))(t))
		}
		return err
	}))
	return all
}

// shellBlocks returns the commands of a document that a reader may copy: its blocks marked sh.
func shellBlocks(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$").FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(m[1], "\\\n", ""))
	}
	return all
}

// called matches a call of the program in a line, however it is started.
var called = regexp.MustCompile(`(?:^|[\s(;])(?:\./cmd/)?weir (.*)`)

// call is a call of the program; alone is set if nothing precedes it, such as a variable.
type call struct {
	words []string
	alone bool
}

// callsIn returns the calls of the program in a block.
func callsIn(block string) []call {
	var all []call
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		line = strings.TrimPrefix(line, " docker compose exec weir")
		if word := strings.Fields(line + " -")[0]; word == "kubectl" || word == "helm" || word == "docker" { // weir is a name to them
			continue
		}
		if m := called.FindStringSubmatch(line); m != nil {
			all = append(all, call{shellWords(m[1]), strings.HasPrefix(line, " weir ")})
		}
	}
	return all
}

// shellWords returns the words of a command up to its end: a comment, a pipe, a redirection, the end of a substitution,
// or the next command.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ':
			end()
		case strings.ContainsRune("|>&;)", c) || c == '#' && !begun:
			end()
			return words
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	end()
	return words
}

// TestShellWords checks the reading of a line of a document.
func TestShellWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"keys list --json":                      {"keys", "list", "--json"},
		"a 'b c' # d":                           {"a", "b c"},
		`a "b" > c`:                             {"a", "b"},
		"keys create --label x)":                {"keys", "create", "--label", "x"},
		"a#b":                                   {"a#b"},
		"simulate --listen 127.0.0.1:9000 &":    {"simulate", "--listen", "127.0.0.1:9000"},
		"serve --data '' | tee x; weir version": {"serve", "--data", ""},
	} {
		if got := shellWords(line); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// readOnly lists the commands that change nothing and need only a data directory: they are run if a document shows
// them.
var readOnly = []string{
	"accounts list", "accounts show", "audit export", "audit list", "audit verify", "completion bash", "completion fish",
	"completion zsh", "config show", "keys list", "kept", "ledger export", "ledger verify", "members list",
	"models", "nodes list", "operators list", "providers", "uses", "version", "webhooks list",
}

// TestDocumentedCommands checks that each call of the program in a block of a document is an existing command line, and
// that those that change nothing succeed.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for _, account := range []string{"default", "research"} {
		must.Do(t, execute(data, "accounts", "create", account))
	}
	count, run := 0, 0
	for path, text := range documents(t) {
		for _, block := range shellBlocks(text) {
			for _, c := range callsIn(block) {
				words := c.words
				count++
				if err := parse(words); err != nil {
					t.Errorf("%s shows weir %q: %v", path, words, err)
					continue
				}
				found, _, _ := newRoot(&environment{}).Find(words)
				name := strings.TrimPrefix(found.CommandPath(), "weir ")
				if !c.alone || !slices.Contains(readOnly, name) || strings.Contains(strings.Join(words, " "), "…") {
					continue
				}
				run++
				if err := execute(data, words...); err != nil {
					t.Errorf("%s shows weir %q: %v", path, words, err)
				}
			}
		}
	}
	if count < 80 || run < 10 {
		t.Errorf("got %d commands, %d of them run; want more", count, run)
	}
	t.Logf("%d commands, %d of them run", count, run)
}

// parse returns the mistake in a command line.
func parse(words []string) error {
	found, rest, err := newRoot(&environment{}).Find(words)
	if err == nil {
		err = found.ParseFlags(rest)
	}
	if err == nil {
		err = found.ValidateRequiredFlags()
	}
	if err == nil {
		err = found.ValidateArgs(found.Flags().Args())
	}
	return err
}

// execute carries out a command in this process.
func execute(data string, words ...string) error {
	var out bytes.Buffer
	root := newRoot(&environment{output: output{stdout: &out, stderr: &out}})
	root.SetArgs(append(slices.Clone(words), "--data", data))
	if err := root.Execute(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	return nil
}

// named matches a command in running text.
var named = regexp.MustCompile("`weir ([^`\n]+)`")

// TestNamedCommands checks that each command and flag in running text exists. A word such as list\|show names both.
func TestNamedCommands(t *testing.T) {
	t.Parallel()
	count := 0
	for path, text := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			count++
			if err := exists(strings.Fields(strings.ReplaceAll(m[1], `\|`, "|"))); err != nil {
				t.Errorf("%s names weir %s: %v", path, m[1], err)
			}
		}
	}
	if count < 100 {
		t.Errorf("got %d names, want more", count)
	}
	t.Logf("%d names", count)
}

// exists returns an error for the first word that is neither a command, a flag nor an argument. Arguments are in
// capitals or in brackets, or follow the last command.
func exists(words []string) error {
	at := []*cobra.Command{newRoot(&environment{})}
	arguments := false
	for _, word := range words {
		switch bare := strings.Trim(word, "[]"); {
		case strings.HasPrefix(bare, "--"):
			name, _, _ := strings.Cut(strings.Trim(bare, "-,.…"), "=")
			if !slices.ContainsFunc(at, func(c *cobra.Command) bool {
				return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil || name == "help"
			}) {
				return fmt.Errorf("there is no flag %s", word)
			}
			arguments = true
		case arguments || bare != word || strings.ToUpper(word) == word:
			arguments = true
		case len(at) == 1 && at[0].HasSubCommands():
			var below []*cobra.Command
			for name := range strings.SplitSeq(word, "|") {
				for _, c := range at[0].Commands() {
					if c.Name() == name {
						below = append(below, c)
					}
				}
			}
			if len(below) != strings.Count(word, "|")+1 {
				return fmt.Errorf("there is no command %s", word)
			}
			at = below
		}
	}
	return nil
}
