package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/imports"
	"weir/internal/imports/bifrost"
	"weir/internal/imports/litellm"
	"weir/internal/llm"
)

func newImport(env *environment) *cobra.Command {
	return group("import", "Take over the models, accounts and keys of another gateway", newImportLiteLLM(env),
		newImportBifrost(env))
}

// importFlags holds the flags that all imports have.
type importFlags struct {
	admin.ImportOptions
	yes bool
}

func (f *importFlags) add(env *environment, cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "make the changes; without it they are only printed")
	flags.BoolVar(&f.DryRun, "dry-run", false, "print the changes without making them, as without --yes")
	flags.BoolVar(&f.Invite, "invite", false, "invite the people, and print the links, which are valid for 7 days")
	return env.jsonFlag(cmd)
}

func newImportLiteLLM(env *environment) *cobra.Command {
	var flags importFlags
	var file, database string
	cmd := &cobra.Command{
		Use: "litellm", Short: "Take over the configuration and the database of the LiteLLM proxy",
		Long: "Import models, aliases and fallbacks from LiteLLM's config.yaml into the managed configuration, and\n" +
			"teams, users and keys from its database, with their limits, budgets and spending. The keys continue\n" +
			"to work unchanged. Print the changes, and each thing that is not imported, with its path and the\n" +
			"reason. Make the changes with --yes. Objects of an earlier import stay as they are.\n" +
			"Here --config is LiteLLM's file. Weir's own is weir.yaml in the working directory, or the file in\n" +
			"WEIR_CONFIG.",
		Example: "  weir import litellm --config config.yaml --database-url postgres://litellm@db/litellm\n" +
			"  weir import litellm --config config.yaml --database-url postgres://litellm@db/litellm --yes",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := &litellm.Import{Getenv: os.LookupEnv, Now: time.Now()}
			plan := func() (*imports.Plan, error) { return in.Plan(cmd.Context()) }
			if file == "" && database == "" {
				return usageError{errors.New("there is nothing to import: give --config, --database-url, or both")}
			}
			var err error
			if in.Config, err = readTree(file); err != nil {
				return err
			}
			if database == "" {
				return env.runImport(cmd, plan, &flags)
			}
			return admin.Foreign(cmd.Context(), llm.NewSecret(database), func(rows imports.Rows) error {
				in.Rows = rows
				return env.runImport(cmd, plan, &flags)
			})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "LiteLLM's config.yaml")
	cmd.Flags().StringVar(&database, "database-url", "", "URL of LiteLLM's database, as in its DATABASE_URL")
	return flags.add(env, cmd)
}

func newImportBifrost(env *environment) *cobra.Command {
	var flags importFlags
	var file string
	cmd := &cobra.Command{
		Use: "bifrost", Short: "Take over the configuration file of the Bifrost gateway",
		Long: "Import providers from Bifrost's config.json into the managed configuration, and customers, teams\n" +
			"and virtual keys, with their limits and budgets. The keys continue to work unchanged. Print the\n" +
			"changes, and each thing that is not imported, with its path and the reason. Make the changes with\n" +
			"--yes.\n" +
			"Here --config is Bifrost's file. Weir's own is weir.yaml in the working directory, or the file in\n" +
			"WEIR_CONFIG.",
		Example: "  weir import bifrost --config config.json\n  weir import bifrost --config config.json --yes",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tree, err := readTree(file)
			if err != nil {
				return err
			}
			in := &bifrost.Import{Config: tree, Getenv: os.LookupEnv, Now: time.Now()}
			return env.runImport(cmd, func() (*imports.Plan, error) { return in.Plan(), nil }, &flags)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "Bifrost's config.json")
	_ = cmd.MarkFlagRequired("config") // the flag is defined one line above
	return flags.add(env, cmd)
}

// readTree reads the configuration file of another gateway. It returns nil for an empty name.
func readTree(file string) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readChange(file)
	if err != nil {
		return nil, err
	}
	return config.ParseTree(file, text)
}

// runImport imports, or prints the changes that an import would make.
func (env *environment) runImport(cmd *cobra.Command, read func() (*imports.Plan, error), flags *importFlags) error {
	if flags.yes && flags.DryRun {
		return usageError{errors.New("--yes makes the changes and --dry-run makes none: give only one of them")}
	}
	plan, err := read()
	if err != nil {
		return err
	}
	flags.DryRun = !flags.yes
	return env.withNewData(cmd, flags.DryRun, func(d *admin.Admin) error {
		done, err := d.Imports.Import(cmd.Context(), actor(), plan, flags.ImportOptions)
		if printed := env.printImport(&done, flags.DryRun); err == nil {
			err = printed
		}
		return err
	})
}

// importView holds an import as --json shows it.
type importView struct {
	DryRun        bool                       `json:"dry_run"`
	Configuration []changeView               `json:"configuration"`
	Changes       []imports.Change           `json:"changes"`
	Invitations   []admin.ImportedInvitation `json:"invitations"`
	NotTakenOver  []imports.Left             `json:"not_taken_over"`
}

// changeView holds a change of the managed configuration.
type changeView struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

func (o *output) printImport(done *admin.Imported, dryRun bool) error {
	if o.asJSON {
		v := importView{
			DryRun: dryRun, Configuration: []changeView{}, Changes: append([]imports.Change{}, done.Changes...),
			Invitations:  append([]admin.ImportedInvitation{}, done.Invitations...),
			NotTakenOver: append([]imports.Left{}, done.Left...),
		}
		for _, c := range done.Config {
			v.Configuration = append(v.Configuration, changeView{c.Path, c.Before, c.After})
		}
		return printJSON(o.stdout, v)
	}
	lines := changeLines(done.Config)
	for _, c := range done.Changes {
		name := c.Account
		if c.Name != "" {
			name += " " + c.Name
		}
		lines = append(lines, fmt.Sprintf("+ %s %s: %s", c.Kind, name, c.Detail))
	}
	for _, i := range done.Invitations {
		lines = append(lines, fmt.Sprintf("+ invitation %s %s: %s %s", i.Account, i.Email, i.Role, i.Link))
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	if len(done.Left) > 0 {
		lines = append(lines, "Not imported, or imported with changes:")
		for _, l := range done.Left {
			lines = append(lines, fmt.Sprintf("! %s: %s", l.From, l.Why))
		}
		lines = append(lines, "")
	}
	return o.printLines(append(lines, importEnd(done, dryRun)))
}

// importEnd reports how many changes there are, and whether they were made.
func importEnd(done *admin.Imported, dryRun bool) string {
	n := len(done.Config) + len(done.Changes) + len(done.Invitations)
	switch {
	case n == 0:
		return "nothing changes"
	case dryRun:
		return fmt.Sprintf("%d changes, not made: add --yes to make them", n)
	}
	return fmt.Sprintf("%d changes, in force within a second", n)
}
