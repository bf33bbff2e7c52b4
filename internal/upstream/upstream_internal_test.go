package upstream

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
)

// lineupOf returns the providers with that configuration and environment, and the default model.
func lineupOf(t *testing.T, file, env string) (names []string, model, log string, err error) {
	t.Helper()
	vars := map[string]string{}
	for v := range strings.FieldsSeq(env) {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	cfg, err := config.Load(config.Options{
		Getenv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		ReadFile: func(string) ([]byte, error) { return []byte(file), nil },
	})
	must.Do(t, err)
	var logged bytes.Buffer
	b := New(&Options{Getenv: func(name string) string { return vars[name] }, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	defer b.Close()
	table, err := b.Table(context.Background(), &cfg)
	if err != nil {
		return nil, "", "", err
	}
	defer table.Close()
	catalogue := must.Get(provider.LoadCatalogue())(t)
	l := b.lineup(context.Background(), &cfg, catalogue, cfg.Report())
	for _, o := range l.options {
		if o.Name != "ollama" { // there may be one on this machine
			names = append(names, o.Name)
		}
	}
	return names, table.DefaultModel(), logged.String(), err
}

// TestLineupOfProviders checks which providers serve requests, and which one serves those without a model.
func TestLineupOfProviders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, env string
		want      string // names, a bar, the default model
		log       string
	}{
		{"", "", "demo | demo/chat", ""},
		{"", "OPENAI_API_KEY=k", "openai | openai/gpt-5.6-luna", ""},
		{"", "AWS_PROFILE=work AWS_REGION=us-east-1", "bedrock demo | demo/chat", ""},
		{"", "AWS_PROFILE=work", "demo | demo/chat", "provider=bedrock missing=[AWS_REGION]"},
		{"", "AWS_PROFILE=work AWS_REGION=us-east-1 GROQ_API_KEY=k", "groq bedrock | groq/openai/gpt-oss-20b", ""},
		{"", "AWS_BEARER_TOKEN_BEDROCK=k AWS_REGION=us-east-1", "bedrock | ", ""},
		{"", "GOOGLE_CLOUD_PROJECT=p GOOGLE_APPLICATION_CREDENTIALS=/f", "vertex demo | demo/chat", ""},
		{"", "GOOGLE_CLOUD_PROJECT=p GOOGLE_GENAI_USE_VERTEXAI=true", "vertex | vertex/gemini-3.5-flash-lite", ""},
		{"", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com", "azure | ", ""},
		{"", "AZURE_OPENAI_API_KEY=k", "demo | demo/chat", "provider=azure missing=[AZURE_OPENAI_ENDPOINT]"},
		{"providers: {bedrock: {}}", "AWS_REGION=us-east-1", "bedrock | ", ""},
		{"providers: {bedrock: {models: ['amazon.nova-lite-v1:0']}}", "AWS_REGION=us-east-1", "bedrock | bedrock/amazon.nova-lite-v1:0", ""},
		{"providers: {bedrock: {base_url: 'https://bedrock-runtime.eu-west-1.amazonaws.com'}}", "", "bedrock | ", ""},
		{"providers: {own: {base_url: 'https://own.example', auth: google}}", "", "own | ", ""},
		{"default_model: azure/my-deployment", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com", "azure | azure/my-deployment", ""},
	} {
		names, model, log, err := lineupOf(t, tc.file, tc.env)
		if err != nil {
			t.Errorf("%s with %s: %v", tc.file, tc.env, err)
		}
		if got := strings.Join(names, " ") + " | " + model; got != tc.want {
			t.Errorf("%s with %s: got %q, want %q", tc.file, tc.env, got, tc.want)
		}
		if !strings.Contains(log, tc.log) {
			t.Errorf("%s with %s: got the log %q, want %q in it", tc.file, tc.env, log, tc.log)
		}
	}
}

func TestLineupMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, env, want string }{
		{"providers: {bedrock: {}}", "", "`providers.bedrock.base_url`: missing; set it, or AWS_REGION in the environment"},
		{"providers: {azure: {api_keys: [k]}}", "", "`providers.azure.base_url`: missing; set it, or AZURE_OPENAI_ENDPOINT in the environment"},
		{"providers: {bedrock: {api_keys: ['AKIA:hidden']}}", "AWS_REGION=us-east-1", "`providers.bedrock.api_keys[0]`: contains a colon"},
	} {
		_, _, _, err := lineupOf(t, tc.file, tc.env)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s with %s: got %v, want %q", tc.file, tc.env, err, tc.want)
		}
	}
}

// TestPricesOfARegion checks that a provider at a regional address has the prices of the region.
func TestPricesOfARegion(t *testing.T) {
	t.Parallel()
	catalogue, err := provider.LoadCatalogue()
	must.Do(t, err)
	b := New(&Options{Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler)})
	defer b.Close()
	for base, want := range map[string]string{"https://api.openai.com/v1": "0.0001", "https://eu.api.openai.com/v1": "0.00011"} {
		o := must.Get(b.configured(&config.Provider{Name: "openai", BaseURL: base}, catalogue))(t)
		p := must.Get(provider.New(o))(t)
		defer p.Close()
		book := must.Get(pricing.NewBook(overrides(&config.Config{}, []*provider.Provider{p})))(t)
		price := book.Price("openai", "gpt-6-luna", time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
		u := llm.Usage{llm.Input: 1_000}
		if got := price.Cost(&u, "").String(); got != want {
			t.Errorf("%s: got %s for a thousand tokens of input, want %s", base, got, want)
		}
	}
}
