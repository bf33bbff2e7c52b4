package litellm

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"weir/internal/imports"
)

// converter builds the managed configuration from the file.
type converter struct {
	*Import
	credentials map[string]imports.Node
	groups      map[string][]*deployment // by model_name
	order       []string                 // names of groups, in the order of the file
	access      []accessGroup
	servers     map[serverID]*server
	all         []*server // in the order of the file
}

// deployment is an entry of model_list: a model at a provider.
type deployment struct {
	at     string
	server *server
	model  string
	order  float64 // the lowest comes first
	weight float64
}

func (d *deployment) target() string { return d.server.name + "/" + d.model }

// accessGroup is a name for a model in the lists of models that keys may use.
type accessGroup struct{ name, model string }

// serverID identifies a provider.
type serverID struct{ prefix, base string }

// server is a provider in the form that it takes here.
type server struct {
	serverID
	vendor
	at      string // of the first deployment
	name    string
	keys    []string
	models  []string
	open    bool // all models are permitted
	seconds float64
	retries *int
	prices  map[string]map[string]string // by model
	sizes   map[string]map[string]any    // by model
}

// deployment reads an entry of model_list.
func (c *converter) deployment(n imports.Node) {
	params, info := n.Object("litellm_params"), n.Object("model_info")
	group := n.Text("model_name")
	model := params.Text("model")
	prefix, name, ok := vendorOf(model, params.Text("custom_llm_provider"))
	v, known := vendors()[prefix]
	switch {
	case group == "" || model == "":
		c.plan.Leave(n.Path, "model_name or litellm_params.model is missing")
		return
	case model == "*":
		c.plan.Leave(params.At("model"), "a pattern for all providers has no counterpart: name a provider, "+
			"as in openai/*")
		return
	case !ok || !known:
		c.plan.Leave(params.At("model"), "the provider of %q is unknown here: if it speaks OpenAI's API, add it as a "+
			"provider with its base_url", model)
		return
	}
	if shared, ok := c.credentials[params.Text("litellm_credential_name")]; ok {
		for key, value := range shared.Fields {
			if _, own := params.Fields[key]; !own {
				params.Fields[key] = value
			}
		}
	}
	d := &deployment{at: n.Path, model: name}
	if !c.place(d, v, prefix, params) {
		return
	}
	d.order = params.Number("order")
	d.weight = cmp.Or(params.Number("weight"), params.Number("rpm"), params.Number("tpm"))
	c.details(d, params, info)
	if _, there := c.groups[group]; !there {
		c.order = append(c.order, group)
	}
	c.groups[group] = append(c.groups[group], d)
	for _, access := range info.Texts("access_groups") {
		c.access = append(c.access, accessGroup{access, group})
	}
	leaveOfDeployment(n, params, info)
}

// place finds or adds the server of a deployment. It returns false if that is impossible, and records the reason.
func (c *converter) place(d *deployment, v vendor, prefix string, params imports.Node) bool {
	base, ok := c.baseOf(d, v, prefix, params)
	if !ok {
		return false
	}
	key, hasKey := "", params.Has("api_key")
	if hasKey {
		if key, ok = params.Quoted("api_key"); !ok {
			return false
		}
	}
	id := serverID{v.name, base}
	s := c.servers[id]
	if s == nil {
		s = &server{
			serverID: id, vendor: v, at: d.at, prices: map[string]map[string]string{},
			sizes: map[string]map[string]any{},
		}
		c.servers[id] = s
		c.all = append(c.all, s)
	}
	d.server = s
	if key != "" && !slices.Contains([]string{"none", "None", "dummy"}, key) && !slices.Contains(s.keys, key) {
		if len(s.keys) == 1 {
			c.plan.Leave(params.At("api_key"), "the keys of one provider are used in turn, for all of its models")
		}
		s.keys = append(s.keys, key)
	}
	switch {
	case strings.Contains(d.model, "*"):
		s.open = true
	case !slices.Contains(s.models, d.model):
		s.models = append(s.models, d.model)
	}
	s.seconds = max(s.seconds, params.Number("timeout"))
	if params.Has("max_retries") {
		s.retries = retriesOf(params.Number("max_retries"))
	}
	return true
}

// baseOf returns the address of a deployment's provider; empty for the vendor's own.
func (c *converter) baseOf(d *deployment, v vendor, prefix string, params imports.Node) (string, bool) {
	if prefix == "bedrock" {
		return bedrockBase(d, params), true
	}
	if prefix == "vertex_ai" {
		return c.vertexBase(d, params)
	}
	key := "api_base"
	if !params.Has(key) {
		key = "base_url"
	}
	if !params.Has(key) {
		if prefix == "azure" {
			c.plan.Leave(d.at, "api_base is missing: it names the Azure resource")
			return "", false
		}
		return "", true
	}
	base := strings.TrimRight(params.Text(key), "/")
	if base == "" { // an unset variable, which is recorded
		return "", false
	}
	if base == v.home {
		return "", true
	}
	if !strings.HasSuffix(base, v.suffix) {
		base += v.suffix
	}
	if !strings.Contains(base, "://") {
		c.plan.Leave(params.At(key), "%q is not a valid address", base)
		return "", false
	}
	return base, true
}

// bedrockBase returns the address for a deployment's region, and removes LiteLLM's route from the model's name
// (https://docs.litellm.ai/docs/providers/bedrock, 2026-10).
func bedrockBase(d *deployment, params imports.Node) string {
	for _, route := range []string{"converse/", "invoke/", "converse_like/"} {
		d.model = strings.TrimPrefix(d.model, route)
	}
	region := params.Text("aws_region_name")
	first, rest, ok := strings.Cut(d.model, "/")
	if ok && strings.Count(first, "-") >= 2 && !strings.Contains(first, ":") {
		region, d.model = cmp.Or(region, first), rest
	}
	if region == "" {
		return ""
	}
	return imports.BedrockAddress(region)
}

// vertexBase returns the address for a deployment's project and location.
func (c *converter) vertexBase(d *deployment, params imports.Node) (string, bool) {
	if !strings.HasPrefix(d.model, "gemini") && !strings.Contains(d.model, "*") {
		c.plan.Leave(params.At("model"), "of Vertex AI only Google's own models are supported here")
		return "", false
	}
	project, location := params.Text("vertex_project"), params.Text("vertex_location")
	if project == "" || location == "" {
		return "", true
	}
	return imports.VertexAddress(project, location), true
}

// details reads a deployment's data about its model: prices and sizes.
func (c *converter) details(d *deployment, params, info imports.Node) {
	prices, sizes := map[string]string{}, map[string]any{}
	for class, key := range map[string]string{
		"input": "input_cost_per_token", "output": "output_cost_per_token", "cache_read": "cache_read_input_token_cost",
		"cache_write": "cache_creation_input_token_cost",
	} {
		if text := cmp.Or(params.Text(key), info.Text(key)); text != "" {
			if price, ok := perMillion(text); ok {
				prices[class] = price
			} else {
				c.plan.Leave(params.At(key), "%q is not a valid price", text)
			}
		}
	}
	for field, key := range map[string]string{"context": "max_input_tokens", "max_output": "max_output_tokens"} {
		if n := info.Number(key); n >= 1 {
			sizes[field] = int64(n)
		}
	}
	if len(prices) > 0 {
		d.server.prices[d.model] = prices
	}
	if len(sizes) > 0 {
		d.server.sizes[d.model] = sizes
	}
}

// perMillion converts a price per unit to a price per million units, rounded to a picodollar per unit.
func perMillion(text string) (string, bool) {
	f, err := strconv.ParseFloat(text, 64)
	const most = 1000 // dollars per token
	if err != nil || f < 0 || f > most {
		return "", false
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64)) // never fails for the output of FormatFloat
	decimal := new(big.Rat).Mul(exact, big.NewRat(1_000_000, 1)).FloatString(6)
	return strings.TrimRight(strings.TrimRight(decimal, "0"), "."), true
}

// leaveOfDeployment records the members of a deployment without a counterpart.
func leaveOfDeployment(n, params, info imports.Node) {
	params.Leave("limits of a single model do not exist here; it serves as the weight if there is no other", "rpm",
		"tpm")
	params.Leave("the API without versions is used", "api_version")
	params.Leave("set the provider's timeouts.first_byte instead", "stream_timeout")
	params.Leave("the gateway takes it from its environment", "aws_access_key_id", "aws_secret_access_key",
		"aws_session_token", "aws_role_name", "vertex_credentials")
	params.Leave("custom headers are not sent", "extra_headers", "organization")
	params.LeaveRest("request parameters are set by the client")
	info.Leave("the price of this base model is not used: add a price for the model if it has none", "base_model")
	for _, key := range []string{"id", "mode", "db_model", "created_at", "updated_at", "max_tokens"} {
		info.Take(key) // not needed
	}
	info.LeaveRest("it has no counterpart")
	n.LeaveRest("it has no counterpart")
}
