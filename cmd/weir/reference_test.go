package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/reference/commands.md")

const reference = "../../docs/reference/commands.md"

// TestCommandReference compares docs/reference/commands.md with the commands and their flags.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	root := newRoot(&environment{})
	var out strings.Builder
	out.WriteString("<!-- Written by TestCommandReference in cmd/weir: run make docs. -->\n\n# Commands\n\n" +
		"`weir COMMAND --help` prints the same. Results go to stdout, the log and progress to stderr. " +
		"The exit code is 0 if the command succeeded, 1 if it failed,\nand 2 if the command line is wrong.\n\n" +
		"All commands have these flags:\n\n")
	writeFlags(&out, root.PersistentFlags().FlagUsages())
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			writeCommand(&out, c, 2)
		}
	}
	want := strings.ReplaceAll(out.String(), "\n\n\n", "\n\n")
	got, err := os.ReadFile(reference)
	if err == nil && string(got) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not current (%v): run make docs", reference, err)
	}
	if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeCommand writes a command and those below it.
func writeCommand(out *strings.Builder, c *cobra.Command, level int) {
	fmt.Fprintf(out, "\n%s %s\n\n", strings.Repeat("#", level), c.CommandPath())
	what := c.Long
	if what == "" || c.Name() == "completion" || c.Parent().Name() == "completion" {
		what = c.Short
	}
	what = strings.TrimSuffix(strings.NewReplacer("\n\n", "\n\n", "\n", " ").Replace(strings.TrimSpace(what)), ".")
	fmt.Fprintf(out, "%s\n\n", wrap(escape(what)+"."))
	if c.Runnable() && !c.HasSubCommands() || c.Name() == "kept" {
		fmt.Fprintf(out, "```sh\n%s\n```\n\n", outdent(c.Example))
		fmt.Fprintf(out, "Usage: `%s`\n\n", c.UseLine())
	}
	writeFlags(out, c.LocalNonPersistentFlags().FlagUsages())
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			writeCommand(out, below, min(level+1, 4))
		}
	}
}

func outdent(example string) string {
	lines := strings.Split(strings.TrimRight(example, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// flagLine matches a flag in the help: its name, the kind of its value, and its description.
var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--\S+(?: \S+)?) {2,}(.*)$`)

// writeFlags writes the flags of the help as a table; nothing without flags.
func writeFlags(out *strings.Builder, help string) {
	begun := false
	for _, m := range flagLine.FindAllStringSubmatch(help, -1) {
		if m[1] == "--help" {
			continue
		}
		if !begun {
			out.WriteString("| flag | description |\n|---|---|\n")
			begun = true
		}
		fmt.Fprintf(out, "| `%s` | %s |\n", m[1], escape(m[2]))
	}
}

// escape escapes a text of the help for Markdown.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "[", `\[`).Replace(text)
}

// wrap breaks each line of a text between words, so that lines have at most 150 bytes.
func wrap(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		current := ""
		for word := range strings.FieldsSeq(line) {
			if current != "" && len(current)+1+len(word) > 150 {
				lines, current = append(lines, current), word
				continue
			}
			current = strings.TrimPrefix(current+" "+word, " ")
		}
		lines = append(lines, current)
	}
	return strings.Join(lines, "\n")
}
