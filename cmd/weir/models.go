package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/config"
	"weir/internal/pricing"
	"weir/internal/route"
	"weir/internal/upstream"
)

// modelView holds a model as listings show it.
type modelView struct {
	ID        string `json:"id"`
	Provider  string `json:"provider,omitempty"`
	Context   int64  `json:"context,omitempty"`    // tokens
	MaxOutput int64  `json:"max_output,omitempty"` // tokens
	route.View
	abilities pricing.Abilities
}

func newModels(env *environment) *cobra.Command {
	var provider string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "models", Short: "List models with context window, prices and abilities",
		Long: "List models with context window, prices (US dollars per million tokens), largest answer, and\n" +
			"abilities:\n" +
			modelLegend + "\n" +
			"A model without a price is unpriced, which is not free.",
		Example: "  weir models --provider openai", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, _, err := env.managedOptions(cmd)
			if err != nil {
				return err
			}
			models, err := o.Models(cmd.Context(), provider)
			if err != nil {
				return err
			}
			slices.SortStableFunc(models, func(a, b route.Model) int { return cmp.Compare(demoLast(&a), demoLast(&b)) })
			views := make([]modelView, len(models))
			for i := range models {
				views[i] = viewModel(&models[i])
			}
			return env.listModels(views)
		},
	})
	cmd.Flags().StringVar(&provider, "provider", "", "only this provider, configured or not")
	cmd.AddCommand(managedCommands(env, modelSection())...)
	return cmd
}

// demoLast returns 1 for a model of the demo, whose answers and prices are invented, else 0.
func demoLast(m *route.Model) int {
	if m.Provider == upstream.DemoName {
		return 1
	}
	return 0
}

func viewModel(m *route.Model) modelView {
	return modelView{
		ID: m.Name, Provider: m.Provider, Context: m.Context, MaxOutput: m.MaxOutput,
		View: m.View(), abilities: m.Abilities,
	}
}

// modelLegend explains the letters of the column CAN.
const modelLegend = "i images, d documents, a audio, t tools, s structured answers,\n" +
	"r reasoning; - no, ? unknown"

// listModels prints JSON; or all columns, one line per model, if a program reads the output; or the columns that fit
// the terminal, with a legend.
func (o *output) listModels(views []modelView) error {
	if o.asJSON {
		return printJSON(o.stdout, append([]modelView{}, views...))
	}
	heads := []string{"MODEL", "CONTEXT", "INPUT $/M", "OUTPUT $/M", "MAX OUT", "CAN", "SOURCE", "CHECKED", "NOTE"}
	rows := rowsOf(views, (*modelView).row)
	width := terminalWidth(o.stdout, os.Getenv)
	if width == 0 {
		return printFolded(o.stdout, math.MaxInt, heads, rows)
	}
	legend := modelLegend
	if tableWidth(heads, rows) > width {
		heads = []string{"MODEL", "CONTEXT", "IN $/M", "OUT $/M", "MAX OUT", "CAN"}
		rows = rowsOf(views, (*modelView).shortRow)
		legend += ", x deprecated"
	}
	if err := printFolded(o.stdout, width, heads, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.stdout, "\nCAN: %s.\nPrices: %s.\nModels: %s.\n", legend, upstream.PriceData(),
		upstream.AbilityData())
	return err
}

func (v *modelView) row() []string {
	if v.Provider == "" {
		return []string{v.ID, "", "", "", "", "", "", "", v.aliasOf()}
	}
	note := ""
	switch {
	case v.Provider == upstream.DemoName:
		note = "demo, with an invented price"
	case v.Deprecated:
		note = "deprecated"
	}
	return append(v.columns(), letters(&v.abilities), pricing.SourceName(v.Source), v.Checked, note)
}

// shortRow returns a row without the source of the price.
func (v *modelView) shortRow() []string {
	if v.Provider == "" {
		return []string{v.ID, "", "", "", "", v.aliasOf()}
	}
	can := letters(&v.abilities)
	if v.Deprecated {
		can += "x"
	}
	return append(v.columns(), can)
}

func (v *modelView) aliasOf() string { return "alias of " + strings.Join(v.Targets, ", ") }

// columns returns the first columns of every row.
func (v *modelView) columns() []string {
	input, output := v.tokenPrices()
	return []string{v.ID, sizeOrNone(v.Context), input, output, sizeOrNone(v.MaxOutput)}
}

// tokenPrices returns the prices of a million tokens, or the unit of a model that is priced by another one: a model
// that is paid by the second is not free.
func (v *modelView) tokenPrices() (input, output string) {
	if v.Unpriced {
		return "unpriced", "unpriced"
	}
	input, output = v.Prices["input"], v.Prices["output"]
	for _, unit := range config.UnitClasses() {
		if _, ok := v.Prices[unit]; ok && cmp.Or(input, "0") == "0" && cmp.Or(output, "0") == "0" {
			return "by " + unit, "by " + unit
		}
	}
	return cmp.Or(input, "none"), cmp.Or(output, "none")
}

func sizeOrNone(tokens int64) string {
	if tokens == 0 {
		return "?"
	}
	return count(tokens)
}

// letters returns a letter for each ability, in the order of the legend.
func letters(a *pricing.Abilities) string {
	var b strings.Builder
	for _, n := range a.List() {
		switch n.Ability {
		case pricing.Yes:
			b.WriteByte(n.Name[0])
		case pricing.No:
			b.WriteByte('-')
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}
