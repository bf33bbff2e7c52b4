package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/upstream"
)

// managedSection describes a section of the managed configuration for the commands and their examples.
type managedSection struct {
	section, noun string
	name          string // name of an object, in examples
	members       string // members of an object, in examples
	change        string // changed members, in examples
}

// Sections that commands can change.
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

// objectFlags holds the flags of the commands that change an object.
type objectFlags struct {
	since         string // for prices
	addKey, noKey string // for providers
	dryRun        bool
}

// managedCommands returns the commands that add, change and remove the objects of a section.
func managedCommands(env *environment, s managedSection) []*cobra.Command {
	const values = " Each KEY=VALUE sets a member as in weir.yaml; the items of a list are separated by commas. " +
		"An empty value removes the member. The change is in force on every node within a second."
	article := "a"
	if s.noun == "alias" {
		article = "an"
	}
	add := env.objectCommand(s, &cobra.Command{
		Use: "add NAME [KEY=VALUE...]", Short: "Add " + article + " " + s.noun + " to the managed configuration",
		Long:    "Add " + article + " " + s.noun + " to the managed configuration." + values,
		Example: fmt.Sprintf("  weir %s add %s %s", s.section, s.name, s.members),
	}, admin.ObjectChange{New: true})
	change := env.objectCommand(s, &cobra.Command{
		Use: "change NAME [KEY=VALUE...]", Short: "Change " + article + " " + s.noun + " of the managed configuration",
		Long: "Change " + article + " " + s.noun + " of the managed configuration. Other members stay unchanged." +
			values,
		Example: fmt.Sprintf("  weir %s change %s %s", s.section, s.name, s.change),
	}, admin.ObjectChange{})
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove " + article + " " + s.noun + " from the managed configuration",
		Example: fmt.Sprintf("  weir %s remove %s", s.section, s.name), Args: oneArg("NAME"),
	}
	f := env.commonObjectFlags(s, remove)
	remove.RunE = func(cmd *cobra.Command, args []string) error {
		e := managed.Edit{Remove: []managed.Ref{s.ref(args[0], f)}, DryRun: f.dryRun}
		return env.withData(cmd, env.applied(cmd, f.dryRun,
			func(ctx context.Context, c *admin.Configuration) (managed.Result, error) {
				return c.Edit(ctx, actor(), e)
			}))
	}
	return []*cobra.Command{add, change, remove}
}

// commonObjectFlags defines the flags that all three commands have.
func (env *environment) commonObjectFlags(s managedSection, cmd *cobra.Command) *objectFlags {
	f := &objectFlags{}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the changes without making them")
	if s.section == "prices" {
		cmd.Flags().StringVar(&f.since, "since", "", "the price that is valid from this UTC day on: YYYY-MM-DD")
	}
	return f
}

// ref returns a reference to the object of that name.
func (s *managedSection) ref(name string, f *objectFlags) managed.Ref {
	if f.since != "" {
		name += " since " + f.since
	}
	return managed.Ref{Section: s.section, Name: name}
}

// objectCommand completes a command that adds or changes an object with its flags and its function.
func (env *environment) objectCommand(s managedSection, cmd *cobra.Command, x admin.ObjectChange) *cobra.Command {
	f := env.commonObjectFlags(s, cmd)
	if s.section == "providers" {
		cmd.Flags().StringVar(&f.addKey, "add-key", "", "add an API key; - reads it from standard input")
		if !x.New {
			cmd.Flags().StringVar(&f.noKey, "remove-key", "", "remove the API key with these last four characters")
		}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("%s needs the name of a %s", cmd.CommandPath(), s.noun)}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		x.Ref, x.RemoveKey, x.DryRun = s.ref(args[0], f), f.noKey, f.dryRun
		if x.Members, err = membersOf(args[1:]); err != nil {
			return err
		}
		if x.AddKey, err = keyOf(f.addKey, os.Stdin); err != nil {
			return err
		}
		do := env.applied(cmd, f.dryRun, func(ctx context.Context, c *admin.Configuration) (managed.Result, error) {
			return c.Change(ctx, actor(), &x)
		})
		if !x.New {
			return env.withData(cmd, do)
		}
		return env.withNewData(cmd, f.dryRun, do)
	}
	return cmd
}

// membersOf parses arguments of the form KEY=VALUE.
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

// keyOf returns the API key of a flag; for "-" it reads the first line of standard input.
func keyOf(given string, stdin io.Reader) (llm.Secret, error) {
	if given != "-" {
		return llm.NewSecret(given), nil
	}
	const most = 8 << 10
	line, err := bufio.NewReader(io.LimitReader(stdin, most)).ReadString('\n')
	if key := strings.TrimSpace(line); key != "" {
		return llm.NewSecret(key), nil
	}
	return llm.Secret{}, fmt.Errorf("read the key from standard input: %w", err)
}

// applied returns a function that makes a change and prints it. Mistakes are printed as they are, each with its place.
func (env *environment) applied(cmd *cobra.Command, dryRun bool,
	do func(context.Context, *admin.Configuration) (managed.Result, error),
) func(*admin.Admin) error {
	return func(d *admin.Admin) error {
		r, err := do(cmd.Context(), d.Configuration)
		if err != nil {
			return asTyped(err)
		}
		return env.printChanges(r.Changes, dryRun)
	}
}

// asTyped returns the mistakes of a file, without the sentence that the administration makes of them.
func asTyped(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Err != nil {
		return e.Err
	}
	return err
}

// managedOptions returns the options with the managed configuration, and the source of each object. If the managed
// configuration cannot be read, it prints a warning and returns the options of the file.
func (env *environment) managedOptions(cmd *cobra.Command) (o upstream.Options, objects []managed.Object, err error) {
	if o, err = env.options(); err != nil {
		return o, nil, err
	}
	if objects, err = admin.ReadManaged(cmd.Context(), env.configOptions(""), &o); err != nil {
		_, _ = fmt.Fprintln(env.stderr, "warning: the managed configuration cannot be read:", err)
	}
	return o, objects, nil
}

// placeOf returns where an object is configured: its file and line, "managed" or "environment".
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
