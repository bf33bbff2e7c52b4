package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/must"
)

const managedText = `
providers:
  away: {dialect: anthropic, api_keys: [short]}
  house: {dialect: openai, base_url: "http://127.0.0.1:9000/v1", allow_private: true, api_keys: [a-key-of-the-house-1234, "${SPARE}"]}
models: {house/small: {context: 32768}}
aliases: {fast: {targets: [house/small, away/large], strategy: weighted, weights: [1, 3]}}
prices: {house/small: {input: "0.15", output: 0.6}}
limits: {rpm: 600, per_key: {tpm: 1000}}
cors: {origins: ["https://app.example.com"]}
`

func document(t *testing.T, text string) config.Document {
	t.Helper()
	return must.Get(config.ParseDocument("change.yaml", []byte(text)))(t)
}

// loadManaged loads a file together with a managed configuration.
func loadManaged(t *testing.T, file string, doc config.Document) (config.Config, error) {
	t.Helper()
	return config.Load(config.Options{
		File: "weir.yaml", Managed: must.Get(doc.JSON())(t), Environ: func() []string { return nil },
		Getenv:   func(name string) (string, bool) { return "from-the-environment", name == "SPARE" },
		ReadFile: func(string) ([]byte, error) { return []byte(file), nil },
	})
}

// TestManagedMergesWithFile checks that managed objects are in force like those in the file, which precedes them if a
// name is in both.
func TestManagedMergesWithFile(t *testing.T) {
	t.Parallel()
	doc := document(t, managedText)
	got := must.Get(loadManaged(t, "", doc))(t)
	want := must.Get(loadManaged(t, managedText, nil))(t)
	must.Equal(t, string(got.Redacted()), string(want.Redacted()), "a managed object that is also in the file")
	file := "providers: {house: {dialect: ollama, base_url: \"http://127.0.0.1:1\", allow_private: true}}\nlimits: {rpm: 5}\n"
	both := must.Get(loadManaged(t, file, doc))(t)
	if len(both.Warnings) < 2 || both.Limits.RPM != 5 || both.Limits.PerKey.TPM != 0 {
		t.Errorf("got limits %+v and warnings %q, want those of the file and a warning for each", both.Limits, both.Warnings)
	}
	for _, p := range both.Providers {
		if p.Name == "house" && (p.Dialect != "ollama" || len(p.APIKeys) > 0) {
			t.Errorf("provider of the file and managed: got %+v, want the file's alone", p)
		}
	}
	if _, err := loadManaged(t, "", document(t, "aliases: {fast: {targets: []}}")); err == nil || !strings.Contains(err.Error(), "managed configuration aliases.fast: ") {
		t.Errorf("a mistake: got %v, want one in the managed configuration", err)
	}
}

// TestDocumentSecrets checks that a shown document has no key, and is valid.
func TestDocumentSecrets(t *testing.T) {
	t.Parallel()
	doc := document(t, managedText)
	shown := must.Get(doc.Hidden().YAML())(t)
	if text := string(shown); strings.Contains(text, "a-key-of-the-house") || strings.Contains(text, "short") || !strings.Contains(text, "${SPARE}") || !strings.Contains(text, ":1234") {
		t.Errorf("shown:\n%s\nwant no key, its last four characters where it is long, and references", text)
	}
	back := must.Get(document(t, string(shown)).Revealed(doc))(t)
	must.Equal(t, string(must.Get(back.JSON())(t)), string(must.Get(doc.JSON())(t)), "read back")
	if changes := doc.Changes(back); len(changes) > 0 {
		t.Errorf("changes: got %+v, want none", changes)
	}
	if _, err := document(t, string(shown)).Revealed(config.Document{}); err == nil || !strings.Contains(err.Error(), "providers.") {
		t.Errorf("unknown keys: got %v, want an error that names the provider", err)
	}
	for f := range reflect.TypeFor[config.Provider]().Fields() {
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[config.Timeouts]() && f.Type != reflect.TypeFor[llm.Secret]() {
			t.Errorf("Provider.%s may have secrets that Hidden does not see", f.Name)
		}
	}
}

// TestDocumentChanges checks the objects that a change adds, replaces and, pruned, removes.
func TestDocumentChanges(t *testing.T) {
	t.Parallel()
	doc := document(t, managedText)
	change := document(t, "aliases: {slow: {targets: [house/small]}}\nprices: {house/small: {input: \"0.20\", output: 0.6}}")
	paths := func(prune bool) (all []string) {
		for _, c := range doc.Changes(doc.With(change, prune)) {
			sign := "~"
			if c.Before == nil {
				sign = "+"
			} else if c.After == nil {
				sign = "-"
			}
			all = append(all, sign+c.Path)
		}
		return all
	}
	must.Equal(t, paths(false), []string{"+aliases.slow", `~prices["house/small"]`}, "changes")
	must.Equal(t, paths(true), []string{
		"-providers.away", "-providers.house", `-models["house/small"]`, "-aliases.fast", "+aliases.slow", `~prices["house/small"]`, "-limits", "-cors",
	}, "changes, pruned")
	file := must.Get(config.FileDocument(config.Options{File: "weir.yaml", ReadFile: func(string) ([]byte, error) {
		return []byte("listen: x\naliases: {slow: {targets: [house/small]}}\nproviders:\n  away: {dialect: openai}\n"), nil
	}}))(t)
	rest := must.Get(file.Without(change))(t)
	if _, there := rest["aliases"]; there {
		t.Errorf("an object of the file: got %v, want it left out", rest)
	}
	if _, err := file.Without(doc); err == nil || !strings.Contains(err.Error(), "weir.yaml:4:3: `providers.away` is set") {
		t.Errorf("a different object in the file: got %v, want an error with its line", err)
	}
	gone := must.Get(file.Remove(doc, []managed.Ref{{Section: "aliases", Name: "fast"}, {Section: "cors"}}))(t)
	if len(gone["aliases"])+len(gone["cors"]) > 0 || len(doc["aliases"]) != 1 {
		t.Errorf("removed: got %v, want no alias and no cors, and the document as it was", gone)
	}
	for _, ref := range []managed.Ref{{Section: "providers", Name: "away"}, {Section: "aliases", Name: "slow"}, {Section: "prices", Name: "x/y"}} {
		from := document(t, "limits: {rpm: 1}")
		if _, err := file.Remove(from, []managed.Ref{ref}); err == nil || !strings.Contains(err.Error(), ref.Name) {
			t.Errorf("remove %v: got %v, want an error that names it", ref, err)
		}
	}
	if _, err := config.ParseDocument("x.yaml", []byte("listen: x")); err == nil || !strings.Contains(err.Error(), "cannot be managed") {
		t.Errorf("a section that cannot be managed: got %v", err)
	}
}

// TestObjectsNameTheirOrigin checks the origin of each object: the file with its line, the managed configuration, the
// environment.
func TestObjectsNameTheirOrigin(t *testing.T) {
	t.Parallel()
	doc := document(t, managedText)
	variables := map[string]string{"WEIR_PROVIDERS_EXTRA_BASE_URL": "https://extra.example/v1", "WEIR_PROVIDERS_HOUSE_RETRIES": "1", "SPARE": "x"}
	all := must.Get(config.Objects(config.Options{
		File: "weir.yaml", Environ: func() (list []string) {
			for name, value := range variables {
				list = append(list, name+"="+value)
			}
			return list
		},
		Getenv:   func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		ReadFile: func(string) ([]byte, error) { return []byte("providers:\n  away: {dialect: cohere}\n"), nil },
	}, doc))(t)
	got := map[string]string{}
	for _, o := range all {
		got[o.Path] = fmt.Sprint(o.Source, " ", o.File, ":", o.Line, " ", o.Variables)
		if text := fmt.Sprint(o.Value); strings.Contains(text, "a-key-of-the-house") {
			t.Errorf("%s: got %s, want no key", o.Path, text)
		}
	}
	must.Equal(t, got, map[string]string{
		"providers.away": "file weir.yaml:2 []", "providers.house": "managed :0 [WEIR_PROVIDERS_HOUSE_RETRIES]",
		"providers.extra": "environment :0 [WEIR_PROVIDERS_EXTRA_BASE_URL]", `models["house/small"]`: "managed :0 []",
		"aliases.fast": "managed :0 []", `prices["house/small"]`: "managed :0 []", "limits": "managed :0 []", "cors": "managed :0 []", "retention": "default :0 []",
	}, "sources")
}

// TestReferencesAreShownWithoutSecrets checks that a secret's reference is shown, and no text with more than that.
func TestReferencesAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-0123456789"
	for text, isShown := range map[string]bool{
		"${KEY}": true, "${file:/run/secrets/key}": true, canary: false, canary + "${KEY}": false, "${KEY}" + canary: false, "${KEY:-" + canary + "}": false,
		canary + "$$": false,
	} {
		doc := document(t, fmt.Sprintf("providers: {house: {dialect: openai, api_keys: [%q], admin_key: %q}}", text, text))
		shown := string(must.Get(doc.Hidden().JSON())(t))
		if strings.Contains(shown, canary) || isShown != strings.Contains(shown, text) {
			t.Errorf("%s: got %s", text, shown)
		}
		must.Equal(t, must.Get(doc.Hidden().Revealed(doc))(t), doc, "read back")
	}
	_, err := config.ParseDocument("x", []byte("providers: {house: {admin_key: {"+canary+": 1}}}"))
	if err == nil || !strings.Contains(err.Error(), "`admin_key` must be a text") || strings.Contains(err.Error(), canary) {
		t.Errorf("an object: got %v", err)
	}
}
