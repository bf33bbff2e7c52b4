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

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/managed"
)

// mostChange is the most that weir apply reads, in bytes; a configuration is no longer.
const mostChange = 1<<20 + 1

func newApply(env *environment) *cobra.Command {
	var file string
	var o app.ApplyOptions
	cmd := &cobra.Command{
		Use: "apply", Short: "Change providers, models, aliases, prices, limits, CORS and retention while gateways run",
		Long: "Puts the objects of a file into the managed configuration, each in place of the one of its name, and " +
			"prints what that changes. Every node has it in force within a second. The file has the members " +
			"providers, models, aliases, prices, limits, cors and retention of weir.yaml. What weir.yaml itself has can be " +
			"changed there alone.",
		Example: "  weir apply -f change.yaml --dry-run\n" +
			"  weir export-config > all.yaml && weir apply -f all.yaml --prune",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := readChange(file)
			if err != nil {
				return err
			}
			change, err := config.ParseDocument(file, text)
			if err != nil {
				return err
			}
			return env.applied(cmd, o.DryRun, func(ctx context.Context, d *app.Data, applied app.ApplyOptions) (
				[]managed.Change, error,
			) {
				applied.Prune = o.Prune
				return d.Apply(ctx, actor(), change, applied)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the file with the change; - for standard input")
	cmd.Flags().BoolVar(&o.Prune, "prune", false, "remove what is managed and not in the file")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would change, and change nothing")
	_ = cmd.MarkFlagRequired("file") // the flag is defined above
	return cmd
}

// readChange reads the file that is applied.
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

// printChanges prints changes, and what becomes of them.
func (env *environment) printChanges(changes []managed.Change, dryRun bool) error {
	end := fmt.Sprintf("%d changes, in force within a second", len(changes))
	switch {
	case len(changes) == 0:
		end = "nothing changes"
	case dryRun:
		end = fmt.Sprintf("%d changes, not made (--dry-run)", len(changes))
	}
	return env.printLines(append(changeLines(changes), end))
}

func (env *environment) printLines(lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(env.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// changeLines are changes: + for what is new, - for what goes, ~ for what is otherwise.
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

// oneLine is a value of a document in JSON, which YAML has too.
func oneLine(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func newExportConfig(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "export-config", Short: "Print what weir apply can change, as it is in force",
		Long: "Prints the providers, models, aliases, prices, limits, cors and retention of weir.yaml and of the managed " +
			"configuration as a file that weir apply takes. Provider keys are printed as \"sealed:\" and a " +
			"fingerprint, which weir apply takes for unchanged.",
		Example: "  weir export-config > all.yaml", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *app.Data) error {
				doc, err := d.InForce(cmd.Context(), env.configOptions(""))
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

// versionView is a version of the managed configuration as listings show it.
type versionView struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	By      string `json:"by"`
	Changed string `json:"changed"`
}

func newConfigVersions(env *environment) *cobra.Command {
	limit := 50
	cmd := env.jsonFlag(&cobra.Command{
		Use: "versions", Short: "List the versions of the managed configuration, the newest first",
		Example: "  weir config versions", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *app.Data) error {
				versions, err := d.ManagedVersions(cmd.Context(), limit)
				view := func(v *managed.Version) versionView {
					return versionView{v.Seq, v.At.Format(time.RFC3339), v.By, v.Summary}
				}
				heads := []string{"VERSION", "TIME", "BY", "CHANGED"}
				return listViews(env, versions, err, view, heads, (*versionView).row)
			})
		},
	})
	cmd.Flags().IntVar(&limit, "limit", limit, "at most so many")
	return cmd
}

func (v *versionView) row() []string {
	return []string{strconv.FormatInt(v.Version, 10), v.At, v.By, v.Changed}
}

func newConfigRestore(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "restore VERSION", Short: "Put an earlier version of the managed configuration in force again",
		Example: "  weir config restore 3", Args: oneArg("a version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || seq < 1 {
				return fmt.Errorf("%q is not a version: weir config versions lists them", args[0])
			}
			return env.applied(cmd, false, func(ctx context.Context, d *app.Data, o app.ApplyOptions) (
				[]managed.Change, error,
			) {
				return d.Restore(ctx, actor(), seq, o)
			})
		},
	}
}
