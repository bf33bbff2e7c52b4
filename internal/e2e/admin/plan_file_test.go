package admin_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"weir/internal/admin"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/must"
	"weir/internal/plan"
)

// TestPlanReplacesObjectsOfFile checks a plan for an alias and a price in the configuration file, which weir apply may
// not change, and that the plan leaves the file as it is.
func TestPlanReplacesObjectsOfFile(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("small", up.URL) + harness.ProviderYAML("big", up.URL) + `
prices: {small/echo: {input: "100", output: "300"}, big/echo: {input: "500", output: "900"}}
aliases: {fast: {targets: [small/echo]}}
`})
	h.Chat("fast")
	h.Chat("fast")
	before := string(must.Get(os.ReadFile(h.File))(t))
	ask := func(e managed.Edit) (r plan.Result, err error) {
		withPeople(h, func(ctx context.Context, d *admin.Admin) error {
			r, err = d.Plans.Ask(ctx, plan.Ask{Change: e})
			return nil
		})
		return r, err
	}
	const alias = `aliases: {fast: {targets: [big/echo]}}`
	if _, err := apply(h, alias, nil); err == nil || !strings.Contains(err.Error(), "is set in this file") {
		t.Errorf("apply: got %v, want a refusal", err)
	}
	var unchanged plan.Result
	harness.Await(t, "both requests", func() bool {
		unchanged = must.Get(ask(managed.Edit{}))(t)
		return unchanged.Total.Requests == 2
	})
	if unchanged.Total.Elsewhere != 0 {
		t.Errorf("no change: got %+v, want none elsewhere", unchanged.Total)
	}
	for name, e := range map[string]managed.Edit{
		"the alias": {Text: []byte(alias)},
		"the price": {Text: []byte(`prices: {small/echo: {input: "200", output: "600"}}`)},
	} {
		r := must.Get(ask(e))(t)
		if r.Total.Requests != 2 || r.Total.Planned <= unchanged.Total.Planned || (name == "the alias") != (r.Total.Elsewhere == 2) {
			t.Errorf("%s: got %+v, want a higher cost than %s", name, r.Total, unchanged.Total.Planned)
		}
	}
	for name, e := range map[string]managed.Edit{
		"a removed provider that the alias needs": {Remove: []managed.Ref{{Section: "providers", Name: "small"}}},
		"an alias that is nowhere":                {Remove: []managed.Ref{{Section: "aliases", Name: "none"}}},
		"an alias without its target":             {Text: []byte(`aliases: {fast: {targets: [none/echo]}}`)},
	} {
		if _, err := ask(e); llm.AsError(err).Code == llm.CodeInternal || err == nil {
			t.Errorf("%s: got %v, want a mistake of the caller", name, err)
		}
	}
	if after := string(must.Get(os.ReadFile(h.File))(t)); after != before {
		t.Errorf("the file changed to\n%s", after)
	}
}
