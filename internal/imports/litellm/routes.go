package litellm

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/imports"
)

// settings holds the supported router_settings and litellm_settings.
type settings struct {
	strategy  string
	retries   *int
	seconds   float64
	fallbacks map[string][]fallback
	defaults  []fallback        // of all groups
	same      map[string]string // model_group_alias
}

// fallback is a group that is tried after another one.
type fallback struct{ group, at string }

// settings reads the settings for all models. The router's settings override those of the library.
func (c *converter) settings(root imports.Node) *settings {
	router, library := root.Object("router_settings"), root.Object("litellm_settings")
	s := &settings{fallbacks: map[string][]fallback{}, same: map[string]string{}}
	c.strategy(s, router)
	for _, n := range []imports.Node{library, router} {
		if n.Has("num_retries") {
			s.retries = retriesOf(n.Number("num_retries"))
		}
		for _, key := range []string{"request_timeout", "timeout"} {
			if n.Has(key) {
				s.seconds = n.Number(key)
			}
		}
		for _, one := range n.List("fallbacks") {
			for _, group := range slices.Sorted(maps.Keys(one.Fields)) {
				s.fallbacks[group] = fallbacks(&one, group)
			}
		}
		s.defaults = append(s.defaults, fallbacks(&n, "default_fallbacks")...)
		n.Leave("these errors use the general fallbacks, if there are any", "context_window_fallbacks",
			"content_policy_fallbacks")
	}
	c.sameAs(s, router)
	if zone := library.Text("timezone"); zone != "" && zone != "UTC" {
		c.plan.Leave("litellm_settings.timezone", "days and months of budgets begin at midnight UTC, not at that of %s",
			zone)
	}
	if library.Has("max_budget") {
		c.plan.Leave("litellm_settings.max_budget",
			"a budget of the whole installation does not exist here: set one on every account")
	}
	library.Take("budget_duration")
	router.LeaveRest("it has no counterpart")
	library.LeaveRest("it has no counterpart")
	return s
}

// fallbacks returns a member that lists groups.
func fallbacks(n *imports.Node, key string) (list []fallback) {
	for _, group := range n.Texts(key) {
		list = append(list, fallback{group, n.At(key)})
	}
	return list
}

// strategy reads how a deployment of a group is chosen (https://docs.litellm.ai/docs/router/learn/strategies,
// 2026-11-05).
func (c *converter) strategy(s *settings, router imports.Node) {
	switch name := router.Text("routing_strategy"); name {
	case "", "simple-shuffle":
		s.strategy = "weighted"
	case "latency-based-routing":
		s.strategy = "latency"
	default:
		s.strategy = "weighted"
		c.plan.Leave("router_settings.routing_strategy",
			"the strategy %q does not exist here: targets are chosen at random, by weight", name)
	}
}

// sameAs reads additional names of groups: {"gpt-4": "gpt-4o"}, or {"gpt-4": {"model": "gpt-4o", "hidden": true}}.
func (c *converter) sameAs(s *settings, router imports.Node) {
	names := router.Object("model_group_alias")
	for _, name := range slices.Sorted(maps.Keys(names.Fields)) {
		if to := names.Object(name); to.Fields != nil {
			s.same[name] = to.Text("model")
			to.Leave("aliases cannot be hidden", "hidden")
			continue
		}
		s.same[name] = names.Text(name)
	}
}

// nameServers names all providers and adds them to the plan.
func (c *converter) nameServers(s *settings) {
	taken := map[string]bool{}
	for _, known := range []bool{true, false} { // vendors get their names before other servers of the same kind
		for _, one := range c.all {
			if known != (one.base == "") {
				continue
			}
			one.name = one.vendor.name
			if one.base != "" && one.home != "" { // an operator's own server
				one.name = hostName(one.base)
			}
			for n := 2; taken[one.name]; n++ {
				one.name = strings.TrimRight(one.name, "-0123456789") + "-" + strconv.Itoa(n)
			}
			taken[one.name] = true
			c.provider(one, s)
		}
	}
}

// provider adds a provider to the plan, with the prices and sizes of its models.
func (c *converter) provider(one *server, s *settings) {
	fields := map[string]any{}
	second := one.name != one.vendor.name
	if one.base != "" {
		fields["base_url"] = one.base
		if imports.IsPrivate(one.base) {
			fields["allow_private"] = true
		}
	}
	if second && one.dialect != "" {
		fields["dialect"] = one.dialect
	}
	if second && one.auth != "" {
		fields["auth"] = one.auth
	}
	if len(one.keys) > 0 {
		fields["api_keys"] = anys(one.keys)
	}
	if len(one.models) > 0 && !one.open {
		fields["models"] = anys(one.models)
	}
	if seconds := cmp.Or(one.seconds, s.seconds); seconds > 0 {
		fields["timeouts"] = map[string]any{"total": strconv.FormatFloat(seconds, 'f', -1, 64) + "s"}
	}
	if retries := cmp.Or(one.retries, s.retries); retries != nil {
		fields["retries"] = *retries
	}
	c.put("providers", one.name, fields)
	for model, prices := range one.prices {
		c.put("prices", one.name+"/"+model, anyMap(prices))
	}
	for model, sizes := range one.sizes {
		c.put("models", one.name+"/"+model, sizes)
	}
	if second {
		for _, model := range one.models {
			if one.prices[model] == nil {
				c.plan.Leave(one.at, "the price of %s/%s is unknown: add it to prices, or requests under a budget are "+
					"refused", one.name, model)
			}
		}
	}
}

// retriesOf returns a number of retries, at most 10.
func retriesOf(n float64) *int { return new(int(min(max(n, 0), 10))) }

func (c *converter) put(section, name string, value any) {
	if c.plan.Config[section] == nil {
		c.plan.Config[section] = map[string]any{}
	}
	c.plan.Config[section][name] = value
}

// aliases adds an alias for every group of deployments.
func (c *converter) aliases(s *settings) {
	for _, group := range c.order {
		c.alias(group, group, s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.same)) {
		if c.groups[s.same[name]] == nil {
			c.plan.Leave("router_settings.model_group_alias."+name, "the model %q does not exist", s.same[name])
			continue
		}
		c.alias(name, s.same[name], s)
	}
	for _, a := range c.access {
		c.models.groups[a.name] = append(c.models.groups[a.name], c.models.of([]string{a.model})...)
	}
}

// alias adds an alias with that name for a group, and records our name for it.
func (c *converter) alias(name, group string, s *settings) {
	deployments := c.groups[group]
	first := deployments[0]
	if name == first.target() && len(deployments) == 1 { // it equals the model's own name
		return
	}
	at := first.at + ".model_name"
	if strings.ContainsAny(name, "/*") {
		here := make([]string, 0, len(deployments))
		for _, d := range deployments {
			here = append(here, d.target())
		}
		c.models.groups[name] = here
		c.plan.Leave(at, "%q has a slash or an asterisk, so it cannot be an alias: clients must use %s", name,
			strings.Join(here, ", "))
		return
	}
	targets, weights := c.targets(group, s)
	strategy := s.strategy
	if sum(weights[1:]) == 0 { // one target with fallbacks
		strategy = "fallback"
	}
	fields := map[string]any{"targets": anys(targets), "strategy": strategy}
	if strategy != "fallback" && len(slices.Compact(slices.Clone(weights))) > 1 {
		fields["weights"] = anys(weights)
	}
	c.put("aliases", name, fields)
}

// targets returns the targets of a group, lowest order first, then those of its fallbacks with weight 0.
func (c *converter) targets(group string, s *settings) (targets []string, weights []int) {
	own := slices.Clone(c.groups[group])
	slices.SortStableFunc(own, func(a, b *deployment) int { return int(a.order - b.order) })
	add := func(list []*deployment, weight func(*deployment) int) {
		for _, d := range list {
			if place := slices.Index(targets, d.target()); place >= 0 {
				weights[place] += weight(d)
			} else if !strings.Contains(d.model, "*") {
				targets, weights = append(targets, d.target()), append(weights, weight(d))
			}
		}
	}
	scale := scaleOf(own)
	add(own, func(d *deployment) int {
		if d.order > own[0].order {
			return 0
		}
		return max(1, int(math.Round(d.weight*scale)))
	})
	for _, f := range append(slices.Clone(s.fallbacks[group]), s.defaults...) {
		if c.groups[f.group] == nil {
			c.plan.Leave(f.at, "the model %q does not exist", f.group)
		} else if f.group != group {
			add(c.groups[f.group], func(*deployment) int { return 0 })
		}
	}
	for i := range weights {
		weights[i] = min(weights[i], mostWeight)
	}
	return targets, weights
}

// mostWeight is the maximum weight of a target.
const mostWeight = 1000

// scaleOf returns the factor that reduces weights to at most mostWeight.
func scaleOf(list []*deployment) float64 {
	greatest := 0.0
	for _, d := range list {
		greatest = max(greatest, d.weight)
	}
	if greatest > mostWeight {
		return mostWeight / greatest
	}
	return 1
}

func sum(list []int) (n int) {
	for _, one := range list {
		n += one
	}
	return n
}

func anys[T any](list []T) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

func anyMap(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for k, v := range m {
		all[k] = v
	}
	return all
}
