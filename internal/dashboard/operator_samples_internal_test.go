package dashboard

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/plan"
	"weir/internal/pricing"
	"weir/internal/report"
	"weir/internal/route"
)

// managedObjects returns objects of every origin.
func managedObjects() []managed.Object {
	return []managed.Object{
		{Section: "providers", Name: "openai", Path: "providers.openai", Source: managed.FromManaged, Variables: []string{"WEIR_PROVIDERS_OPENAI_RETRIES"}, Value: map[string]any{
			"api_keys": []any{"sealed:0123456789abcdef:1234", "${" + hostile + "}", "sealed:0123456789abcdef"}, "models": []any{"gpt-5-mini"}, "allow_private": true, "retries": uint64(1),
		}},
		{Section: "providers", Name: "house", Path: "providers.house", Source: managed.FromFile, File: "/etc/weir/" + hostile, Line: 7, Value: map[string]any{"api_keys": []any{"sealed:0123456789abcdef:1234"}}},
		{Section: "aliases", Name: "fast", Path: "aliases.fast", Source: managed.FromManaged, Value: map[string]any{"targets": []any{"openai/gpt-5-mini", "house/" + hostile}, "strategy": "weighted", "weights": []any{uint64(1), uint64(3)}, "rescue": "off"}},
		{Section: "aliases", Name: "slow", Path: "aliases.slow", Source: managed.FromFile, File: "weir.yaml", Line: 12, Value: map[string]any{"targets": []any{"house/small"}}},
		{Section: "prices", Name: "house/* since 2027-01-01", Path: `prices["house/* since 2027-01-01"]`, Source: managed.FromManaged, Value: map[string]any{"input": "0.15", "output": "0.60"}},
		{Section: "limits", Path: "limits", Source: managed.FromDefault, Value: map[string]any{"rpm": uint64(0)}},
		{Section: "cors", Path: "cors", Source: managed.FromEnvironment, Variables: []string{"WEIR_CORS_ORIGINS"}, Value: map[string]any{"origins": []any{"*"}}},
	}
}

func configurationSamples() []sample {
	objects := managedObjects()
	state := managed.State{Version: 21, InForce: 20, Objects: objects}
	var versions []managed.Version
	for seq := state.Version; seq > 0; seq-- {
		versions = append(versions, managed.Version{Seq: seq, At: testTime, By: "user ada@example.com", Changes: []managed.Change{
			{Path: "aliases.fast", After: objects[2].Value}, {Path: "limits", Before: objects[5].Value}, {Path: "cors", Before: hostile, After: objects[6].Value},
		}})
	}
	versions[1].Changes = nil
	ill := configurationPageOf(&managed.State{Version: 3, InForce: 2, Problem: "version 3 cannot be used here"}, nil)
	show := func(name, template string, data any) sample {
		return sample{name, "/operator/configuration", "", page{name: template, title: "Configuration", data: data}}
	}
	wrong := &form{values: url.Values{"name": {hostile}, "targets": {hostile}, "more": {"x"}}, general: []string{hostile}}
	wrong.mistake("targets", "The alias needs targets.")
	all := []sample{
		show("configuration", "configuration", configurationPageOf(&state, versions)), show("configuration-ill", "configuration", ill),
		show("configuration-wrong", "configuration-edit", editPageOf(&configSections[0], &managed.Object{}, wrong)),
	}
	previewed := editPageOf(&configSections[3], &managed.Object{}, &form{})
	row := previewRow{plan.Row{AccountName: hostile, KeyLabel: hostile, Requests: 12_004, Elsewhere: 3, Estimated: 12, Cost: 9 * llm.USD, Planned: 7 * llm.USD}, 412}
	previewed.Preview = &preview{Rows: slices.Repeat([]previewRow{row}, previewRows), Left: 5, Total: row, Cut: true}
	all = append(all, show("configuration-preview", "configuration-edit", previewed))
	for i := range configSections {
		c := &configSections[i]
		o := objectOf(objects, c.section, "")
		if c.section == "aliases" {
			o = &objects[2]
		}
		all = append(all, show("configuration-"+c.section, "configuration-edit", editPageOf(c, o, &form{})))
	}
	return all
}

// operatorSamples returns the pages of operators.
func operatorSamples(s *site) []sample {
	all := append(accountSamples(), providerSamples()...)
	all = append(all, userSamples()...)
	all = append(all, auditSamples()...)
	all = append(all, alertSamples()...)
	all = append(all, toolSamples()...)
	all = append(all, socketSamples()...)
	return append(all, systemSamples(s)...)
}

func accountSamples() []sample {
	accounts := []account.Account{
		{ID: "acc-1", Name: "acme", Budget: account.Budget{Limit: 250 * llm.USD, Period: budget.PeriodMonth}},
		{ID: "acc-2", Name: hostile, Suspended: true},
		{ID: "acc-3", Name: "research"},
	}
	sums := []report.AccountSum{
		{Account: "acc-1", Requests: 86_112, Cost: 1204*llm.USD + 18*llm.USD/100, Errors: 214, Used: testTime.Add(-time.Minute)},
		{Account: "acc-2", Requests: 3, Cost: llm.USD / 1000, Uncertain: 3 * llm.USD, Unpriced: 2, Used: testTime.AddDate(0, 0, -3)},
		{Account: "acc-3"},
	}
	for range most {
		accounts = append(accounts, account.Account{ID: "acc-n", Name: "one-of-many"})
		sums = append(sums, report.AccountSum{Account: "acc-n"})
	}
	wrong := &form{values: url.Values{"name": {hostile}}}
	wrong.mistake("name", "The account name has an invalid character. Use only letters, digits, dash, underscore and dot.")
	list := func(p allAccountsPage) page { return page{name: "operator-accounts", title: "Accounts", data: p} }
	owing := newAccountForms()
	owing.limits = &form{values: url.Values{"rpm": {"many"}}}
	wholeOf(owing.limits, "rpm")
	owing.credit = &form{values: url.Values{"usd": {hostile}, "way": {"take"}}}
	owing.credit.mistake("usd", "The credit is not an amount of US dollars above 0. Enter one such as 20 or 0.50.")
	owing.onDisconnect.mistake("on_hangup", "That is not an action for a disconnected client.")
	a := visitOf("").Account
	own := map[string]pricing.PriceOverride{}
	for _, name := range sampleModels(ownShown + 1) {
		own[name] = pricing.PriceOverride{"input": "0.5", "output": hostile}
	}
	for i := range listsShown + 2 {
		a.PriceLists = append(a.PriceLists, account.PriceList{Since: testTime.AddDate(0, i-4, 0), Markup: 1550, Prices: own})
	}
	a.Per = []account.Per{
		{Limits: account.Limits{RPM: 10}, Budget: account.Budget{Limit: 5 * llm.USD, Period: budget.PeriodMonth}},
		{Tag: hostile, Limits: account.Limits{Concurrency: 2}},
	}
	owing.per = &form{values: url.Values{"tag": {hostile}, "per_budget": {hostile}}}
	owing.per.mistake("tag", hostile)
	owing.charge = &form{values: url.Values{"markup_percent": {hostile}}}
	owing.charge.mistake("since", hostile)
	b := account.Account{ID: "acc-2", Name: "research", Suspended: true, Credit: &account.Credit{Paid: 20 * llm.USD}, OnDisconnect: account.DisconnectDrain, Created: testTime}
	closed := account.Account{ID: "acc-3", Name: "closed-acc3", Suspended: true, Created: testTime, Closed: new(testTime)}
	one := func(a *account.Account, f *accountForms) page {
		p := oneAccountPageOf(a, f, testTime)
		p.Tiles = []Tile{{"Spend", "$41.07", "this month"}, {"Budget left", "$208.93", "of $250.00 a month"}}
		return page{name: "operator-account", title: "Manage " + a.Name, data: p}
	}
	current, past := accountsList{month: "2026-11", isCurrent: true, now: testTime}, accountsList{sort: "name", month: "2026-09", now: testTime}
	unseen := allAccountsPageOf(accounts[:3], sums[:3], current, &form{})
	unseen.Unseen = unseenViewOf(accounts[:3], []report.UnseenSum{
		{Account: "acc-1", Attempts: 1204, Uncertain: 7 * llm.USD / 3, First: "2026-09-02"}, {Account: "acc-2", Attempts: 1, First: "2026-11-02"}, {Account: "gone", Attempts: 1, First: "2026-11-02"},
	}, 180)
	return []sample{
		{"operator-accounts-unseen", "/operator/accounts", "", list(unseen)},
		{"operator-accounts", "/operator/accounts", "", list(allAccountsPageOf(accounts[:3], sums[:3], current, &form{}))},
		{"operator-accounts-many", "/operator/accounts", "", list(allAccountsPageOf(accounts, sums, past, wrong))},
		{"operator-accounts-none", "/operator/accounts", "", list(allAccountsPageOf(accounts, sums, accountsList{sought: "nobody has this", month: "2026-10", now: testTime}, &form{}))},
		{"operator-accounts-empty", "/operator/accounts", "", list(allAccountsPageOf(nil, nil, current, &form{}))},
		{"operator-account", "/operator/accounts/acme", "", one(a, newAccountForms())},
		{"operator-account-closed", "/operator/accounts/closed-acc3", "", one(&closed, newAccountForms())},
		{"operator-account-wrong", "/operator/accounts/research", "", one(&b, owing)},
	}
}

func providerSamples() []sample {
	later, before := testTime.Add(40*time.Second), testTime.Add(-time.Minute)
	well := route.Condition{Target: "openai/gpt-5-mini", State: route.StateOK, LatencyMS: 412}
	all := []route.ProviderCondition{
		{Name: "openai", Dialect: "openai", BaseURL: "https://api.openai.example/v1", State: route.StateOpen, Keys: 2, Resting: 1, Credentials: []route.KeyCondition{{Fingerprint: "9f3a"}, {Fingerprint: "c01d", Until: &later}}, Targets: []route.Condition{
			well,
			{Target: "openai/" + hostile, State: route.StateOpen, Failures: 7, Until: &later, LastError: hostile, LastAt: &before},
			{Target: "openai/gpt-5-nano", State: route.StateFailing, Failures: 1, LastError: "503 from the provider", LastAt: &before},
		}},
		{Name: "house", Dialect: "openai", BaseURL: "http://127.0.0.1:8000/v1", State: route.StateUnused, Keys: 1},
		{Name: "busy", Dialect: "anthropic", BaseURL: "https://api.anthropic.example", State: route.StateOK, Keys: 1, Credentials: []route.KeyCondition{{Fingerprint: "77aa"}}},
	}
	for range mostTargets + 5 {
		all[2].Targets = append(all[2].Targets, well)
	}
	for i := range 12 {
		all[0].Hour.Parts = append(all[0].Hour.Parts, route.TrafficPart{Attempts: int64(100 * i), Failed: int64(i)})
	}
	all[0].Hour.Attempts, all[0].Hour.Failed, all[0].Hour.FirstToken = 6600, 66, 412*time.Millisecond
	cheap := llm.Rates{llm.Input: 250_000, llm.CacheRead: 25_000, llm.CacheWrite: 250_000, llm.CacheWrite1h: 250_000, llm.AudioIn: 250_000, llm.ImageIn: 250_000, llm.Output: 2_000_000, llm.Reasoning: 2_000_000, llm.AudioOut: 2_000_000}
	crowd := slices.Repeat(all, 20)
	objects := managedObjects()
	dialects := []string{"anthropic", "openai", hostile}
	one := func(c *route.ProviderCondition, o *managed.Object, f *form) providerPage {
		p := providerPageOf(c, o, f, dialects)
		p.TryAt, p.TryIn, p.Version = "/accounts/acme/playground", "acme", "3"
		return p
	}
	tested := one(&all[0], &objects[0], &form{})
	tested.Finding = findingPartOf(&managed.Finding{
		Provider: "openai", Listed: true, Models: []string{"gpt-5-mini", hostile}, Latency: 120 * time.Millisecond,
		Answers: []managed.Answer{{What: managed.Streaming, Works: true, Latency: time.Second, Cost: "0.000012"}, {What: managed.Images, Said: hostile}},
	})
	failed := one(&all[1], &objects[1], &form{})
	failed.Finding = findingPartOf(&managed.Finding{Problem: "The address " + hostile + " is wrong: its API is at https://x.example/v1. Set base_url to that."})
	wrong := &form{values: url.Values{"name": {hostile}, "base_url": {"x:y"}, "more": {"retries: many"}, "key": {"canary-of-a-key"}}, general: []string{hostile}}
	wrong.mistake("base_url", "It must be an http or https address.")
	show := func(name, template string, data any) sample {
		return sample{name, "/operator/providers", "", page{name: template, title: "Providers", data: data}}
	}
	providers := []sample{
		show("providers", "providers", providersPageOf(all, objects)), show("providers-many", "providers", providersPageOf(crowd, nil)),
		show("providers-empty", "providers", providersPageOf(nil, nil)), show("provider", "provider", tested), show("provider-file", "provider", failed),
		show("provider-many", "provider", one(&all[2], &managed.Object{Name: "busy", Source: managed.FromEnvironment}, &form{})),
		show("provider-new", "provider-new", newProviderPageOf(&form{}, dialects, []string{"openai"})), show("provider-wrong", "provider-new", newProviderPageOf(wrong, dialects, nil)),
	}
	models := []route.Model{
		{Name: "openai/gpt-5-mini", Provider: "openai", Price: llm.Price{Version: "v", Rates: cheap}, Source: "data 1", Checked: "2026-11-01"},
		{Name: "openai/" + hostile, Provider: "openai"},
		{Name: "openai/old", Provider: "openai", Deprecated: true, Price: llm.Price{Version: "v", Tiers: []llm.Tier{{Above: 200_000}}}, Source: "operator"},
		{Name: "fast", Targets: []string{"openai/gpt-5-mini"}},
	}
	files := []pricing.FileInfo{{Path: "/etc/weir/" + hostile, Entries: 12, Seen: "2026-11-20"}, {Path: "prices.json", Entries: 1}}
	prices := pricesPageOf(PriceSources{Data: "data 1.2.3", Day: "2026-11-01", Age: 21, Files: files, Problem: "prices.json:3:4: " + hostile, Overrides: map[string]map[string]string{"house/*": {"input": "0.15", "output": "0.60"}}}, models, "openai")
	prices.Unpriced = []unpricedRow{
		{report.UnpricedModel{Model: "house/" + hostile, Attempts: 1204, Accounts: 3, First: "2026-11-02", Last: "2026-11-21"}, false},
		{report.UnpricedModel{Model: "house/small", Attempts: 4, Accounts: 1, First: "2026-11-02", Last: "2026-11-03"}, true},
	}
	prices.Yaml = Code{Ident: "yaml", Label: "Prices to fill in", Text: yamlOf([]string{"house/" + hostile})}
	providers = append(providers, reconciliationSamples(show)...)
	return append(append(providers, configurationSamples()...), []sample{
		{"prices", "/operator/prices", "", page{name: "prices", title: "Prices", data: prices}},
		{"prices-well", "/operator/prices", "", page{name: "prices", title: "Prices", data: pricesPageOf(PriceSources{Data: "data", Day: "2026-11-01"}, models, "nothing has this")}},
	}...)
}

func userSamples() []sample {
	v := visitOf("")
	seen := testTime.Add(-2 * time.Hour)
	users := []people.User{
		{ID: "0199-user", Email: "ada@example.com", Name: "Ada Lovelace", Operator: true, Password: true, Proven: true, Seen: &seen},
		{ID: "u-2", Email: "grace@example.com"},
		{ID: "u-3", Email: "mallory@example.com", Name: hostile, Password: true, Proven: true},
	}
	members := []people.Membership{
		{AccountName: "acme", UserID: "u-2", Role: people.Owner}, {AccountName: hostile, UserID: "u-2", Role: people.Viewer},
	}
	p := usersPageOf(v, users, members, "", &form{})
	p.Invited = &invited{Email: "edsger@example.com", Link: "https://weir.example.com/invite/Hq2b8mC0_tNOTREAL", Unsent: true}
	p.Invitations = []invitationRow{invitationRowOf(usersPath+"/invitations", people.Invitation{ID: "i-1", Email: "edsger@example.com", By: hostile, Expires: testTime.AddDate(0, 0, 7)})}
	wrong := &form{values: url.Values{"email": {hostile}}}
	wrong.mistake("email", "The e-mail address is invalid. Write it like ada@example.com.")
	q := usersPageOf(v, users, members, "research", wrong)
	q.Reset = &resetMade{Email: hostile, Link: "https://weir.example.com/reset/Hq2b8mC0_tNOTREAL"}
	for range most {
		users = append(users, people.User{ID: "0199a0b0-0000-7000-8000-000000000001", Email: "somebody.with.a.long.name@mail.example.com", Name: "Somebody With A Long Name", Password: true, Seen: &seen})
	}
	for i := range users {
		users[i].ID += strings.Repeat("x", i)[:min(i, 9)] + string(rune('a'+i%26)) + string(rune('a'+i/26))
		members = append(members, people.Membership{AccountName: "research-and-development", UserID: users[i].ID, Role: people.Member})
	}
	one := users[0]
	one.Operator, one.SecondFactor, one.Disabled = false, true, &testTime
	many := page{name: "operator-people", title: "People", data: usersPageOf(v, users, members, "", &form{})}
	return []sample{
		{"operator-people-many", "/operator/people", "", many},
		{"operator-user", "/operator/people/u-1", "", page{name: "operator-user", title: "Grace", data: userPage{userRow: userRowOf(v, &one, nil), Changes: userChanges(&one, hostile)}}},
		{"operator-people", "/operator/people", "", page{name: "operator-people", title: "People", data: p}},
		{"operator-people-reset", "/operator/people", "", page{name: "operator-people", title: "People", data: q}},
	}
}

func auditSamples() []sample {
	by := audit.Actor{Kind: audit.User, ID: "0199-user", Name: "ada@example.com", Address: "192.0.2.7"}
	list := []audit.Entry{
		{Seq: 1204, At: testTime.Add(-time.Minute), Actor: by, Action: audit.AccountChanged, Object: audit.Object{Kind: "account", ID: "acc-1", Name: "acme"}, Account: "acc-1", Before: json.RawMessage(`{"budget_usd":"25","rpm":null}`), After: json.RawMessage(`{"budget_usd":"250","rpm":600}`)},
		{Seq: 1203, At: testTime.Add(-time.Hour), Actor: audit.Actor{Kind: audit.Command, Name: hostile}, Action: audit.KeyCreated, Object: audit.Object{Kind: "key", Name: hostile}, Account: "acc-1", After: json.RawMessage(`{"label":"` + strings.Repeat("a", 300) + `","permissions":["chat","uses"]}`)},
		{Seq: 1202, At: testTime.AddDate(0, -2, 0), Actor: audit.Actor{Kind: audit.Nobody}, Action: audit.KeyRevoked, Object: audit.Object{Kind: "key", ID: "k-1"}},
	}
	accounts := map[string]string{"acc-1": "acme"}
	p := auditPageOf(list, &audit.Query{Before: 1300, After: 1}, &form{values: url.Values{}}, accounts)
	p.Verified = verifiedOf(&audit.Verification{Entries: 1204, GoesOn: true})
	wrong := &form{values: url.Values{"from": {hostile}, "action": {hostile}}}
	wrong.bound("from")
	q := auditPageOf(nil, &audit.Query{}, wrong, accounts)
	q.Verified, q.Problems = verifiedOf(&audit.Verification{Entries: 7, Broken: 8, GoesOn: true}), wrong.problems()
	e := auditPageOf(nil, &audit.Query{}, &form{values: url.Values{}}, accounts)
	e.Verified = verifiedOf(&audit.Verification{Entries: 7})
	head := Field{Name: "head", Label: "Head of an earlier check", Kind: "text", Optional: true}
	p.Head, q.Head, e.Head = head, head, head
	return []sample{
		{"audit", "/operator/audit", "", page{name: "audit", title: "Audit log", data: p}},
		{"audit-wrong", "/operator/audit", "", page{name: "audit", title: "Audit log", data: q}},
		{"audit-empty", "/operator/audit", "", page{name: "audit", title: "Audit log", data: e}},
	}
}

func systemSamples(s *site) []sample {
	at := testTime
	well := System{
		Started: testTime.AddDate(0, 0, -3), Database: DatabaseState{Engine: "PostgreSQL 17.2", Schema: 21, Current: 21}, Valkey: ValkeyState{Used: true},
		Nodes: []Node{
			{KnownNode: budget.KnownNode{Node: budget.Node{Journal: uuid.MustParse("0199a0b0-0000-7000-8000-000000000001"), Name: "river-1", Address: ":8080", Version: "1.2.3", Started: at.AddDate(0, 0, -3)}, Seen: at, Alive: true}, Here: true},
			{KnownNode: budget.KnownNode{Node: budget.Node{Journal: uuid.MustParse("0199a0b0-0000-7000-8000-000000000002"), Name: hostile, Address: ":8080", Version: "1.2.2", Started: at}, Seen: at.Add(-time.Hour)}},
			{KnownNode: budget.KnownNode{Node: budget.Node{Journal: uuid.MustParse("0199a0b0-0000-7000-8000-000000000003"), Name: "river-3", Address: ":8080", Version: "1.2.2", Started: at}, Seen: at, Stopped: &at}},
		},
		Versions: []Fact{{"Go", "go1.26"}, {"Prices", "data 1.2.3 of 2026-11-01"}},
	}
	ill := System{
		Started: testTime, Journal: JournalState{Problem: "the disk is full", Behind: 30 << 20, Lost: 12 << 10, SetAside: 2, Open: 3, Unknown: 1, Database: hostile},
		Database: DatabaseState{Engine: "SQLite 3.50.4", Schema: 21, Current: 21}, Valkey: ValkeyState{Used: true, Problem: "connection refused"},
	}
	settings := settingsPageOf(Settings{File: "/etc/weir/weir.yaml", Warnings: []string{hostile}, Values: []Setting{
		{"listen", `":8080"`, "weir.yaml:3"},
		{"database", `"postgres://weir:xxxxx@db.example/weir"`, "WEIR_DATABASE"},
		{"providers.openai.api_keys", `["[redacted]"]`, "managed configuration"},
		{"prices." + hostile + ".input", "0.15", hostile},
		{"limits.rpm", "0", "default"},
	}})
	many := Settings{Values: make([]Setting, mostSettings+1)}
	for i := range many.Values {
		many.Values[i] = Setting{"prices.openai/gpt-5-mini.input", "0.15", "weir.yaml:123"}
	}
	show := func(name string, x *System) sample {
		return sample{name, "/operator/system", "", page{name: "system", title: "System", data: systemPageOf(x, s.version, testTime)}}
	}
	return []sample{
		show("system", &well), show("system-ill", &ill),
		{"settings", "/operator/settings", "", page{name: "settings", title: "Settings", data: settings}},
		{"settings-many", "/operator/settings", "", page{name: "settings", title: "Settings", data: settingsPageOf(many)}},
	}
}

// TestChangesPairBeforeAndAfter pairs the values before and after a change.
func TestChangesPairBeforeAndAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after string
		want          []Change
	}{
		{"", "", nil},
		{`{"rpm":null}`, `{"rpm":600}`, []Change{{"rpm", "", "600"}}},
		{`{"rpm":600,"a":"x"}`, `{"rpm":60}`, []Change{{"a", "x", ""}, {"rpm", "600", "60"}}},
		{"", `{"models":["a","b"],"on":false,"label":""}`, []Change{{"label", "", `""`}, {"models", "", `["a","b"]`}, {"on", "", "false"}}},
		{`[1]`, `"x"`, []Change{{"value", "[1]", "x"}}},
	} {
		got := changesOf(json.RawMessage(c.before), json.RawMessage(c.after))
		must.Equal(t, got, c.want, "%s to %s", c.before, c.after)
	}
	long := valueText(json.RawMessage(`"` + strings.Repeat("é", maxShown) + `"`))
	if len(long) > maxShown+len("…") || !strings.HasSuffix(long, "é…") {
		t.Errorf("a long value: got %q, want it cut between characters", long)
	}
}

// TestCentsAreRounded checks the rounding, and that less than a cent is not shown as nothing.
func TestCentsAreRounded(t *testing.T) {
	t.Parallel()
	for m, want := range map[llm.Money]string{
		0: "$0.00", 1: "< $0.01", llm.USD / 100: "$0.01", llm.USD / 200 * 3: "$0.02", 1204*llm.USD + llm.USD/1000*184: "$1,204.18", -llm.USD / 1000 * 15: "-$0.02",
	} {
		if got := cents(m); got != want {
			t.Errorf("%s: got %s, want %s", m, got, want)
		}
	}
}

// TestTrialModel checks that the default model is preferred, and one with a price.
func TestTrialModel(t *testing.T) {
	t.Parallel()
	priced := llm.Price{Version: "v"}
	installation := &Installation{Models: func() []route.Model {
		return []route.Model{
			{Name: "a/1", Provider: "a"},
			{Name: "a/2", Provider: "a", Price: priced, Deprecated: true},
			{Name: "a/3", Provider: "a", Price: priced},
			{Name: "b/1", Provider: "b", Price: priced},
			{Name: "fast", Targets: []string{"a/3"}},
		}
	}}
	h := &providerHandlers{installation: installation, defaultModel: func() string { return "b/2" }}
	for provider, want := range map[string]string{"a": "a/3", "b": "b/2", "c": ""} {
		must.Equal(t, h.trialModel(provider), want, "the model of %s", provider)
	}
}

// TestYAMLEscapesModelNames checks that names that clients invented add no line of their own.
func TestYAMLEscapesModelNames(t *testing.T) {
	t.Parallel()
	got := yamlOf([]string{"a/x:free", "a/\"\n  evil: {}"})
	want := "prices: # US dollars per million tokens; replace each ? by the price of the provider\n" +
		`  "a/x:free": {input: "?", output: "?"}` + "\n" + `  "a/\"\n  evil: {}": {input: "?", output: "?"}` + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
