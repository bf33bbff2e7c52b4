package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// everyCommand calls do with each command that a user sees.
func everyCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, below := range c.Commands() {
		if !below.Hidden {
			everyCommand(below, do)
		}
	}
}

// TestEachCommandHasHelp checks that the --help of every command describes it, with an example of it.
func TestEachCommandHasHelp(t *testing.T) {
	t.Parallel()
	count := 0
	everyCommand(newRoot(&environment{}), func(c *cobra.Command) {
		count++
		out := &bytes.Buffer{}
		root := newRoot(&environment{output: output{stdout: out, stderr: out}})
		root.SetArgs(append(strings.Fields(c.CommandPath())[1:], "--help"))
		if err := root.Execute(); err != nil {
			t.Errorf("%s --help: %v", c.CommandPath(), err)
		}
		_, examples, ok := strings.Cut(out.String(), "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if !ok || !strings.Contains(examples, strings.TrimSuffix(c.CommandPath(), " help")) {
			t.Errorf("%s --help shows no example of itself:\n%s", c.CommandPath(), out)
		}
		if c.Short == "" {
			t.Errorf("%s has no description", c.CommandPath())
		}
	})
	if count < 30 {
		t.Errorf("%d commands were found, want all", count)
	}
}

// TestExamplesAreRight checks that each example is an existing command line.
func TestExamplesAreRight(t *testing.T) {
	t.Parallel()
	everyCommand(newRoot(&environment{}), func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			_, args, ok := strings.Cut(line, "weir ")
			if !ok {
				continue
			}
			args, _, _ = strings.Cut(strings.TrimSuffix(args, ")"), " > ")
			words := strings.Fields(strings.ReplaceAll(args, "'", ""))
			found, rest, err := newRoot(&environment{}).Find(words)
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateRequiredFlags()
			}
			if err != nil {
				t.Errorf("%s has the example %q: %v", c.CommandPath(), line, err)
			}
		}
	})
}
