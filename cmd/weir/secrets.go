package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"weir/internal/app"
)

func newSecrets(env *environment) *cobra.Command {
	return group("secrets", "What secrets in the database are sealed with", newSecretsRotate(env), newSecretsList(env))
}

func newSecretsRotate(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Seal all secrets in the database with a new key",
		Long: "Seal all secrets in the database anew. Where the configuration has no secrets.key, a new key takes\n" +
			"the place of those in secrets.key of the data directory, and a running gateway finds it by itself.\n" +
			"Where it has one, that is the key: set secrets.key to a new one and secrets.previous to the one " +
			"before,\n" +
			"restart all gateways, then run this, and take secrets.previous out. When it is interrupted, run it " +
			"again.\n" +
			"A backup of the database from before opens with the key of then alone.",
		Example: "  weir secrets rotate", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *app.Data, _ []string) error {
			r, err := d.RotateSecrets(ctx, actor())
			if err != nil {
				return err
			}
			where := "secrets.previous can be taken out of the configuration"
			if r.File != "" {
				where = r.File + " holds it alone: keep a copy of it apart from those of the database"
			}
			_, err = fmt.Fprintf(env.stdout, "secrets sealed with the key %s: %d\n%s\n", r.Key, r.Secrets, where)
			return err
		}),
	}
}

// masterKeyView is a key as listings show it.
type masterKeyView struct {
	Name    string `json:"name"`
	From    string `json:"from,omitempty"` // left out for one that is not at hand
	AtHand  bool   `json:"at_hand"`
	Seals   bool   `json:"seals"`
	Secrets int    `json:"secrets"`
}

func (v *masterKeyView) row() []string {
	from, seals := v.From, "no"
	if !v.AtHand {
		from = "not at hand"
	}
	if v.Seals {
		seals = "yes"
	}
	return []string{v.Name, from, seals, strconv.Itoa(v.Secrets)}
}

func newSecretsList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the keys by name, and how many secrets are sealed with each",
		Example: "  weir secrets list", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *app.Data, _ []string) error {
			keys, err := d.MasterKeys(ctx)
			view := func(k *app.MasterKey) masterKeyView {
				return masterKeyView{k.Name, k.From, k.From != "", k.Seals, k.Secrets}
			}
			return listViews(env, keys, err, view, []string{"KEY", "FROM", "SEALS", "SECRETS"}, (*masterKeyView).row)
		}),
	})
}
