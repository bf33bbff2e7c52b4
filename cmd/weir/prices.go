package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"weir/internal/pricing"
	"weir/internal/upstream"
)

func newPrices(env *environment) *cobra.Command {
	check := &cobra.Command{
		Use: "check FILE...", Short: "Print every mistake and unknown name in price files, with file, line and column",
		Example: "  weir prices check prices.json",
		Args:    someFiles,
		RunE:    func(cmd *cobra.Command, files []string) error { return checkPrices(cmd, env, files) },
	}
	diff := env.jsonFlag(&cobra.Command{
		Use: "diff FILE...", Short: "Compare price files or public price lists with the prices in force",
		Long: "List the prices that change if price files are added to those of the configuration: model, class,\n" +
			"before and after, in US dollars per million tokens or per unit. A file that the configuration\n" +
			"already names is compared with the prices without it.\n" +
			"A file may be a list that \"weir prices import\" reads, such as a newer copy of the sources of the\n" +
			"embedded data: models.dev's api.json, or prices/data.json of genai-prices. A model is \"gone\" if\n" +
			"it has a price now, and the list has other models of its provider but not this one.",
		Example: "  weir prices diff prices.json\n  weir prices diff --json data.json api.json", Args: someFiles,
		RunE: func(cmd *cobra.Command, files []string) error { return diffPrices(cmd, env, files) },
	})
	var seen string
	var own bool
	convert := &cobra.Command{
		Use: "import FROM", Short: "Convert a public price list to a price file",
		Long: "Print a price file made from LiteLLM's model_prices_and_context_window.json, OpenRouter's answer to\n" +
			"GET /api/v1/models, models.dev's api.json or prices/data.json of genai-prices. The list is a file\n" +
			"on this machine; nothing is downloaded. Data without a place in a price file are counted on stderr\n" +
			"and left out, so they stay unknown. The prices are assumed, because the list is not from the vendor\n" +
			"that sends the bill. With --own they are exact.",
		Example: "  weir prices import model_prices_and_context_window.json > prices.json\n  weir prices import " +
			"models.json --seen 2026-11-20", Args: oneArg("FROM"),
		RunE: func(_ *cobra.Command, args []string) error { return importPrices(env, args[0], seen, own) },
	}
	convert.Flags().StringVar(&seen, "seen", "",
		"day of the list, YYYY-MM-DD (default the day of the file's last change)")
	convert.Flags().BoolVar(&own, "own", false,
		"the list has the prices that you are charged: they are exact, not assumed")
	return group("prices", "Change managed prices, and check, compare and convert price files",
		append([]*cobra.Command{check, diff, convert}, managedCommands(env, priceSection())...)...)
}

// someFiles requires the names of files.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("%s needs the names of price files", cmd.CommandPath())}
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
		_, err := fmt.Fprintln(env.stdout, "no price changes")
		return err
	}
	heads := []string{"CHANGE", "MODEL", "CLASS", "BEFORE", "AFTER"}
	return list(&env.output, changes, heads, func(c *pricing.Change) []string {
		if c.Class == "" {
			return []string{c.Kind, c.Model, "-", "-", "-"}
		}
		return []string{c.Kind, c.Model, c.Class, cmp.Or(c.Before, "unknown"), cmp.Or(c.After, "unknown")}
	})
}

func importPrices(env *environment, from, seen string, own bool) error {
	c, err := upstream.ImportPrices(from, seen, own)
	if err != nil {
		return err
	}
	if _, err := env.stdout.Write(c.File); err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "%d models\n", c.Models)
	for _, name := range c.Twice {
		fmt.Fprintf(env.stderr, "listed twice with different prices, the later one is used: %s\n", name)
	}
	for _, what := range slices.Sorted(maps.Keys(c.Left)) {
		fmt.Fprintf(env.stderr, "left out: %s (%d)\n", what, c.Left[what])
	}
	return nil
}
