package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newManual(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "manual DIRECTORY", Short: "Write the manual pages for man, one for each command",
		Long: "Write the manual pages for man(1) into a directory, one for each command. The directory is created\n" +
			"if it is missing; existing files of the same names are replaced.",
		Example: "  weir manual ~/.local/share/man/man1", Args: oneArg("the directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("create the directory: %w", err)
			}
			return writeManual(cmd.Root(), args[0], thisBuild())
		},
	}
}

// writeManual writes the pages of a command and of its subcommands.
func writeManual(c *cobra.Command, dir string, b build) error {
	if c.Hidden {
		return nil
	}
	var page strings.Builder
	writePage(&page, c, b)
	if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write a manual page: %w", err)
	}
	for _, below := range c.Commands() {
		if err := writeManual(below, dir, b); err != nil {
			return err
		}
	}
	return nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// writePage writes the page of a command, in the macros of man(7).
func writePage(w io.Writer, c *cobra.Command, b build) {
	day := ""
	if at, err := time.Parse(time.RFC3339, b.date); err == nil {
		day = at.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(w, ".TH \"%s\" 1 \"%s\" \"weir %s\" Weir\n", roff(strings.ToUpper(pageName(c))), day, roff(b.version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	what := c.Long
	if what == "" {
		what = c.Short + "."
	}
	section(w, "DESCRIPTION", paragraphs(what))
	section(w, "COMMANDS", commandsOf(c))
	section(w, "OPTIONS", options(c.LocalNonPersistentFlags()))
	section(w, "OPTIONS OF ALL COMMANDS", options(c.Root().PersistentFlags()))
	section(w, "EXAMPLES", ".nf\n"+roff(outdented(c.Example))+"\n.fi\n")
	section(w, "EXIT STATUS", "0 if the command succeeded, 1 if it failed, 2 if the command line is wrong.\n")
	if c.HasParent() {
		section(w, "SEE ALSO", ".BR "+roff(pageName(c.Parent()))+" (1)\n")
	}
}

func section(w io.Writer, title, text string) {
	if text != "" {
		fmt.Fprintf(w, ".SH %s\n%s", title, text)
	}
}

// paragraphs separates paragraphs with .PP and leaves indented ones unfilled.
func paragraphs(text string) string {
	var out strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString(".PP\n")
		}
		if strings.HasPrefix(p, "  ") || strings.HasPrefix(p, "\t") {
			fmt.Fprintf(&out, ".nf\n%s\n.fi\n", roff(p))
			continue
		}
		fmt.Fprintf(&out, "%s\n", roff(p))
	}
	return out.String()
}

func commandsOf(c *cobra.Command) string {
	var out strings.Builder
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			fmt.Fprintf(&out, ".TP\n.BR %s (1)\n%s\n", roff(pageName(below)), roff(below.Short))
		}
	}
	return out.String()
}

func options(flags *pflag.FlagSet) string {
	var out strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(usage))
	})
	return out.String()
}

// outdented removes the two columns before each line of an example.
func outdented(example string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.TrimRight(example, "\n"), "\n  ", "\n"), "  ")
}

// roff escapes text for man(7): a line that begins with a dot or an apostrophe would be a macro, and an unescaped
// hyphen may not be copyable.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`).Replace(text)
	text = strings.ReplaceAll(text, "\n.", "\n\\&.")
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
