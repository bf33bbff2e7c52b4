package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/app"
)

// A release's linker flags set these: its version without the v, the full commit, and the commit's time as in RFC 3339.
var release, revision, committed string

// nextRelease is what a build from a clone is on the way to.
const nextRelease = "0.1.0-dev"

// pseudoVersion matches what the go command calls a commit without a tag:
// https://go.dev/ref/mod#pseudo-versions
var pseudoVersion = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}(\+|$)`)

// build is what this program was built from.
type build struct{ version, commit, date string }

// builtFrom is what the linker was told, or else what the go command noted of the clone.
func builtFrom(info *debug.BuildInfo) build {
	b := build{version: release, commit: revision, date: committed}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.commit == "":
			b.commit = s.Value
		case s.Key == "vcs.time" && b.date == "":
			b.date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ".modified"
		}
	}
	if b.version != "" {
		return b
	}
	tag := info.Main.Version
	switch {
	case strings.HasPrefix(tag, "v") && !pseudoVersion.MatchString(tag):
		b.version = strings.TrimPrefix(strings.Replace(tag, "+dirty", "+modified", 1), "v")
	case b.commit != "":
		b.version = nextRelease + "+" + b.commit[:min(12, len(b.commit))] + changed
	default:
		b.version = nextRelease
	}
	return b
}

// thisBuild is what this program was built from.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return builtFrom(info)
}

// version is the release, or what leads to it and the commit that this was built from.
func version() string { return thisBuild().version }

func newVersion(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "version", Short: "Print the versions of what this is made of",
		Example: "  weir version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			lines := [][2]string{
				{"version", b.version},
				{"commit", known(b.commit)},
				{"date", known(b.date)},
				{"go", runtime.Version()},
				{"sqlite", app.SQLiteVersion()},
				{"prices", app.PriceData()},
				{"models", app.AbilityData()},
			}
			if env.asJSON {
				all := map[string]string{}
				for _, line := range lines {
					all[line[0]] = line[1]
				}
				return json.NewEncoder(env.stdout).Encode(all)
			}
			for _, line := range lines {
				if _, err := fmt.Fprintf(env.stdout, "%-8s %s\n", line[0], line[1]); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// known is a value that the build noted; unknown where it did not, as without a clone or with -buildvcs=false.
func known(value string) string {
	if value == "" {
		return "unknown"
	}
	return value
}
