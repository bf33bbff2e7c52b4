package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/managed"
)

// mostChange bounds the bytes that weir apply reads: one more than a configuration may have.
const mostChange = 1<<20 + 1

func newApply(env *environment) *cobra.Command {
	var e managed.Edit
	cmd := &cobra.Command{
		Use: "apply", Short: "Change providers, models, aliases, prices, limits, CORS and retention while gateways run",
		Long: "Put the objects of a file into the managed configuration. Each replaces the object of the same\n" +
			"name. Print the changes. They are in force on every node within a second. The file has the members\n" +
			"providers, models, aliases, prices, limits, cors and retention of weir.yaml. Objects that are in\n" +
			"weir.yaml can only be changed there.",
		Example: "  weir apply -f change.yaml --dry-run\n" +
			"  weir export-config > all.yaml && weir apply -f all.yaml --prune",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if e.Text, err = readChange(e.File); err != nil {
				return err
			}
			return env.withNewData(cmd, e.DryRun, env.applied(cmd, e.DryRun,
				func(ctx context.Context, c *admin.Configuration) (managed.Result, error) {
					return c.Edit(ctx, actor(), e)
				}))
		},
	}
	cmd.Flags().StringVarP(&e.File, "file", "f", "", "file with the change; - for standard input")
	cmd.Flags().BoolVar(&e.Prune, "prune", false, "remove managed objects that are not in the file")
	cmd.Flags().BoolVar(&e.DryRun, "dry-run", false, "print the changes without making them")
	_ = cmd.MarkFlagRequired("file") // the flag is defined above
	return cmd
}

// readChange reads at most mostChange bytes of a file, or of standard input for "-".
func readChange(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, mostChange))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, mostChange))
}

// printChanges prints the changes and whether they were made.
func (o *output) printChanges(changes []managed.Change, dryRun bool) error {
	end := fmt.Sprintf("%d changes, in force within a second", len(changes))
	switch {
	case len(changes) == 0:
		end = "nothing changes"
	case dryRun:
		end = fmt.Sprintf("%d changes, not made (--dry-run)", len(changes))
	}
	return o.printLines(append(changeLines(changes), end))
}

func (o *output) printLines(lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(o.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// changeLines describes each change in a line: + for an added object, - for a removed one, ~ for a changed one.
func changeLines(changes []managed.Change) (lines []string) {
	for _, c := range changes {
		switch {
		case c.Before == nil:
			lines = append(lines, fmt.Sprintf("+ %s: %s", c.Path, oneLine(c.After)))
		case c.After == nil:
			lines = append(lines, fmt.Sprintf("- %s: %s", c.Path, oneLine(c.Before)))
		default:
			lines = append(lines, fmt.Sprintf("~ %s: %s\n  %*s  %s", c.Path, oneLine(c.Before), len(c.Path)-1, "->",
				oneLine(c.After)))
		}
	}
	return lines
}

// oneLine formats a value of a document as JSON, which is YAML too.
func oneLine(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func newExportConfig(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "export-config", Short: "Print the configuration in force, as a file for weir apply",
		Long: "Print the providers, models, aliases, prices, limits, cors and retention of weir.yaml and of the\n" +
			"managed configuration, as a file that weir apply reads. API keys of providers are printed as\n" +
			"\"sealed:\" and a fingerprint, and weir apply leaves those keys unchanged.",
		Example: "  weir export-config > all.yaml", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				doc, err := d.Configuration.Document(cmd.Context())
				if err != nil {
					return err
				}
				text, err := doc.YAML()
				if err == nil {
					_, err = env.stdout.Write(text)
				}
				return err
			})
		},
	}
}

// versionView holds a version of the managed configuration as listings show it.
type versionView struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	By      string `json:"by"`
	Changed string `json:"changed"`
}

func newConfigVersions(env *environment) *cobra.Command {
	limit := 50
	cmd := env.jsonFlag(&cobra.Command{
		Use: "versions", Short: "List the versions of the managed configuration, newest first",
		Example: "  weir config versions", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				versions, err := d.Configuration.Listed(cmd.Context(), limit)
				view := func(v *managed.Version) versionView {
					return versionView{v.Seq, v.At.Format(time.RFC3339), v.By, v.Summary}
				}
				heads := []string{"VERSION", "TIME", "BY", "CHANGED"}
				return listViews(&env.output, versions, err, view, heads, (*versionView).row)
			})
		},
	})
	cmd.Flags().IntVar(&limit, "limit", limit, "maximum number of versions")
	return cmd
}

func (v *versionView) row() []string {
	return []string{strconv.FormatInt(v.Version, 10), v.At, v.By, v.Changed}
}

func newConfigRestore(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "restore VERSION", Short: "Restore an earlier version of the managed configuration",
		Example: "  weir config restore 3", Args: oneArg("a version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || seq < 1 {
				return fmt.Errorf("%q is not a version: weir config versions lists them", args[0])
			}
			return env.withData(cmd, env.applied(cmd, false,
				func(ctx context.Context, c *admin.Configuration) (managed.Result, error) {
					return c.Restore(ctx, actor(), seq, nil)
				}))
		},
	}
}
