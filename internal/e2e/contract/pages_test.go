package contract_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/config"
	"weir/internal/must"
	"weir/internal/upstream"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestPagesConfigure checks the examples of docs/providers: the first block of each page enables its provider, and the
// others are valid.
func TestPagesConfigure(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/providers/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: got %d, %v", len(pages), err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		env := environmentOf(t, name)
		text, err := os.ReadFile(page)
		must.Do(t, err)
		blocks := yamlBlock.FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			t.Errorf("%s: got no configuration in it", page)
		}
		for i, block := range blocks {
			cfg, err := configure(t, block[1], env)
			if err != nil {
				t.Errorf("%s: got a mistake in\n%s\n%v", page, block[1], err)
				continue
			}
			if i > 0 {
				continue
			}
			getenv := func(variable string) string { return env[variable] }
			o := upstream.Options{Config: cfg, Getenv: getenv, Log: slog.New(slog.DiscardHandler)}
			if _, err := o.Models(context.Background(), name); err != nil {
				t.Errorf("%s: got it not switched on by\n%s\n%v", page, block[1], err)
			}
		}
	}
}

// environmentOf returns the variables in a provider's file of the catalogue, with the values of its examples.
func environmentOf(t *testing.T, name string) map[string]string {
	t.Helper()
	text := must.Get(os.ReadFile("../../provider/catalog/" + name + ".json"))(t)
	var entry struct {
		KeyEnv       []string `json:"key_env"`
		Placeholders map[string]struct {
			Env     []string `json:"env"`
			Example string   `json:"example"`
		} `json:"placeholders"`
	}
	must.Do(t, json.Unmarshal(text, &entry))
	env := map[string]string{}
	for _, variable := range entry.KeyEnv {
		env[variable] = "secret"
	}
	for _, p := range entry.Placeholders {
		for _, variable := range p.Env {
			env[variable] = p.Example
		}
	}
	return env
}

func configure(t *testing.T, yaml string, env map[string]string) (config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weir.yaml")
	must.Do(t, os.WriteFile(file, []byte(yaml), 0o600))
	return config.Load(config.Options{
		File: file, Data: t.TempDir(),
		Getenv:  func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Environ: func() []string { return nil },
	})
}
