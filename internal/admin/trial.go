package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/provider"
	"weir/internal/route"
	"weir/internal/upstream"
)

const (
	// trialsWait bounds a test, and mostTrials the tests at once.
	trialsWait = 30 * time.Second
	mostTrials = 4
)

// Test sends requests to a provider.
func (c *Configuration) Test(ctx context.Context, by audit.Actor, t managed.Trial) (f managed.Finding, err error) {
	leave, err := enter(c.trials, llm.CodeRateLimited,
		fmt.Sprintf("%d provider tests are running already. Try again in a moment.", mostTrials))
	if err != nil {
		return f, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, trialsWait)
	defer cancel()
	saved, _, err := c.parsed(ctx, 0)
	if err != nil {
		return f, err
	}
	doc, err := c.withTried(ctx, by, saved, &t)
	if err != nil {
		return f, refusedEdit(err)
	}
	err = c.try(ctx, doc, func(_ *upstream.Builder, table *route.Table) error {
		p := table.Provider(t.Name)
		if p == nil {
			return llm.Errorf(llm.CodeNotFound, "There is no provider %.100q: send its configuration, or the "+
				"name of a "+
				"configured provider.", t.Name).At("name")
		}
		err := c.checkOwn(ctx, saved, doc, p)
		if err != nil {
			return err
		}
		f = findingOf(ctx, p)
		if t.Model == "" {
			return nil
		}
		f.Answers, err = c.tryModel(ctx, by, table, t.Name+"/"+t.Model)
		if len(f.Answers) > 0 && f.Answers[0].Works && f.BaseURLFound == "" && !f.Listed {
			f.Problem = "" // a provider that answers need not list its models
		}
		return err
	})
	return f, refusedEdit(err)
}

// withTried returns the document with the tested provider. If that differs from the saved one, it adds an entry to
// the audit log before anything is sent.
func (c *Configuration) withTried(ctx context.Context, by audit.Actor, saved config.Document, t *managed.Trial) (
	config.Document, error,
) {
	if t.Value == nil {
		return saved, nil
	}
	file, err := config.FileDocument(c.files)
	if err != nil {
		return nil, err
	}
	one, err := config.DocumentOf(managed.Ref{Section: "providers", Name: t.Name}, "provider", t.Value)
	if err != nil {
		return nil, err
	}
	if one, err = one.Revealed(saved, file.Document); err != nil {
		return nil, mistake{err}
	}
	if one, err = file.Without(one); err != nil {
		return nil, err
	}
	doc := saved.With(one, false)
	for _, change := range saved.Changes(saved.With(one.Recordable(), false)) {
		if err := c.store.NoteTest(ctx, by, &change); err != nil {
			return nil, err
		}
	}
	if member := one.NewReference(t.Name, saved, file.Document); member != "" {
		return nil, llm.Invalidf("provider."+member, "A test cannot use a reference that the saved provider does not "+
			"have. Write the value of %s itself for the test, or save the provider first.", member)
	}
	return doc, nil
}

// checkOwn refuses to test a provider with credentials that were neither typed for it nor saved with it for the same
// host, such as those of other providers or of the gateway's environment.
func (c *Configuration) checkOwn(ctx context.Context, saved, doc config.Document, p *provider.Provider) error {
	if len(saved.Changes(doc)) == 0 {
		return nil
	}
	return c.try(ctx, saved, func(_ *upstream.Builder, table *route.Table) error {
		if p.Own(table.Provider(p.Name()), doc.Typed(p.Name())) {
			return nil
		}
		return llm.Invalid("provider", "A test only uses a key that is typed for it, or a key that is saved with the "+
			"provider for the same host. Type the key, or save the provider first.")
	})
}

// mostTold bounds the models in a finding.
const mostTold = 1000

// findingOf lists the provider's models.
func findingOf(ctx context.Context, p *provider.Provider) managed.Finding {
	f := managed.Finding{Provider: p.Name(), Dialect: p.Dialect().Name, BaseURL: p.ShownURL(p.BaseURL())}
	l, key, err := p.ListModels(ctx)
	if errors.Is(err, provider.ErrNoList) {
		f.Problem = "Providers of this wire format do not list their models. Choose a model to test."
		return f
	}
	if err != nil {
		f.Problem = problemOf(p, key, err)
		return f
	}
	if l.BaseURL != p.BaseURL() {
		f.BaseURLFound = p.ShownURL(l.BaseURL)
		f.Problem = fmt.Sprintf("The address %s is wrong: its API is at %s. Set base_url to that.", f.BaseURL,
			f.BaseURLFound)
		return f
	}
	f.Listed, f.Models, f.Latency = true, l.Names[:min(len(l.Names), mostTold)], max(l.Took, time.Millisecond)
	return f
}

// problemOf describes why a provider does not list its models, and the setting to change.
func problemOf(p *provider.Provider, key int, err error) string {
	f, ok := errors.AsType[*provider.Failure](err)
	if !ok {
		return sentence(err)
	}
	said := ""
	if f.Upstream.Message != "" {
		said = fmt.Sprintf(" It says: %q.", f.Upstream.Message)
	}
	switch {
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		if p.KeyID(key) == "" {
			return fmt.Sprintf("The provider requires a key (status %d).%s Set api_keys.", f.Status, said)
		}
		name := fmt.Sprintf("api_keys[%d]", key)
		if last := p.LastFour(key); last != "" {
			name += " (…" + last + ")"
		}
		return fmt.Sprintf("The provider refuses the key %s (status %d).%s Set another key.", name, f.Status, said)
	case f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed || f.Kind == provider.KindProtocol:
		return fmt.Sprintf("There is no list of models at %s, with or without /v1. Check base_url, or choose a "+
			"model to "+
			"test.", p.ShownURL(p.BaseURL()))
	case f.Status == 0:
		return fmt.Sprintf("%s cannot be reached (%s). Check base_url.", p.ShownURL(p.BaseURL()), f.Kind)
	}
	return fmt.Sprintf("The provider answers with status %d.%s", f.Status, said)
}
