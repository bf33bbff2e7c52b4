package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"weir/internal/route"
)

func newProviders(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "providers", Short: "List providers with their state, last error, resting keys and latency",
		Long: "List the configured providers. Beside a running gateway their state is what it knows of them:\n" +
			"ok, failing (the last attempt failed), unavailable (passed over where another target is left)\n" +
			"or unused. Latency is a moving average of the time to the first token of streams.",
		Example: "  weir providers --json", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := env.options()
			if err != nil {
				return err
			}
			all, running, err := o.Providers(cmd.Context())
			if err != nil {
				return err
			}
			if !running {
				_, _ = fmt.Fprintln(env.stderr,
					"No gateway runs on this data directory: nothing is known of the providers' state.")
			}
			if env.asJSON {
				return printJSON(env.stdout, all)
			}
			var rows [][]string
			for i := range all {
				rows = append(rows, providerRows(&all[i])...)
			}
			return printTable(env.stdout, []string{"PROVIDER", "STATE", "KEYS", "LATENCY", "LAST ERROR"}, rows)
		},
	})
}

// none stands where there is nothing to say, so that columns stay in line.
const none = "-"

// providerRows are the provider's own row, and one for each model of it that
// was asked.
func providerRows(p *route.ProviderCondition) [][]string {
	keys := strconv.Itoa(p.Keys)
	if p.Resting > 0 {
		keys += fmt.Sprintf(" (%d resting)", p.Resting)
	}
	rows := [][]string{{p.Name, string(p.State), keys, none, none}}
	for i := range p.Targets {
		t := &p.Targets[i]
		latency, failure := none, none
		if t.LatencyMS > 0 {
			latency = fmt.Sprintf("%d ms", t.LatencyMS)
		}
		state := string(t.State)
		if t.Until != nil {
			state += " until " + t.Until.Format("15:04:05Z")
		}
		if t.Alone > 0 {
			state += fmt.Sprintf(" (unavailable to %d accounts alone)", t.Alone)
		}
		if t.LastError != "" {
			failure = t.LastError
		}
		rows = append(rows, []string{"  " + t.Target, state, none, latency, failure})
	}
	return rows
}
