// Package bifrost reads config.json, the configuration of the Bifrost gateway, and converts it to a plan.
//
// The format of the file is that of https://docs.getbifrost.ai/deployment-guides/config-json/providers and
// https://docs.getbifrost.ai/deployment-guides/config-json/governance (2026-11-26).
package bifrost

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/imports"
)

// Import holds the input.
type Import struct {
	Config map[string]any                        // contents of config.json
	Getenv func(string) (value string, set bool) // looks up the environment variables that the file refers to
	Now    time.Time
}

// Plan converts Bifrost's configuration to a plan.
func (p *Import) Plan() *imports.Plan {
	plan := &imports.Plan{Config: map[string]map[string]any{"providers": {}}}
	source := imports.Source{Plan: plan, Getenv: p.Getenv, Reference: "env."}
	root := source.Root(p.Config)
	providers := root.Object("providers")
	for _, name := range slices.Sorted(maps.Keys(providers.Fields)) {
		addProvider(plan, name, providers.Object(name))
	}
	g := &governance{plan: plan, now: p.Now, places: map[string]int{}}
	g.read(root.Object("governance"))
	root.Take("$schema")
	root.LeaveRest("it has no counterpart")
	plan.SortLeft()
	return plan
}

// vendor describes our provider for a provider of Bifrost.
type vendor struct {
	name    string
	suffix  string // part of the address here that Bifrost adds itself
	dialect string // of an operator's own provider; empty for the default
}

// vendors returns the supported providers by Bifrost's names.
func vendors() map[string]vendor {
	all := map[string]vendor{
		"openai": {suffix: "/v1"}, "anthropic": {suffix: "/v1", dialect: "anthropic"}, "azure": {suffix: "/openai/v1"},
		"gemini": {dialect: "gemini"}, "bedrock": {dialect: "bedrock"}, "vertex": {dialect: "gemini"},
		"cohere": {suffix: "/v2", dialect: "cohere"}, "ollama": {suffix: "/v1"}, "vllm": {suffix: "/v1"},
		"mistral": {suffix: "/v1"}, "groq": {suffix: "/v1"}, "openrouter": {suffix: "/v1"}, "perplexity": {},
		"cerebras": {suffix: "/v1"}, "huggingface": {suffix: "/v1"}, "xai": {suffix: "/v1"}, "deepseek": {},
		"fireworks": {suffix: "/v1"},
	}
	for name, v := range all {
		v.name = name
		all[name] = v
	}
	return all
}

// addProvider adds a provider. Models have the same names in both gateways: provider/model.
func addProvider(plan *imports.Plan, name string, n imports.Node) {
	custom := n.Object("custom_provider_config")
	base := custom.Text("base_provider_type")
	v, known := vendors()[cmp.Or(base, name)]
	if !known {
		plan.Leave(n.Path, "the provider is unknown here: if it speaks OpenAI's API, add it as a provider with its "+
			"base_url")
		return
	}
	fields, network := map[string]any{}, n.Object("network_config")
	address := network.Text("base_url")
	address = addKeys(plan, fields, v, address, n.List("keys"))
	if address != "" {
		address = strings.TrimRight(address, "/")
		if !strings.HasSuffix(address, v.suffix) {
			address += v.suffix
		}
		fields["base_url"] = address
		if imports.IsPrivate(address) {
			fields["allow_private"] = true
		}
	}
	if base != "" && v.dialect != "" {
		fields["dialect"] = v.dialect
	}
	if seconds := network.Number("default_request_timeout_in_seconds"); seconds > 0 {
		fields["timeouts"] = map[string]any{"total": strconv.FormatFloat(seconds, 'f', -1, 64) + "s"}
	}
	if network.Has("max_retries") {
		const most = 10
		fields["retries"] = int(min(max(network.Number("max_retries"), 0), most))
	}
	if base != "" {
		plan.Leave(n.Path, "the prices of its models are unknown: add them to prices, or requests under a budget are "+
			"refused")
	}
	plan.Config["providers"][name] = fields
	network.LeaveRest("it has no counterpart")
	custom.LeaveRest("it has no counterpart")
	n.LeaveRest("it has no counterpart")
}

// addKeys adds the keys of a provider and their models, and returns the provider's address if it is stored with the
// keys.
func addKeys(plan *imports.Plan, fields map[string]any, v vendor, address string, list []imports.Node) string {
	var keys, models []any
	all := false
	for i, k := range list {
		at, own := addressOf(plan, v, k)
		if own && i > 0 && at != address {
			plan.Leave(k.Path, "a provider has one address: add another provider for %s", at)
			continue
		}
		if own {
			address = at
		}
		if value, ok := k.Quoted("value"); ok && !slices.Contains(keys, any(value)) {
			keys = append(keys, value)
		}
		for _, m := range k.Texts("models") {
			if all = all || m == "*"; m != "*" && !slices.Contains(models, any(m)) {
				models = append(models, m)
			}
		}
		k.Leave("clients must use the model's own name, or an alias without a slash", "aliases")
		k.Leave("the keys of one provider are used in turn", "weight")
		k.Take("name")
		k.LeaveRest("it has no counterpart")
	}
	if len(keys) > 0 {
		fields["api_keys"] = keys
	}
	if len(models) > 0 && !all {
		fields["models"] = models
	}
	return address
}

// addressOf returns the address of a key; false if the key has no address of its own.
func addressOf(plan *imports.Plan, v vendor, k imports.Node) (string, bool) {
	azure, ollama, vllm := k.Object("azure_key_config"), k.Object("ollama_key_config"), k.Object("vllm_key_config")
	bedrock, vertex := k.Object("bedrock_key_config"), k.Object("vertex_key_config")
	address := cmp.Or(azure.Text("endpoint"), ollama.Text("url"), vllm.Text("url"))
	if region := bedrock.Text("region"); region != "" {
		address = imports.BedrockAddress(region)
	}
	if project, region := vertex.Text("project_id"), vertex.Text("region"); project != "" && region != "" {
		address = imports.VertexAddress(project, region)
	}
	for _, n := range []imports.Node{azure, ollama, vllm, bedrock, vertex} {
		n.LeaveRest("the gateway takes it from its environment, or it has no counterpart")
	}
	return address, address != ""
}
