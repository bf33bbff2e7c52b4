package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/llm"
	"weir/internal/route"
)

// modelView is a model as listings show it; prices are US dollars per million
// tokens.
type modelView struct {
	ID        string            `json:"id"`
	Provider  string            `json:"provider,omitempty"`
	Context   int64             `json:"context,omitempty"`
	MaxOutput int64             `json:"max_output,omitempty"`
	Prices    map[string]string `json:"prices,omitempty"`
	Unpriced  bool              `json:"unpriced,omitempty"`
	Source    string            `json:"source,omitempty"`
	Checked   string            `json:"checked,omitempty"`
	Targets   []string          `json:"targets,omitempty"`
}

func newModels(env *environment) *cobra.Command {
	var provider string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "models", Short: "List models with context window and prices, where from and of which day",
		Example: "  weir models --provider openai", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.loadConfig("")
			if err != nil {
				return err
			}
			models, err := app.Models(cmd.Context(), cfg, os.Getenv, env.logger(&cfg), provider)
			if err != nil {
				return err
			}
			views := make([]modelView, 0, len(models))
			for i := range models {
				views = append(views, viewModel(&models[i]))
			}
			return list(env, views, []string{"MODEL", "CONTEXT", "INPUT $/M", "OUTPUT $/M", "SOURCE", "CHECKED"}, (*modelView).row)
		},
	})
	cmd.Flags().StringVar(&provider, "provider", "", "of this provider alone, configured or not")
	return cmd
}

func viewModel(m *route.Model) modelView {
	v := modelView{
		ID: m.Name, Provider: m.Provider, Context: m.Context, MaxOutput: m.MaxOutput,
		Source: m.Source, Checked: m.Checked, Targets: m.Targets,
	}
	if m.Provider == "" {
		return v
	}
	if !m.Price.Known() {
		v.Unpriced = true
		return v
	}
	v.Prices = map[string]string{}
	for c := range llm.NumTokens {
		v.Prices[llm.Class(c).String()] = llm.FormatRate(m.Price.Rates[c])
	}
	return v
}

func (v *modelView) row() []string {
	context := "?"
	if v.Context > 0 {
		context = count(v.Context)
	}
	switch {
	case len(v.Targets) > 0:
		return []string{v.ID, "", "", "", "alias of " + strings.Join(v.Targets, ", "), ""}
	case v.Unpriced:
		return []string{v.ID, context, "unpriced", "unpriced", v.Source, v.Checked}
	}
	return []string{v.ID, context, v.Prices["input"], v.Prices["output"], v.Source, v.Checked}
}
