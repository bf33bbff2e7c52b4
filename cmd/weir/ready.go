package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/app"
)

func newReady(env *environment) *cobra.Command {
	var listen string
	var within time.Duration
	cmd := &cobra.Command{
		Use: "ready", Short: "Ask the gateway on this machine whether it takes requests",
		Long: "Ask GET /readyz of the gateway that runs on this machine with the same configuration. The exit code\n" +
			"is 0 if it takes requests and 1 if it does not: for the health check of a container.",
		Example: "  weir ready\n  weir ready --listen 127.0.0.1:9090 --timeout 2s", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.loadConfig(listen)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			return app.Ready(ctx, &cfg)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address that the gateway listens on (default 127.0.0.1:8080)")
	cmd.Flags().DurationVar(&within, "timeout", 4*time.Second, "how long it may take to answer")
	return cmd
}
