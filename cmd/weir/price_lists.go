package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/charge"
)

func priceListRow(v *admin.PriceListView) []string {
	return []string{v.Since.Format(time.RFC3339Nano), v.Markup + " %", count(int64(len(v.Prices)))}
}

func newAccountsPrices(env *environment) *cobra.Command {
	var markup, file, since string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "prices NAME", Short: "Set an account's price list, or show its price lists",
		Long: "Charge an account the cost of its requests plus a markup in percent, or its own prices, from now or\n" +
			"a later time on. From then on its budgets, credit and usage are in these charges; earlier rows stay\n" +
			"unchanged. A new list replaces the lists of the same or a later time. --markup 0 charges the cost.\n" +
			"The file has prices by model in JSON, as under prices in the configuration. The markup applies to\n" +
			"all other models. Without flags the lists are shown.",
		Example: "  weir accounts prices research --markup 15\n  weir accounts prices research --markup 7.5 " +
			"--prices own.json " +
			"--since 2099-01-01T00:00:00Z\n  weir accounts prices research",
		Args: oneArg("the account's name"),
	})
	flags := cmd.Flags()
	flags.StringVar(&markup, "markup", "", "percent added to the cost, such as 15, 7.25 or -5 (default 0 with "+
		"--prices)")
	flags.StringVar(&file, "prices", "", "JSON file with the account's own prices")
	flags.StringVar(&since, "since", "", "start, an RFC 3339 time (default now)")
	cmd.RunE = env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
		a, err := d.Accounts.Account(ctx, args[0])
		if err != nil {
			return err
		}
		if flags.Changed("markup") || flags.Changed("prices") || flags.Changed("since") {
			l, err := readPriceList(markup, file, since)
			if err != nil {
				return err
			}
			if a, err = d.Accounts.SetPriceList(ctx, actor(), a.ID, l); err != nil {
				return err
			}
		}
		heads := []string{"SINCE", "MARKUP", "OWN PRICES"}
		return listViews(&env.output, a.PriceLists, nil, admin.ViewPriceList, heads, priceListRow)
	})
	return cmd
}

// readPriceList reads the flags of a price list.
func readPriceList(markup, file, since string) (l account.PriceList, err error) {
	if markup != "" {
		if l.Markup, err = charge.ParseMarkup(markup); err != nil {
			return l, usageError{err}
		}
	}
	if since != "" {
		if l.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return l, usageError{fmt.Errorf("--since is an RFC 3339 time such as 2099-01-31T00:00:00Z; got %q", since)}
		}
	}
	if markup == "" && file == "" {
		return l, usageError{fmt.Errorf("a price list has a markup, prices or both: give --markup or --prices")}
	}
	if file == "" {
		return l, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l.Prices); err != nil {
		return l, fmt.Errorf("%s: not a JSON object of prices by \"<provider>/<model>\": %w", file, err)
	}
	if len(l.Prices) == 0 && markup == "" {
		return l, usageError{fmt.Errorf("%s has no prices: add some, or give --markup", file)}
	}
	return l, nil
}
