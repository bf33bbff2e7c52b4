package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/llm"
	"weir/internal/managed"
)

// managedSection is a section of the managed configuration as the command line has it.
type managedSection struct {
	section, noun string
	name          string // of one, in examples
	members       string // of one, in examples
	change        string // of one, in examples
}

// Sections that the command line changes.
func providerSection() managedSection {
	return managedSection{
		"providers", "provider", "house", "dialect=openai base_url=https://llm.example.com/v1 'api_keys=${HOUSE_KEY}'",
		"retries=1",
	}
}

func modelSection() managedSection {
	return managedSection{"models", "model", "house/small", "context=32768 tools=true", "context=65536"}
}

func aliasSection() managedSection {
	return managedSection{
		"aliases", "alias", "fast", "targets=house/small,openai/gpt-5-mini strategy=weighted weights=1,3",
		"weights=1,1",
	}
}

func priceSection() managedSection {
	return managedSection{"prices", "price", "house/small", "input=0.15 output=0.60", "output=0.80"}
}

// objectFlags are those of the commands that change an object.
type objectFlags struct {
	since         string // of prices
	addKey, noKey string // of providers
	dryRun        bool
}

// managedCommands are those that add, change and remove the objects of a section.
func managedCommands(env *environment, s managedSection) []*cobra.Command {
	const values = " KEY=VALUE has a member of weir.yaml: of a list the items with commas between them. " +
		"An empty value leaves the member out. Every node has the change in force within a second."
	article := "a"
	if s.noun == "alias" {
		article = "an"
	}
	add := env.objectCommand(s, &cobra.Command{
		Use: "add NAME [KEY=VALUE...]", Short: "Add " + article + " " + s.noun + " to the managed configuration",
		Long:    "Adds " + article + " " + s.noun + " to the managed configuration." + values,
		Example: fmt.Sprintf("  weir %s add %s %s", s.section, s.name, s.members),
	}, app.ObjectChange{New: true})
	change := env.objectCommand(s, &cobra.Command{
		Use: "change NAME [KEY=VALUE...]", Short: "Change " + article + " " + s.noun + " of the managed configuration",
		Long: "Changes " + article + " " + s.noun + " of the managed configuration. What is not named stays." +
			values,
		Example: fmt.Sprintf("  weir %s change %s %s", s.section, s.name, s.change),
	}, app.ObjectChange{})
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove " + article + " " + s.noun + " from the managed configuration",
		Example: fmt.Sprintf("  weir %s remove %s", s.section, s.name), Args: oneArg("NAME"),
	}
	f := env.commonObjectFlags(s, remove)
	remove.RunE = func(cmd *cobra.Command, args []string) error {
		return env.applied(cmd, f.dryRun, func(ctx context.Context, d *app.Data, o app.ApplyOptions) ([]managed.Change,
			error,
		) {
			o.Remove = []managed.Ref{s.ref(args[0], f)}
			return d.Apply(ctx, actor(), nil, o)
		})
	}
	return []*cobra.Command{add, change, remove}
}

// commonObjectFlags are those of all three commands.
func (env *environment) commonObjectFlags(s managedSection, cmd *cobra.Command) *objectFlags {
	f := &objectFlags{}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would change, and change nothing")
	if s.section == "prices" {
		cmd.Flags().StringVar(&f.since, "since", "", "the price that holds from this day on, in UTC: YYYY-MM-DD")
	}
	return f
}

// ref is the object of that name.
func (s *managedSection) ref(name string, f *objectFlags) managed.Ref {
	if f.since != "" {
		name += " since " + f.since
	}
	return managed.Ref{Section: s.section, Name: name}
}

// objectCommand gives a command that adds or changes an object its flags, and what it does.
func (env *environment) objectCommand(s managedSection, cmd *cobra.Command, c app.ObjectChange) *cobra.Command {
	f := env.commonObjectFlags(s, cmd)
	if s.section == "providers" {
		cmd.Flags().StringVar(&f.addKey, "add-key", "", "add an API key; - reads it from standard input")
		if !c.New {
			cmd.Flags().StringVar(&f.noKey, "remove-key", "", "remove the API key with these last four characters")
		}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("%s takes the name of a %s", cmd.CommandPath(), s.noun)}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		c.Ref, c.RemoveKey = s.ref(args[0], f), f.noKey
		if c.Members, err = membersOf(args[1:]); err != nil {
			return err
		}
		if c.AddKey, err = keyOf(f.addKey, os.Stdin); err != nil {
			return err
		}
		return env.applied(cmd, f.dryRun, func(ctx context.Context, d *app.Data, o app.ApplyOptions) ([]managed.Change,
			error,
		) {
			return d.ChangeObject(ctx, actor(), &c, o)
		})
	}
	return cmd
}

// membersOf reads arguments of the form KEY=VALUE.
func membersOf(args []string) (map[string]string, error) {
	members := map[string]string{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("%q is not of the form KEY=VALUE", arg)}
		}
		members[key] = value
	}
	return members, nil
}

// keyOf is an API key that a flag gives: - for the first line of standard input.
func keyOf(given string, stdin io.Reader) (llm.Secret, error) {
	if given != "-" {
		return llm.NewSecret(given), nil
	}
	const most = 8 << 10
	line, err := bufio.NewReader(io.LimitReader(stdin, most)).ReadString('\n')
	if key := strings.TrimSpace(line); key != "" {
		return llm.NewSecret(key), nil
	}
	return llm.Secret{}, fmt.Errorf("standard input has no key: %w", err)
}

// applied makes a change, and prints it.
func (env *environment) applied(cmd *cobra.Command, dryRun bool, do func(context.Context, *app.Data, app.ApplyOptions) (
	[]managed.Change, error),
) error {
	return env.withData(cmd, func(d *app.Data) error {
		changes, err := do(cmd.Context(), d, app.ApplyOptions{
			File: env.configOptions(""), Getenv: os.Getenv, DryRun: dryRun,
		})
		if err != nil {
			return err
		}
		return env.printChanges(changes, dryRun)
	})
}

// managedOptions are options with what is managed, and where each object is from. Where that cannot be read, what the
// file says is told, with a warning.
func (env *environment) managedOptions(cmd *cobra.Command) (o app.Options, objects []managed.Object, err error) {
	if o, err = env.options(); err != nil {
		return o, nil, err
	}
	if objects, err = o.ReadManaged(cmd.Context()); err != nil {
		_, _ = fmt.Fprintln(env.stderr, "warning: the managed configuration cannot be read:", err)
	}
	return o, objects, nil
}

// placeOf is where an object is from, in a few words.
func placeOf(objects []managed.Object, section, name string) string {
	for i := range objects {
		o := &objects[i]
		switch {
		case o.Section != section || o.Name != name:
		case o.Source == managed.FromFile:
			return fmt.Sprintf("%s:%d", o.File, o.Line)
		default:
			return string(o.Source)
		}
	}
	return string(managed.FromEnvironment)
}
