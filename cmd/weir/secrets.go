package main

import (
	"context"
	"fmt"
	"strconv"

	"weir/internal/admin"

	"github.com/spf13/cobra"
)

func newSecrets(env *environment) *cobra.Command {
	return group("secrets", "Rotate and list the keys that seal the secrets in the database",
		newSecretsRotate(env), newSecretsList(env))
}

func newSecretsRotate(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Seal all secrets in the database with a new key",
		Long: "Seal all secrets in the database with a new key. Without secrets.key in the configuration, a new\n" +
			"key replaces the keys in the file secrets.key of the data directory, and a running gateway reads it\n" +
			"by itself. With secrets.key in the configuration: set secrets.key to a new key and secrets.previous\n" +
			"to the former one, restart all gateways, run this command, then remove secrets.previous. If it is\n" +
			"interrupted, run it again.\n" +
			"A backup of the database from before the rotation can only be read with the former key.",
		Example: "  weir secrets rotate", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			r, err := d.Secrets.Rotate(ctx, actor())
			if err != nil {
				return err
			}
			where := "secrets.previous can be removed from the configuration"
			if r.File != "" {
				where = r.File + " now holds only this key: keep a copy of it, separate from the backups of the " +
					"database"
			}
			_, err = fmt.Fprintf(env.stdout, "secrets sealed with the key %s: %d\n%s\n", r.Key, r.Secrets, where)
			return err
		}),
	}
}

func masterKeyRow(k *admin.MasterKey) []string {
	from, seals := k.From, "no"
	if !k.AtHand {
		from = "missing"
	}
	if k.Seals {
		seals = "yes"
	}
	return []string{k.Name, from, seals, strconv.Itoa(k.Secrets)}
}

func newSecretsList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the keys by name, with the number of secrets that each seals",
		Example: "  weir secrets list", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			keys, err := d.Secrets.Keys(ctx)
			if err != nil {
				return err
			}
			return list(&env.output, keys, []string{"KEY", "FROM", "SEALS", "SECRETS"}, masterKeyRow)
		}),
	})
}
