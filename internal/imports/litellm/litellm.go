package litellm

import (
	"context"
	"crypto/sha256"
	"time"

	"weir/internal/account"
	"weir/internal/imports"
)

// Import says what is read.
type Import struct {
	Config map[string]any                        // of config.yaml; nil for none
	Rows   imports.Rows                          // of the database; nil for none
	Getenv func(string) (value string, set bool) // of what the file takes from the environment
	Now    time.Time

	plan   *imports.Plan
	models modelNames
	master account.Hash
}

// Plan is what LiteLLM has, as it is to be here.
func (p *Import) Plan(ctx context.Context) (*imports.Plan, error) {
	p.plan = &imports.Plan{Config: map[string]map[string]any{}}
	p.models = modelNames{groups: map[string][]string{}}
	if p.Config != nil {
		p.addConfig()
	}
	if p.Rows != nil {
		if err := p.addDatabase(ctx, p.Rows); err != nil {
			return nil, err
		}
	}
	p.plan.SortLeft()
	return p.plan, nil
}

// addConfig adds what the file has to the plan.
func (p *Import) addConfig() {
	// https://docs.litellm.ai/docs/proxy/configs#load-api-keys--config-values-from-environment, 2026-10-13
	source := imports.Source{Plan: p.plan, Getenv: p.Getenv, Reference: "os.environ/"}
	root := source.Root(p.Config)
	c := &converter{
		Import: p, credentials: map[string]imports.Node{}, groups: map[string][]*deployment{},
		servers: map[serverID]*server{},
	}
	for _, one := range root.List("credential_list") {
		c.credentials[one.Text("credential_name")] = one.Object("credential_values")
	}
	deployments := root.List("model_list")
	settings := c.settings(root)
	for _, d := range deployments {
		c.deployment(d)
	}
	c.nameServers(settings)
	c.aliases(settings)
	c.masterKey(root)
	root.Leave("set them where the gateway runs", "environment_variables")
	root.LeaveRest("it has no counterpart")
}

// masterKey notes which key is LiteLLM's master key, and all other general settings.
func (c *converter) masterKey(root imports.Node) {
	general := root.Object("general_settings")
	if key, ok := general.Secret("master_key"); ok {
		c.master = sha256.Sum256([]byte(key))
		c.plan.Leave("general_settings.master_key", "keys of operators are made here: weir keys create --permission admin")
	}
	if general.Has("database_url") {
		c.plan.Leave("general_settings.database_url", "give it as --database-url to import what is in it")
	}
	general.LeaveRest("it has no counterpart")
}

// modelNames are what LiteLLM's names of models come to here.
type modelNames struct {
	groups map[string][]string // by model_name or access group; none for a name that stays
}

// of are the names here of some there.
func (m *modelNames) of(names []string) (list []string) {
	seen := map[string]bool{}
	for _, name := range names {
		here, ok := m.groups[name]
		if !ok {
			here = []string{name}
		}
		for _, h := range here {
			if !seen[h] {
				seen[h], list = true, append(list, h)
			}
		}
	}
	return list
}
