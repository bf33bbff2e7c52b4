package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/upstream"
)

// environment holds the output and the global flags that all commands share.
type environment struct {
	output

	configFile string
	dataDir    string
}

// output prints results, as a text or in JSON.
type output struct {
	stdout, stderr io.Writer
	asJSON         bool
}

// errQuiet makes a command fail without a message, because it has already printed one.
var errQuiet = errors.New("failed")

// usageError reports a wrong command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

// Unwrap returns the mistake.
func (e usageError) Unwrap() error { return e.err }

// isUsage reports whether an error is a wrong command line, not a failed command.
func isUsage(err error) bool {
	if _, ok := errors.AsType[usageError](err); ok {
		return true
	}
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Code == llm.CodeInvalidRequest
}

func newRoot(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "LLM gateway with exact usage metering, budgets and rate limits",
		Long: "Weir forwards chat to AI model providers and meters every token of it.\n" +
			"Start it with \"weir serve\"; all other commands work while the gateway runs.",
		Example: "  weir serve\n  weir keys create --account default --label laptop\n  weir uses --account " +
			"default",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := requireFlags(cmd); err != nil {
				return err
			}
			if err := checkFlagGroups(cmd); err != nil {
				return err
			}
			return checkEmptyFlags(cmd)
		},
	}
	root.Version = version()
	root.SetVersionTemplate("weir {{.Version}}\n")
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasSubCommands() { // the flag may belong to the command that is misspelt before it
			if unknown := noArgs(cmd, cmd.Flags().Args()); unknown != nil {
				return unknown
			}
		}
		return flagMistake(cmd, err)
	})
	flags := root.PersistentFlags()
	flags.StringVar(&env.configFile, "config", "", "configuration file (default weir.yaml, if it exists)")
	flags.StringVar(&env.dataDir, "data", "", "data directory (default ./weir-data)")
	root.AddCommand(
		newServe(env), newAccounts(env), newKeys(env), newMembers(env), newOperators(env), newUsers(env),
		newUses(env), newRequests(env), newRefusals(env), newAlerts(env), newModels(env), newAliases(env),
		newPrices(env), newProviders(env), newLedger(env), newStatements(env), newAudit(env), newNodes(env),
		newKept(env), newContent(env), newCache(env), newSockets(env), newWebhooks(env), newSecrets(env),
		newSimulate(env), newConfig(env), newMCP(env), newMigrate(env), newMove(env),
		newBackup(env), newRestore(env), newApply(env), newPlan(env), newReconcile(env), newExportConfig(env),
		newImport(env), newVersion(env), newManual(env), newReady(env),
	)
	completeCobra(root)
	return root
}

// checkFlagGroups replaces cobra's messages about flags that exclude each other, or that need one of them, by plain
// ones.
func checkFlagGroups(cmd *cobra.Command) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	_, names, _ := strings.Cut(err.Error(), "[")
	names, _, _ = strings.Cut(names, "]")
	flags := strings.Fields(names)
	for i := range flags {
		flags[i] = "--" + flags[i]
	}
	if strings.Contains(err.Error(), "at least one") {
		return usageError{fmt.Errorf("%s needs one of %s", cmd.CommandPath(), strings.Join(flags, ", "))}
	}
	return usageError{fmt.Errorf("%s exclude each other: give only one of them", strings.Join(flags, ", "))}
}

// requireChange refuses a command without a flag that says what to change.
func requireChange(cmd *cobra.Command) error {
	given, names := false, []string(nil)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "json" || f.Name == "help" || cmd.Root().PersistentFlags().Lookup(f.Name) != nil {
			return
		}
		given = given || f.Changed
		names = append(names, "--"+f.Name)
	})
	if given {
		return nil
	}
	return usageError{fmt.Errorf("%s needs a flag that says what to change: one of %s", cmd.CommandPath(),
		strings.Join(names, ", "))}
}

// checkEmptyFlags refuses a flag with an empty value, such as one from an unset variable: weir kept purge --account
// "" would purge the data of all accounts.
func checkEmptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		isEmpty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			isEmpty = len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
		}
		if isEmpty && cmd.Root().PersistentFlags().Lookup(f.Name) == nil {
			err = usageError{fmt.Errorf("--%s is empty: give it a value, or leave it out", f.Name)}
		}
	})
	return err
}

// completeCobra adds examples and checks of arguments to cobra's own commands, so that they behave like the others.
func completeCobra(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  weir help keys create"
		case "completion":
			c.Example = "  source <(weir completion bash)"
			c.Args, c.RunE = noArgs, needsMore
			for _, shell := range c.Commands() {
				shell.Example, shell.Args = "  weir completion "+shell.Name(), noArgs
			}
		}
	}
}

// mostNamed is the most commands that an error lists.
const mostNamed = 12

// noArgs refuses arguments, and suggests the command that is nearest to the first one, or all if they are few.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if len(names) == 0 {
		return usageError{fmt.Errorf("%s takes no arguments; got %q", cmd.CommandPath(), args[0])}
	}
	hint := "; choose one of " + strings.Join(names, ", ")
	if near, ok := config.Nearest(args[0], names); ok {
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if len(names) > mostNamed {
		hint = ""
	}
	return usageError{fmt.Errorf("%q is not a command of %s%s", args[0], cmd.CommandPath(), hint)}
}

// oneArg requires exactly one argument, described by name.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%s needs one argument, %s; got %d", cmd.CommandPath(), name,
				len(args))}
		}
		return nil
	}
}

// group returns a command that only has subcommands.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: needsMore}
	var examples []string
	for _, c := range below {
		first, _, _ := strings.Cut(c.Example, "\n")
		examples = append(examples, first)
	}
	cmd.Example = strings.Join(examples, "\n")
	cmd.AddCommand(below...)
	return cmd
}

func needsMore(cmd *cobra.Command, _ []string) error {
	return usageError{fmt.Errorf("%s needs a command: see the list in its --help", cmd.CommandPath())}
}

// jsonFlag adds the flag --json to a listing.
func (o *output) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

// loadConfig reads the configuration that the flags select.
func (env *environment) loadConfig(listen string) (config.Config, error) {
	return config.Load(env.configOptions(listen))
}

func (env *environment) configOptions(listen string) config.Options {
	return config.Options{File: env.configFile, Data: env.dataDir, Listen: listen}
}

// options returns the options of commands that need only the configuration.
func (env *environment) options() (upstream.Options, error) {
	cfg, err := env.loadConfig("")
	return upstream.Options{Config: cfg, Getenv: os.Getenv, Log: env.logger(&cfg)}, err
}

// logger returns a logger that writes to stderr, with the configured level and format.
func (env *environment) logger(cfg *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" || cfg.Log.Format == "auto" && !isTerminal(env.stderr) {
		return slog.New(slog.NewJSONHandler(env.stderr, options))
	}
	return slog.New(slog.NewTextHandler(env.stderr, options))
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
