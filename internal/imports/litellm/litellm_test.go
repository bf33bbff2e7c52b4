package litellm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/imports"
	"weir/internal/imports/importstest"
	"weir/internal/imports/litellm"
	"weir/internal/must"
)

func TestPlansOfImports(t *testing.T) {
	t.Parallel()
	importstest.Run(t, func(c *importstest.Case) (*imports.Plan, error) {
		in := &litellm.Import{Config: c.Config, Getenv: c.Getenv, Now: importstest.Noon()}
		if _, ok := c.Parts["LiteLLM_VerificationToken.jsonl"]; ok {
			in.Rows = rowsOf(c.Parts)
		}
		return in.Plan(t.Context())
	})
}

// rowsOf returns the tables of a case.
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

// FuzzPlan checks that nothing in a file or in a row makes the reader panic. The file is JSON, which is also YAML: the
// YAML parser has fuzz tests of its own.
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
			Config: tree, Now: importstest.Noon(), Getenv: func(name string) (string, bool) { return name, len(name)%2 == 0 },
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
