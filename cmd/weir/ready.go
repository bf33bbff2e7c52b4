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
		Use: "ready", Short: "Check whether the gateway on this machine accepts requests",
		Long: "Send GET /readyz to the gateway that runs on this machine with the same configuration. The exit\n" +
			"code is 0 if it accepts requests and 1 if it does not. For the health check of a container.",
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
	durationFlag(cmd, &within, "timeout", 4*time.Second, "maximum time to wait for the answer")
	return cmd
}
