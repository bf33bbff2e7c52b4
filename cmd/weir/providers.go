package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"weir/internal/route"
)

// providerView holds a provider and the place where it is configured.
type providerView struct {
	route.ProviderCondition
	From string `json:"from"` // file and line, "managed" or "environment"
}

func newProviders(env *environment) *cobra.Command {
	cmd := env.jsonFlag(&cobra.Command{
		Use: "providers", Short: "List providers with their state, last error, resting keys and latency",
		Long: "List the configured providers. If a gateway runs, their state is the one that it knows: ok, failing\n" +
			"(the last attempt failed), unavailable (skipped while another target is available) or unused.\n" +
			"Latency is a moving average of the time to the first token of streams.",
		Example: "  weir providers --json", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, objects, err := env.managedOptions(cmd)
			if err != nil {
				return err
			}
			all, running, err := o.Providers(cmd.Context())
			if err != nil {
				return err
			}
			if !running {
				_, _ = fmt.Fprintln(env.stderr,
					"No gateway runs on this data directory: the state of the providers is unknown.")
			}
			views, rows := []providerView{}, [][]string(nil)
			for i := range all {
				views = append(views, providerView{all[i], placeOf(objects, "providers", all[i].Name)})
				rows = append(rows, providerRows(&views[i])...)
			}
			if env.asJSON {
				return printJSON(env.stdout, views)
			}
			return printTable(env.stdout, []string{"PROVIDER", "STATE", "KEYS", "LATENCY", "LAST ERROR", "FROM"}, rows)
		},
	})
	cmd.AddCommand(append(managedCommands(env, providerSection()), newProvidersTest(env))...)
	return cmd
}

// none fills an empty cell, so that columns stay aligned.
const none = "-"

// providerRows returns the provider's own row, and one for each of its models that was called.
func providerRows(p *providerView) [][]string {
	keys := strconv.Itoa(p.Keys)
	if p.Resting > 0 {
		keys += fmt.Sprintf(" (%d resting)", p.Resting)
	}
	rows := [][]string{{p.Name, string(p.State), keys, none, none, p.From}}
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
			state += fmt.Sprintf(" (unavailable to only %d accounts)", t.Alone)
		}
		if t.LastError != "" {
			failure = t.LastError
		}
		rows = append(rows, []string{"  " + t.Target, state, none, latency, failure, ""})
	}
	return rows
}
