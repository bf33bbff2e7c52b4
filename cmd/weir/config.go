package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/config"
)

func newConfig(env *environment) *cobra.Command {
	check := &cobra.Command{
		Use: "check", Short: "Print every mistake in the configuration, with file, line and column",
		Example: "  weir config check --config weir.yaml", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd, env) },
	}
	show := &cobra.Command{
		Use: "show", Short: "Print the configuration in force, with secrets hidden",
		Example: "  weir config show", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := env.loadConfig("")
			if err != nil {
				return err
			}
			_, err = env.stdout.Write(cfg.Redacted())
			return err
		},
	}
	return group("config", "Check and show the configuration, and restore its versions",
		check, show, newConfigVersions(env), newConfigRestore(env))
}

// checkConfig loads the configuration and builds the models from it, so that it finds the mistakes that serve would
// find.
func checkConfig(cmd *cobra.Command, env *environment) error {
	o, err := env.options()
	if problems, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range problems {
			fmt.Fprintln(env.stderr, p.Error())
		}
		return errQuiet
	}
	if err != nil {
		return err
	}
	for _, w := range o.Config.Warnings {
		fmt.Fprintln(env.stderr, "warning:", w)
	}
	if _, err := o.Models(cmd.Context(), ""); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "%s: no mistakes\n", cmp.Or(o.Config.File, "defaults and environment"))
	return err
}
