package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"weir/internal/app"
)

// release is set by the release's linker flags.
var release = ""

// version is the release, or the commit that this was built from.
func version() string { return cmp.Or(release, "0.1.0-dev") }

func newVersion(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "version", Short: "Print the versions of what this is made of",
		Example: "  weir version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{
				"version": version(), "commit": commit(), "go": runtime.Version(),
				"sqlite": app.SQLiteVersion(), "prices": app.PriceData(), "models": app.AbilityData(),
			}
			if env.asJSON {
				return json.NewEncoder(env.stdout).Encode(v)
			}
			for _, name := range []string{"version", "commit", "go", "sqlite", "prices", "models"} {
				if _, err := fmt.Fprintf(env.stdout, "%-8s %s\n", name, v[name]); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}
