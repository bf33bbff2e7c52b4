package main

import (
	"github.com/spf13/cobra"

	"weir/internal/app"
)

func newSimulate(env *environment) *cobra.Command {
	var o app.SimulateOptions
	cmd := &cobra.Command{
		Use: "simulate", Short: "Run a simulated provider, for tests of programs and gateways",
		Long: "Run a simulated provider. The model's name selects its answers, their speed and their failures. GET\n" +
			"/ledger returns the usage that it truly served, GET /v1/models the models.",
		Example: "  weir simulate --listen 127.0.0.1:9000 --seed 1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Stderr = env.stderr
			return app.Simulate(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:9000", "address to listen on")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of every answer")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "refuse requests that break a rule of the vendor, with its message")
	cmd.Flags().BoolVar(&o.PromptCache, "prompt-cache", false, "cache prompts by API key and model, as the vendors do")
	return cmd
}
