package main

import (
	"github.com/spf13/cobra"

	"weir/internal/app"
)

func newSimulate(env *environment) *cobra.Command {
	var o app.SimulateOptions
	cmd := &cobra.Command{
		Use: "simulate", Short: "Run the fake provider, for tests of programs and of gateways",
		Long: "Run a provider that is not one: what it answers, how slowly, and how it fails is chosen by the\n" +
			"model's name. GET /ledger tells what it truly served, GET /v1/models what it can do.",
		Example: "  weir simulate --listen 127.0.0.1:9000 --seed 1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Stderr = env.stderr
			return app.Simulate(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:9000", "address to listen on")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of every answer")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "refuse what breaks a rule of the vendor, in its words")
	return cmd
}
