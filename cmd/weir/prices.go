package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/pricing"
)

func newPrices(env *environment) *cobra.Command {
	check := &cobra.Command{
		Use: "check FILE...", Short: "Say every mistake and unknown name in price files, with file, line and column",
		Example: "  weir prices check prices.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("%s takes the names of price files", cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error { return checkPrices(cmd, env, files) },
	}
	diff := env.jsonFlag(&cobra.Command{
		Use: "diff FILE", Short: "List what a price file changes of the prices in force",
		Long: "List what costs otherwise, at this moment, once a price file is added to those of the configuration:\n" +
			"model, class, before and after, in US dollars per million tokens or for one of what is not tokens.\n" +
			"Of a file that the configuration names already: what it changes of the prices without it.",
		Example: "  weir prices diff prices.json", Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return diffPrices(cmd, env, args[0]) },
	})
	var seen string
	convert := &cobra.Command{
		Use: "import FROM", Short: "Print a price list of others as a price file",
		Long: "Print a price file made of LiteLLM's model_prices_and_context_window.json, or of what OpenRouter " +
			"answers to\n" +
			"GET /api/v1/models, from a file on this machine: nothing is fetched. What has no place in a price file is\n" +
			"counted on stderr and left out, so that it stays unknown.",
		Example: "  weir prices import model_prices_and_context_window.json > prices.json\n  weir prices import " +
			"models.json --seen 2026-11-20", Args: oneArg("FROM"),
		RunE: func(_ *cobra.Command, args []string) error { return importPrices(env, args[0], seen) },
	}
	convert.Flags().StringVar(&seen, "seen", "",
		"day of the list, YYYY-MM-DD (default: when the file was last changed)")
	return group("prices", "Prices: of the managed configuration, and price files",
		append([]*cobra.Command{check, diff, convert}, managedCommands(env, priceSection())...)...)
}

func checkPrices(cmd *cobra.Command, env *environment, files []string) error {
	o, err := env.options()
	if err != nil {
		return err
	}
	err = o.CheckPrices(cmd.Context(), files)
	if problems, ok := errors.AsType[pricing.Problems](err); ok {
		for _, p := range problems {
			fmt.Fprintln(env.stderr, p.Error())
		}
		return errQuiet
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := fmt.Fprintf(env.stdout, "%s: no mistakes\n", file); err != nil {
			return err
		}
	}
	return nil
}

func diffPrices(cmd *cobra.Command, env *environment, file string) error {
	o, err := env.options()
	if err != nil {
		return err
	}
	changes, err := o.DiffPrices(cmd.Context(), file)
	if err != nil {
		return err
	}
	if len(changes) == 0 && !env.asJSON {
		_, err := fmt.Fprintln(env.stdout, "no price differs")
		return err
	}
	return list(env, changes, []string{"MODEL", "CLASS", "BEFORE", "AFTER"}, func(c *pricing.Change) []string {
		return []string{c.Model, c.Class, cmp.Or(c.Before, "unknown"), cmp.Or(c.After, "unknown")}
	})
}

func importPrices(env *environment, from, seen string) error {
	c, err := app.ImportPrices(from, seen)
	if err != nil {
		return err
	}
	if _, err := env.stdout.Write(c.File); err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "%d models\n", c.Models)
	for _, what := range slices.Sorted(maps.Keys(c.Left)) {
		fmt.Fprintf(env.stderr, "left out: %s (%d)\n", what, c.Left[what])
	}
	return nil
}
