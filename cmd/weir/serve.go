package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/config"
)

func newServe(env *environment) *cobra.Command {
	var listen string
	var takeover bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: "Run the gateway until SIGTERM, which lets requests in flight finish; a second one stops it at once.\n" +
			"SIGHUP reloads the configuration. A socket that systemd passes replaces --listen. The first start\n" +
			"prints a first API key. If the address is reachable from other machines, or systemd stores the\n" +
			"output, it prints the command that creates one instead.",
		Example: "  weir serve\n  weir serve --takeover\n  OPENAI_API_KEY=sk-... weir serve --listen 127.0.0.1:9090",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, env, listen, takeover)
		},
	}
	cmd.Flags().BoolVar(&takeover, "takeover", false,
		"take over from the gateway that runs on the same data directory, which then stops; start normally if "+
			"there is none")
	cmd.Flags().StringVar(&listen, "listen", "", "address to listen on (default 127.0.0.1:8080)")
	return cmd
}

func serve(cmd *cobra.Command, env *environment, listen string, takeover bool) error {
	load := func(managed []byte) (config.Config, error) {
		o := env.configOptions(listen)
		o.Managed = managed
		return config.Load(o)
	}
	cfg, err := load(nil)
	if err != nil {
		return err
	}
	reloads := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		for {
			select {
			case <-cmd.Context().Done():
				return
			case <-signals:
			}
			select {
			case <-cmd.Context().Done():
				return
			case reloads <- struct{}{}:
			}
		}
	}()
	limitMemory(os.DirFS("/"), os.Getenv)
	// outlives cmd.Context() while the gateway drains
	serving, end := context.WithCancel(context.WithoutCancel(cmd.Context()))
	var bounding sync.WaitGroup
	defer bounding.Wait()
	defer end()
	if os.Getenv("GOGC") == "" {
		bounding.Go(func() { boundGarbage(serving) })
	}
	log, b := env.logger(&cfg), thisBuild()
	log.Info("starting", "version", b.version, "commit", known(b.commit), "date", known(b.date))
	return app.Run(cmd.Context(), app.Options{
		Config: cfg, ConfigFrom: env.configOptions(listen), Reload: load, ReloadSignals: reloads,
		Getenv: os.Getenv, Stdout: env.stdout, Stderr: env.stderr,
		Log: log, Version: b.version, Takeover: takeover, Journal: faults(),
	})
}
