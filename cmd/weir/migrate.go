package main

import (
	"fmt"

	"weir/internal/admin"

	"github.com/spf13/cobra"
)

func newMigrate(env *environment) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "migrate", Short: "Migrate the database's schema, as serve does at its start",
		Example: "  weir migrate --check", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.loadConfig("")
			if err != nil {
				return err
			}
			m, err := admin.Migrate(cmd.Context(), cfg, env.logger(&cfg), check)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.stdout, "schema %d, this version needs %d\n", m.Current, m.Target)
			if m.Pending {
				return errQuiet
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit with 1 if a migration is pending")
	return cmd
}
