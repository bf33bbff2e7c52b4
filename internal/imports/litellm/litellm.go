package litellm

import (
	"context"
	"crypto/sha256"
	"time"

	"weir/internal/account"
	"weir/internal/imports"
)

// Import holds the input.
type Import struct {
	Config map[string]any                        // contents of config.yaml; nil for none
	Rows   imports.Rows                          // of the database; nil for none
	Getenv func(string) (value string, set bool) // looks up the environment variables that the file refers to
	Now    time.Time

	plan   *imports.Plan
	models modelNames
	master account.Hash
}

// Plan converts LiteLLM's configuration and database to a plan.
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

// addConfig adds the contents of the file to the plan.
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
	root.Leave("set them on the gateway's machine", "environment_variables")
	root.LeaveRest("it has no counterpart")
}

// masterKey records the hash of LiteLLM's master key, and the unsupported general settings.
func (c *converter) masterKey(root imports.Node) {
	general := root.Object("general_settings")
	if key, ok := general.Secret("master_key"); ok {
		c.master = sha256.Sum256([]byte(key))
		c.plan.Leave("general_settings.master_key",
			"create operators' keys by weir keys create --permission admin")
	}
	if general.Has("database_url") {
		c.plan.Leave("general_settings.database_url", "pass it as --database-url to import the database")
	}
	general.LeaveRest("it has no counterpart")
}

// modelNames maps LiteLLM's names of models to ours.
type modelNames struct {
	groups map[string][]string // by model_name or access group; absent for an unchanged name
}

// of returns our names for LiteLLM's names.
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
