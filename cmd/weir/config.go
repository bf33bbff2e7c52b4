package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/upstream"
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

// checkConfig finds the mistakes that serve would find, and prints each on a line of its own.
func checkConfig(cmd *cobra.Command, env *environment) error {
	cfg, err := app.CheckConfig(cmd.Context(), env.configOptions(""), upstream.Options{
		Getenv: os.Getenv, Log: env.logger(&config.Config{}), Version: thisBuild().version,
	})
	for _, w := range cfg.Warnings {
		fmt.Fprintln(env.stderr, "warning:", w)
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range problems {
			fmt.Fprintln(env.stderr, p.Error())
		}
		return errQuiet
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "%s: no mistakes\n", cmp.Or(cfg.File, "defaults and environment"))
	return err
}
