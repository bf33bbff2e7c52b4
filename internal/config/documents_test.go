package config_test

import (
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestSettingsAreDocumented compares docs/configuration.md with the keys of the configuration: each is in it, or in
// docs/people.md, to which it refers. Its first block, which shows them, has no other key and no mistake.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	page := string(must.Get(os.ReadFile("../../docs/configuration.md"))(t))
	_, rest, _ := strings.Cut(page, "```yaml\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/configuration.md has no block of YAML")
	}
	must.Get(config.Load(config.Options{
		File: "weir.yaml", Environ: func() []string { return nil },
		Getenv: func(name string) (string, bool) {
			return map[string]string{"OPENAI_API_KEY": "sk-x"}[name], name == "OPENAI_API_KEY"
		},
		ReadFile: func(string) ([]byte, error) { return []byte(block), nil },
	}))(t)
	page += string(must.Get(os.ReadFile("../../docs/people.md"))(t))
	seen := map[string]bool{}
	keysOf(reflect.TypeFor[config.Config](), seen)
	if len(seen) < 60 {
		t.Errorf("got %d keys, want more: this test looks for another form", len(seen))
	}
	for key := range seen {
		if !regexp.MustCompile(`\b` + key + `\b`).MatchString(page) {
			t.Errorf("neither docs/configuration.md nor docs/people.md names %s", key)
		}
	}
}

// keysOf adds the keys of a struct and of its members.
func keysOf(typ reflect.Type, seen map[string]bool) {
	switch typ.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		keysOf(typ.Elem(), seen)
	case reflect.Struct:
		if typ == reflect.TypeFor[llm.Secret]() || typ == reflect.TypeFor[netip.Prefix]() {
			return
		}
		for f := range typ.Fields() {
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" && key != "-" {
				seen[key] = true
				keysOf(f.Type, seen)
			} else if f.Anonymous || f.Tag.Get("yaml") == ",inline" {
				keysOf(f.Type, seen)
			}
		}
	}
}
