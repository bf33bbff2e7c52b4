// Package importstest runs test cases of imports from another gateway.
package importstest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/imports"
	"weir/internal/must"
)

var update = flag.Bool("update", false, "write what is got into the cases")

// Noon returns the time of all imports in test cases.
func Noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// Case holds the input of a plan.
type Case struct {
	Config map[string]any // of the file config.yaml of the case
	Getenv func(string) (string, bool)
	Parts  map[string][]byte
}

// Run runs the cases in testdata: each has config.yaml, the environment in env, other files, and at the end the
// expected plan.
func Run(t *testing.T, plan func(c *Case) (*imports.Plan, error)) {
	files := must.Get(filepath.Glob("testdata/*.txtar"))(t)
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive := must.Get(txtar.ParseFile(file))(t)
			c := &Case{Parts: map[string][]byte{}}
			for _, f := range archive.Files {
				c.Parts[f.Name] = f.Data
			}
			c.Getenv = environment(c.Parts["env"])
			must.Do(t, yaml.Unmarshal(c.Parts["config.yaml"], &c.Config))
			made, err := plan(c)
			got := fmt.Sprintln("error:", err)
			if err == nil {
				got = written(t, made)
			}
			if *update {
				last := len(archive.Files) - 1
				archive.Files = append(archive.Files[:last], txtar.File{Name: "plan", Data: []byte(got)})
				must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
			if diff := cmp.Diff(got, string(c.Parts["plan"])); diff != "" && !*update {
				t.Errorf("got -, want +\n%s", diff)
			}
		})
	}
}

func environment(text []byte) func(string) (string, bool) {
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return func(name string) (string, bool) { v, ok := all[name]; return v, ok }
}

// written formats a plan as text.
func written(t *testing.T, plan *imports.Plan) string {
	t.Helper()
	var out strings.Builder
	if len(plan.Config) > 0 {
		text := must.Get(yaml.MarshalWithOptions(plan.Config, yaml.IndentSequence(true)))(t)
		out.Write(text)
	}
	for _, a := range plan.Accounts {
		fmt.Fprintf(&out, "account %q from %s, suspended %v, limits %v, budget %v, spent %v\n", a.Name, a.From,
			a.Suspended, a.Limits, a.Budget, a.Opening)
		for _, k := range a.Keys {
			fmt.Fprintf(&out, "  key %q …%s %.8s…, may %v, models %q, expires %v, limits %v, budget %v, spent %v\n",
				k.Label, k.Last4, k.Hash, k.Permissions, k.Models, k.Expires, k.Limits, k.Budget, k.Opening)
		}
	}
	for _, p := range plan.People {
		fmt.Fprintf(&out, "person %s, %s of %s\n", p.Email, p.Role, p.Account)
	}
	for _, l := range plan.Left {
		fmt.Fprintf(&out, "left %s: %s\n", l.From, l.Why)
	}
	return out.String()
}
