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

// masterKeyView holds a key as listings show it.
type masterKeyView struct {
	Name    string `json:"name"`
	From    string `json:"from,omitempty"` // left out if the key is missing
	AtHand  bool   `json:"at_hand"`
	Seals   bool   `json:"seals"`
	Secrets int    `json:"secrets"`
}

func (v *masterKeyView) row() []string {
	from, seals := v.From, "no"
	if !v.AtHand {
		from = "missing"
	}
	if v.Seals {
		seals = "yes"
	}
	return []string{v.Name, from, seals, strconv.Itoa(v.Secrets)}
}

func newSecretsList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the keys by name, with the number of secrets that each seals",
		Example: "  weir secrets list", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			keys, err := d.Secrets.Keys(ctx)
			view := func(k *admin.MasterKey) masterKeyView {
				return masterKeyView{k.Name, k.From, k.From != "", k.Seals, k.Secrets}
			}
			return listViews(env, keys, err, view, []string{"KEY", "FROM", "SEALS", "SECRETS"}, (*masterKeyView).row)
		}),
	})
}
