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
		Args:    someFiles,
		RunE:    func(cmd *cobra.Command, files []string) error { return checkPrices(cmd, env, files) },
	}
	diff := env.jsonFlag(&cobra.Command{
		Use: "diff FILE...", Short: "List what price files, or lists of others, change of the prices in force",
		Long: "List what costs otherwise, at this moment, once price files are added to those of the configuration:\n" +
			"model, class, before and after, in US dollars per million tokens or for one of what is not tokens.\n" +
			"Of a file that the configuration names already: what it changes of the prices without it.\n" +
			"A file may be a list that \"weir prices import\" reads, such as a newer copy of what the embedded data is\n" +
			"made of: models.dev's api.json, or prices/data.json of genai-prices. Models that have a price now, and are\n" +
			"not in a list that has others of their provider, are \"gone\".",
		Example: "  weir prices diff prices.json\n  weir prices diff --json data.json api.json", Args: someFiles,
		RunE: func(cmd *cobra.Command, files []string) error { return diffPrices(cmd, env, files) },
	})
	var seen string
	var own bool
	convert := &cobra.Command{
		Use: "import FROM", Short: "Print a price list of others as a price file",
		Long: "Print a price file made of LiteLLM's model_prices_and_context_window.json, of what OpenRouter answers\n" +
			"to GET /api/v1/models, of models.dev's api.json or of prices/data.json of genai-prices, from a file on this\n" +
			"machine: nothing is fetched. What has no place in a price file is counted on stderr and left out, so that it\n" +
			"stays unknown. The prices are assumed, since the list is not of who sends the bill. With --own they are exact.",
		Example: "  weir prices import model_prices_and_context_window.json > prices.json\n  weir prices import " +
			"models.json --seen 2026-11-20", Args: oneArg("FROM"),
		RunE: func(_ *cobra.Command, args []string) error { return importPrices(env, args[0], seen, own) },
	}
	convert.Flags().StringVar(&seen, "seen", "",
		"day of the list, YYYY-MM-DD (default: when the file was last changed)")
	convert.Flags().BoolVar(&own, "own", false,
		"the list is yours, and its prices are what you are charged: exact, not assumed")
	return group("prices", "Prices: of the managed configuration, and price files",
		append([]*cobra.Command{check, diff, convert}, managedCommands(env, priceSection())...)...)
}

// someFiles wants the names of files.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("%s takes the names of price files", cmd.CommandPath())}
	}
	return nil
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

func diffPrices(cmd *cobra.Command, env *environment, files []string) error {
	o, err := env.options()
	if err != nil {
		return err
	}
	changes, err := o.DiffPrices(cmd.Context(), files)
	if err != nil {
		return err
	}
	if len(changes) == 0 && !env.asJSON {
		_, err := fmt.Fprintln(env.stdout, "no price differs")
		return err
	}
	heads := []string{"CHANGE", "MODEL", "CLASS", "BEFORE", "AFTER"}
	return list(env, changes, heads, func(c *pricing.Change) []string {
		if c.Class == "" {
			return []string{c.Kind, c.Model, "-", "-", "-"}
		}
		return []string{c.Kind, c.Model, c.Class, cmp.Or(c.Before, "unknown"), cmp.Or(c.After, "unknown")}
	})
}

func importPrices(env *environment, from, seen string, own bool) error {
	c, err := app.ImportPrices(from, seen, own)
	if err != nil {
		return err
	}
	if _, err := env.stdout.Write(c.File); err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "%d models\n", c.Models)
	for _, name := range c.Twice {
		fmt.Fprintf(env.stderr, "twice with other prices, of which the later ones count: %s\n", name)
	}
	for _, what := range slices.Sorted(maps.Keys(c.Left)) {
		fmt.Fprintf(env.stderr, "left out: %s (%d)\n", what, c.Left[what])
	}
	return nil
}
