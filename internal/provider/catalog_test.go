package provider_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

func catalogue(t *testing.T) provider.Catalogue {
	t.Helper()
	c := must.Get(provider.LoadCatalogue())(t)
	return c
}

func dialects(name string) *dialect.Dialect { return registrytest.All().Named(name) }

// examples returns an environment with an example for every placeholder.
func examples(e *provider.Entry) func(string) string {
	vars := map[string]string{}
	for _, p := range e.Placeholders {
		vars[p.Env[0]] = p.Example
	}
	return environment(vars)
}

// environment returns a getenv over a map.
func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// wrongEntry reports a mistake in an entry of the catalogue, and where the format is explained.
func wrongEntry(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf(format+`; see CONTRIBUTING.md, "Adding a provider"`, args...)
}

func TestCatalogueConforms(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	files, err := filepath.Glob("catalog/*.json")
	if err != nil || len(files) != len(c) {
		t.Fatalf("got %d entries of %d files, %v", len(c), len(files), err)
	}
	seen := map[string]string{}
	unique := func(what, name string) {
		if other, ok := seen[what]; ok {
			wrongEntry(t, "%s: %s is also that of %s", name, what, other)
		}
		seen[what] = name
	}
	for i, e := range c {
		unique("the name "+e.Name, e.Name)
		unique("the address "+e.BaseURL, e.Name)
		for v := range variables(&e) {
			unique("the variable "+v, e.Name)
		}
		if i > 0 && c[i-1].Rank == e.Rank {
			wrongEntry(t, "%s and %s: both have the rank %d; taken are %v", c[i-1].Name, e.Name, e.Rank, ranks(c))
		}
		if e.Rank < 1 {
			wrongEntry(t, "%s: got the rank %d, want a number from 1; taken are %v", e.Name, e.Rank, ranks(c))
		}
		if !e.Local && len(e.KeyEnv)+len(e.SwitchEnv) == 0 {
			wrongEntry(t, "%s: needs a variable for its key, or another that says that it is meant", e.Name)
		}
		if !e.Local && e.DefaultModel == "" && e.Name != "azure" && e.Name != "bedrock" {
			wrongEntry(t, "%s: needs a default model; only names that depend on an account, or on a region, go without", e.Name)
		}
		if u, err := url.Parse(e.Docs); err != nil || u.Scheme != "https" {
			wrongEntry(t, "%s: docs %q is no https address", e.Name, e.Docs)
		}
		o := e.Options(registrytest.All())
		o.BaseURL = e.FromEnv(examples(&e)).BaseURL
		if u, _ := url.Parse(o.BaseURL); e.Local == (u.Scheme == "https") {
			wrongEntry(t, "%s: local is %t at %s", e.Name, e.Local, o.BaseURL)
		}
		if p, err := provider.New(o); err != nil {
			wrongEntry(t, "%s: %v", e.Name, err)
		} else {
			must.Equal(t, *p.Quirks(p.Dialect()), e.Quirks, "%s: quirks", e.Name)
		}
	}
}

// ranks returns the ranks of the entries, in order, without duplicates.
func ranks(c provider.Catalogue) (all []int) {
	for i := range c {
		all = append(all, c[i].Rank)
	}
	return slices.Compact(all)
}

// variables returns the entry's environment variables.
func variables(e *provider.Entry) map[string]bool {
	all := map[string]bool{}
	for _, v := range slices.Concat(e.KeyEnv, e.SwitchEnv, e.AmbientEnv, []string{e.BaseURLEnv, e.HostEnv}) {
		all[v] = v != ""
	}
	for _, p := range e.Placeholders {
		for _, v := range p.Env {
			all[v] = true
		}
	}
	delete(all, "")
	return all
}

// TestCatalogueFilesAreTidy checks that each file equals its decoded content: no field twice or in another case, and
// none without effect.
func TestCatalogueFilesAreTidy(t *testing.T) {
	t.Parallel()
	for _, e := range catalogue(t) {
		text := must.Get(os.ReadFile(filepath.Join("catalog", e.Name+".json")))(t)
		written := must.Get(json.Marshal(e))(t)
		var got, want map[string]any
		if json.Unmarshal(text, &got) != nil || json.Unmarshal(written, &want) != nil {
			t.Fatalf("%s: not JSON", e.Name)
		}
		if len(want["quirks"].(map[string]any)) == 0 {
			delete(want, "quirks")
		}
		must.Equal(t, got, want, `catalog/%s.json: want no member twice, and none that says nothing; see CONTRIBUTING.md, `+
			`"Adding a provider"`, e.Name)
	}
}

func TestCatalogueSwitches(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	for variable, want := range map[string]string{
		"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic", "GROQ_API_KEY": "groq", "XAI_API_KEY": "xai", "DEEPSEEK_API_KEY": "deepseek",
		"MISTRAL_API_KEY": "mistral", "TOGETHER_API_KEY": "together", "FIREWORKS_API_KEY": "fireworks",
		"OPENROUTER_API_KEY": "openrouter", "PERPLEXITY_API_KEY": "perplexity", "PPLX_API_KEY": "perplexity",
		"CEREBRAS_API_KEY": "cerebras", "MOONSHOT_API_KEY": "moonshot", "DASHSCOPE_API_KEY": "alibaba",
		"NVIDIA_API_KEY": "nvidia", "HF_TOKEN": "huggingface", "GEMINI_API_KEY": "gemini", "GOOGLE_API_KEY": "gemini",
		"COHERE_API_KEY": "cohere", "CO_API_KEY": "cohere",
		"VLLM_BASE_URL": "vllm", "LMSTUDIO_BASE_URL": "lmstudio", "LLAMACPP_BASE_URL": "llamacpp",
		"OLLAMA_BASE_URL": "ollama", "OLLAMA_HOST": "ollama",
		"AZURE_OPENAI_BASE_URL": "azure",
		"OPENAI_BASE_URL":       "", "ANTHROPIC_BASE_URL": "", "VLLM_API_KEY": "", // alone, neither enables a provider
		"AWS_REGION": "", "GOOGLE_CLOUD_PROJECT": "", "GOOGLE_CLOUD_LOCATION": "", "VERTEX_BASE_URL": "",
	} {
		var on []string
		for _, e := range c {
			if e.FromEnv(environment(map[string]string{variable: "value"})).On {
				on = append(on, e.Name)
			}
		}
		var wants []string
		if want != "" {
			wants = []string{want}
		}
		must.Equal(t, on, wants, "%s", variable)
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	for _, tc := range []struct {
		entry string
		env   map[string]string
		base  string
		key   string
	}{
		{"openai", map[string]string{"OPENAI_API_KEY": " k\n"}, "https://api.openai.com/v1", "k"},
		{"openai", map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://eu.api.openai.com/v1"}, "https://eu.api.openai.com/v1", "k"},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "k"}, "https://api.anthropic.com/v1", "k"},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://proxy.example.com"}, "https://proxy.example.com/v1", "k"},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://proxy.example.com/claude/"}, "https://proxy.example.com/claude/v1", "k"},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://proxy.example.com/v1/"}, "https://proxy.example.com/v1/", "k"},
		{"perplexity", map[string]string{"PPLX_API_KEY": "b", "PERPLEXITY_API_KEY": "a"}, "https://api.perplexity.ai", "a"},
		{"vllm", map[string]string{"VLLM_BASE_URL": "http://gpu:8000/v1", "VLLM_API_KEY": "k"}, "http://gpu:8000/v1", "k"},
		{"ollama", map[string]string{"OLLAMA_HOST": "gpu"}, "http://gpu:11434/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "gpu:9"}, "http://gpu:9/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": ":9"}, "http://127.0.0.1:9/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "[::]:9"}, "http://127.0.0.1:9/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "[fd00::5]"}, "http://[fd00::5]:11434/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "http://gpu:9/"}, "http://gpu:9/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "https://gpu"}, "https://gpu/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "https://[fd00::5]/x/v1"}, "https://[fd00::5]/x/v1", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "a b:c"}, "a b:c", ""},
		{"ollama", map[string]string{"OLLAMA_HOST": "gpu", "OLLAMA_BASE_URL": "http://other/v1"}, "http://other/v1", ""},
		{"azure", map[string]string{"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_BASE_URL": "https://r.openai.azure.com/openai/v1"}, "https://r.openai.azure.com/openai/v1", "k"},
	} {
		f := c.Find(tc.entry).FromEnv(environment(tc.env))
		var key string
		if len(f.APIKeys) > 0 {
			key = f.APIKeys[0].Reveal()
		}
		if !f.On || f.BaseURL != tc.base || key != tc.key {
			t.Errorf("%s with %v: got on %t, %q, key %q; want %q, key %q", tc.entry, tc.env, f.On, f.BaseURL, key, tc.base, tc.key)
		}
	}
	if f := c.Find("openai").FromEnv(environment(nil)); f.On || len(f.APIKeys) != 0 || f.BaseURL == "" {
		t.Errorf("got %+v of an empty environment", f)
	}
	if c.Find("nobody") != nil {
		t.Error("got an entry for an unknown name")
	}
}

// TestQuirksThatCostMoney checks the quirks that affect money or refusals.
func TestQuirksThatCostMoney(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	mistral := llm.Quirks{
		MaxOutputField: "max_tokens", NoStreamOptions: true, RequiredToolChoice: "any",
		Rename: map[string]string{"dimensions": "output_dimension", "seed": "random_seed"}, Drop: []string{
			"logit_bias", "logprobs", "prompt_cache_retention", "safety_identifier", "store", "top_logprobs", "user", "verbosity",
		},
		CacheKey:    true,
		Documents:   llm.DocumentsByURL,
		PlainSounds: true,
		SoundApart:  true,
	}
	must.Equal(t, c.Find("mistral").Quirks, mistral, "mistral")
	for _, e := range c {
		if got, want := e.Quirks.ReasoningBesideOutput, e.Name == "xai"; got != want {
			t.Errorf("%s: got reasoning next to output %t, want %t", e.Name, got, want)
		}
		if caps := (llm.Quirks{
			CallCap: "max_tool_calls", SearchWindow: 128_000, SearchBlocks: "blocked_domains", SearchSources: true,
			CacheBreakpoints: true, CacheKey: true,
		}); e.Name == "openai" && !cmp.Equal(e.Quirks, caps) {
			t.Errorf("openai: got the quirks %+v, want %+v alone: it defines the wire format", e.Quirks, caps)
		}
	}
}

func TestCatalogueSpeaking(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	if q := c.Speaking("deepseek", "anthropic").Quirks; !cmp.Equal(q, llm.Quirks{BillsFetches: true, IgnoresCallCaps: true}) {
		t.Errorf("deepseek in anthropic: the quirks %+v, want those of every wire format", q)
	}
	for _, tt := range []struct {
		name, dialect, env, base string
		quirks                   bool
	}{
		{"ollama", "", "", "http://127.0.0.1:11434/v1", true},
		{"ollama", "openai", "", "http://127.0.0.1:11434/v1", true},
		{"ollama", "ollama", "", "http://127.0.0.1:11434", false},
		{"ollama", "ollama", "gpu", "http://gpu:11434", false},
		{"mistral", "anthropic", "", "https://api.mistral.ai/v1", false},
	} {
		e := c.Speaking(tt.name, tt.dialect)
		found := e.FromEnv(environment(map[string]string{"OLLAMA_HOST": tt.env}))
		if found.BaseURL != tt.base || (e.Quirks.MaxOutputField != "") != tt.quirks {
			t.Errorf("%s in %q: %q with quirks %+v; want %q with quirks %t", tt.name, tt.dialect, found.BaseURL, e.Quirks, tt.base, tt.quirks)
		}
	}
	if e := c.Find("ollama"); e.Dialect != "openai" || e.Quirks.MaxOutputField == "" {
		t.Errorf("the entry itself has changed: %+v", e)
	}
	if e := c.Speaking("nobody", "ollama"); e != nil {
		t.Errorf("got %+v, want none", e)
	}
}

// TestServesIn finds the region of an address in its host or in its path.
func TestServesIn(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	for _, tt := range []struct{ provider, base, want string }{
		{"openai", "https://api.openai.com/v1", ""},
		{"bedrock", "https://bedrock-runtime.ap-southeast-2.amazonaws.com", "ap-southeast-2"},
		{"vertex", "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google", "europe-west4"},
		{"vertex", "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google", ""},
		{"vertex", "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu", "eu"},
	} {
		o := c.Find(tt.provider).Options(registrytest.All())
		o.BaseURL, o.APIKeys = tt.base, []llm.Secret{llm.NewSecret("key")}
		p := must.Get(provider.New(o))(t)
		if got := p.ServesIn(); got != tt.want {
			t.Errorf("%s at %s: got %q, want %q", tt.provider, tt.base, got, tt.want)
		}
	}
}

// TestRegionIsReadFromHost checks that the host of the address names the region, if prices differ by region.
func TestRegionIsReadFromHost(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	for _, tt := range []struct{ provider, base, want string }{
		{"openai", "https://api.openai.com/v1", ""},
		{"openai", "https://eu.api.openai.com/v1", "eu"},
		{"openai", "https://eu.api.openai.com.example.org/v1", ""},
		{"openai", "http://127.0.0.1:8080/v1", ""},
		{"xai", "https://us.api.x.ai/v1", "us"},
		{"bedrock", "https://bedrock-runtime.ap-southeast-2.amazonaws.com", "ap-southeast-2"},
		{"bedrock", "https://bedrock-runtime-fips.us-east-1.amazonaws.com", "us-east-1"},
		{"bedrock", "https://vpce-1-a.bedrock-runtime.eu-west-1.vpce.amazonaws.com", "eu-west-1"},
		{"groq", "https://eu.api.groq.com/openai/v1", ""},
	} {
		o := c.Find(tt.provider).Options(registrytest.All())
		o.BaseURL = tt.base
		if got := o.Region(); got != tt.want {
			t.Errorf("%s at %s: got %q, want %q", tt.provider, tt.base, got, tt.want)
		}
	}
}
