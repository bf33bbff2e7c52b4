package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"weir/internal/admin"
	"weir/internal/upstream"

	"github.com/spf13/cobra"
)

// A release's linker flags set these: the version without the v, the full commit, and the commit's time in RFC 3339.
var release, revision, committed string

// nextRelease is the version of a build without a tag.
const nextRelease = "0.1.0-dev"

// pseudoVersion matches the go command's version of a commit without a tag: https://go.dev/ref/mod#pseudo-versions
var pseudoVersion = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}(\+|$)`)

// build identifies the source that this program was built from.
type build struct{ version, commit, date string }

// builtFrom returns the values of the linker flags, or else those that the go command recorded from the repository.
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

// thisBuild returns the source that this program was built from.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return builtFrom(info)
}

// version returns the release, or the next release and the commit.
func version() string { return thisBuild().version }

func newVersion(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "version", Short: "Print the versions of weir, its libraries and its data",
		Example: "  weir version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			lines := [][2]string{
				{"version", b.version},
				{"commit", known(b.commit)},
				{"date", known(b.date)},
				{"go", runtime.Version()},
				{"sqlite", admin.SQLiteVersion()},
				{"prices", upstream.PriceData()},
				{"models", upstream.AbilityData()},
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

// known returns a value of the build, or "unknown" if it is empty, as in a build without a repository or with
// -buildvcs=false.
func known(value string) string {
	if value == "" {
		return "unknown"
	}
	return value
}
