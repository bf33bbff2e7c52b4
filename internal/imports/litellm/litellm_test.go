package litellm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/imports"
	"weir/internal/imports/litellm"
	"weir/internal/must"
)

var update = flag.Bool("update", false, "write what is got into the cases")

// noon is when all imports are made.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestPlans reads the cases of testdata: config.yaml, the environment in env, a table in NAME.jsonl, and the plan that
// they come to.
func TestPlans(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob("testdata/*.txtar"))(t)
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive := must.Get(txtar.ParseFile(file))(t)
			parts := map[string][]byte{}
			for _, f := range archive.Files {
				parts[f.Name] = f.Data
			}
			in := &litellm.Import{Getenv: environment(parts["env"]), Now: noon}
			must.Do(t, yaml.Unmarshal(parts["config.yaml"], &in.Config))
			if _, ok := parts["LiteLLM_VerificationToken.jsonl"]; ok {
				in.Rows = rowsOf(parts)
			}
			plan, err := in.Plan(t.Context())
			got := fmt.Sprintln("error:", err)
			if err == nil {
				got = written(t, plan)
			}
			if *update {
				archive.Files = append(archive.Files[:len(archive.Files)-1], txtar.File{Name: "plan", Data: []byte(got)})
				must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
			if diff := cmp.Diff(got, string(parts["plan"])); diff != "" && !*update {
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

// rowsOf are the tables of a case.
func rowsOf(parts map[string][]byte) imports.Rows {
	return func(_ context.Context, table string, each func([]byte) error) error {
		text, ok := parts[table+".jsonl"]
		if !ok {
			return fmt.Errorf("table %s: %w", table, fs.ErrNotExist)
		}
		for line := range bytes.Lines(text) {
			if err := each(line); err != nil {
				return fmt.Errorf("read %s: %w", table, err)
			}
		}
		return nil
	}
}

// written is a plan as a text.
func written(t *testing.T, plan *imports.Plan) string {
	t.Helper()
	var out strings.Builder
	if len(plan.Config) > 0 {
		text := must.Get(yaml.MarshalWithOptions(plan.Config, yaml.IndentSequence(true)))(t)
		out.Write(text)
	}
	for _, a := range plan.Accounts {
		fmt.Fprintf(&out, "account %q from %s, suspended %v, limits %v, budget %v, spent %v\n", a.Name, a.From, a.Suspended,
			a.Limits, a.Budget, a.Opening)
		for _, k := range a.Keys {
			fmt.Fprintf(&out, "  key %q …%s %.8s…, may %v, models %q, expires %v, limits %v, budget %v, spent %v\n", k.Label,
				k.Last4, k.Hash, k.Permissions, k.Models, k.Expires, k.Limits, k.Budget, k.Opening)
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

// FuzzPlan has nothing in a file or in a row bring the reading down. The file is JSON, which is YAML too: what reads
// YAML is fuzzed where it is.
func FuzzPlan(f *testing.F) {
	for _, file := range must.Get(filepath.Glob("testdata/*.txtar"))(f) {
		archive := must.Get(txtar.ParseFile(file))(f)
		var config, row []byte
		for _, part := range archive.Files {
			if part.Name == "config.yaml" {
				var tree map[string]any
				must.Do(f, yaml.Unmarshal(part.Data, &tree))
				config = must.Get(json.Marshal(tree))(f)
			} else if strings.HasSuffix(part.Name, ".jsonl") {
				row, _, _ = bytes.Cut(part.Data, []byte("\n"))
			}
			f.Add(config, row)
		}
	}
	f.Fuzz(func(t *testing.T, config, row []byte) {
		var tree map[string]any
		if json.Unmarshal(config, &tree) != nil {
			return
		}
		in := &litellm.Import{
			Config: tree, Now: noon, Getenv: func(name string) (string, bool) { return name, len(name)%2 == 0 },
			Rows: func(_ context.Context, _ string, each func([]byte) error) error { return each(row) },
		}
		plan, err := in.Plan(t.Context())
		if err != nil {
			return
		}
		for _, l := range plan.Left {
			if l.From == "" || l.Why == "" {
				t.Errorf("left %+v: want a path and a reason", l)
			}
		}
	})
}
