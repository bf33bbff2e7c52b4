package main

import (
	"runtime/debug"
	"testing"
)

// TestBuiltFrom checks the version of a build without a release's linker flags.
func TestBuiltFrom(t *testing.T) {
	t.Parallel()
	const commit, date = "5c77ea34d8f7eded5aec31cacf22c9bd24a869be", "2026-11-25T20:00:00Z"
	for name, test := range map[string]struct {
		tag, modified string
		want          string
	}{
		"no tag":           {"v0.0.0-20261125200000-5c77ea34d8f7", "false", "0.1.0-dev+5c77ea34d8f7"},
		"behind a tag":     {"v1.2.4-0.20261125200000-5c77ea34d8f7", "false", "0.1.0-dev+5c77ea34d8f7"},
		"changed":          {"v0.0.0-20261125200000-5c77ea34d8f7+dirty", "true", "0.1.0-dev+5c77ea34d8f7.modified"},
		"tag":              {"v1.2.3", "false", "1.2.3"},
		"tag of a preview": {"v1.2.3-rc.1", "false", "1.2.3-rc.1"},
		"changed tag":      {"v1.2.3+dirty", "true", "1.2.3+modified"},
		"old go command":   {"(devel)", "false", "0.1.0-dev+5c77ea34d8f7"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: test.tag}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: date}, {Key: "vcs.modified", Value: test.modified},
		}}
		if got, want := builtFrom(info), (build{test.want, commit, date}); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got, want := builtFrom(&debug.BuildInfo{}), (build{version: "0.1.0-dev"}); got != want {
		t.Errorf("nothing known: got %v, want %v", got, want)
	}
}
