package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/api"
	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/managed"
)

func newProvidersTest(env *environment) *cobra.Command {
	var model string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "test NAME", Short: "Test a provider: list its models and, with --model, send it short requests",
		Long: "List a provider's models, and print the mistake if that fails: a wrong address, with or without\n" +
			"/v1, or a wrong key. With --model, request three answers of a few tokens, which show whether\n" +
			"streaming, tools and images work. They are metered to the account installation.",
		Example: "  weir providers test house --model small", Args: oneArg("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := env.trialOptions()
			if err != nil {
				return err
			}
			f, err := app.TestProvider(cmd.Context(), o, actor(), managed.Trial{Name: args[0], Model: model})
			if err != nil {
				return err
			}
			if env.asJSON {
				return printJSON(env.stdout, api.FindingOf(&f))
			}
			return env.printFinding(&f)
		},
	})
	cmd.Flags().StringVar(&model, "model", "", "model to call, by the provider's own name")
	return cmd
}

// trialOptions returns the options of a gateway that does not serve.
func (env *environment) trialOptions() (app.Options, error) {
	cfg, err := env.loadConfig("")
	o := app.Options{Config: cfg, ConfigFrom: env.configOptions(""), Getenv: os.Getenv, Log: env.logger(&cfg)}
	o.Reload = func(text []byte) (config.Config, error) {
		from := o.ConfigFrom
		from.Managed = text
		return config.Load(from)
	}
	o.Version = thisBuild().version
	o.Stdout, o.Stderr = env.stdout, env.stderr
	return o, err
}

// printFinding prints the result of a test. It returns an error if something does not work.
func (o *output) printFinding(f *managed.Finding) error {
	const shown = 20
	var errs error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(o.stdout, format+"\n", args...)
		errs = errors.Join(errs, err)
	}
	say("%s: %s at %s", f.Provider, f.Dialect, f.BaseURL)
	failed := f.Problem != ""
	if failed {
		say("%s", f.Problem)
	}
	if f.Listed {
		names := strings.Join(f.Models[:min(len(f.Models), shown)], ", ")
		if more := len(f.Models) - shown; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		say("%d models in %s: %s", len(f.Models), f.Latency.Round(time.Millisecond), names)
	}
	for _, a := range f.Answers {
		word := "works"
		if !a.Works {
			word, failed = "does not work: "+a.Said, failed || a.What == managed.Streaming
		}
		if a.Cost != "" {
			word += ", $" + a.Cost
		}
		say("%s %s, %s", a.What, word, a.Latency.Round(time.Millisecond))
	}
	if errs == nil && failed {
		return errQuiet
	}
	return errs
}
