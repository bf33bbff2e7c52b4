package dashboard_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/dashboard"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/route"
	"weir/internal/store"
)

// installationOf returns a node over a real database, with a provider that had requests.
func installationOf(db *store.DB) *dashboard.Installation {
	until := now.Add(40 * time.Second)
	priced := route.Model{Name: "house/large", Provider: "house", Price: llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 250_000}}, Source: "operator"}
	return &dashboard.Installation{
		Providers: func() []route.ProviderCondition {
			return []route.ProviderCondition{{
				Name: "house", Dialect: "openai", BaseURL: "http://house.example/v1", State: route.StateOpen, Credentials: []route.KeyCondition{{Fingerprint: "9f3a", Until: &until}},
				Targets: []route.Condition{{Target: "house/large", State: route.StateOpen, Until: &until, Failures: 5, LastError: "503 from the provider"}},
			}}
		},
		Models: func() []route.Model { return models },
		Model: func(name string) (route.Model, bool) {
			if name == priced.Name {
				return priced, true
			}
			return route.Model{Name: name, Provider: "house"}, strings.HasPrefix(name, "house/")
		},
		UnseenDays: func() int { return 180 },
		Unmatched: func(patterns []string) []string {
			return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return p != "openai/*" })
		},
		PriceSources: func() dashboard.PriceSources {
			return dashboard.PriceSources{Data: "data 1.2.3", Day: "2026-11-01", Overrides: map[string]map[string]string{"house/large": {"input": "0.25"}}}
		},
		System: func(ctx context.Context) (dashboard.System, error) {
			version, err := db.Version(ctx)
			return dashboard.System{Started: now.Add(-time.Hour), Database: dashboard.DatabaseState{Engine: version}, Journal: dashboard.JournalState{Behind: 20 << 10}}, err
		},
		Settings: func() dashboard.Settings {
			return dashboard.Settings{File: "weir.yaml", Values: []dashboard.Setting{{Path: "providers.house.api_keys", Value: `["[redacted]"]`}}}
		},
	}
}

// TestOperatorPagesNeedOperators refuses all other people on every page of operators.
func TestOperatorPagesNeedOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	n := 0
	for _, r := range s.dashboard.Routes() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		if !strings.HasPrefix(path, "/operator") {
			continue
		}
		n++
		path = strings.NewReplacer("{account}", "acme", "{user}", "u", "{id}", "i").Replace(path)
		for _, role := range []people.Role{people.Owner, people.Member, people.Viewer} {
			s.come("ada", role)
			if got := s.send(t, method, path, url.Values{}, nil); got.status != http.StatusForbidden {
				t.Errorf("%s of %s: got %d, want 403", r.Pattern, role, got.status)
			}
		}
		s.visitor = nil
		if got := s.send(t, method, path, url.Values{}, nil); !strings.HasPrefix(got.header.Get("Location"), "/sign-in") {
			t.Errorf("%s without a session: got %d to %q, want sign-in", r.Pattern, got.status, got.header.Get("Location"))
		}
	}
	if n < 20 {
		t.Errorf("got %d routes of operators, want them all looked at", n)
	}
	s.come("ada", people.Owner)
	if text := s.see(t, "/accounts/acme"); strings.Contains(text, "Installation") {
		t.Error("an owner: got the links of operators")
	}
}

// TestAccountsOfOperators creates an account, and changes all its settings.
func TestAccountsOfOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", "")
	s.see(t, "/operator/accounts", "Installation", ">acme<", ">other<", "$0.00")
	if text := s.see(t, "/operator/accounts?q=ACM", ">acme<"); strings.Contains(text, ">other<") {
		t.Error("search for ACM: got other, too")
	}
	s.see(t, "/operator/accounts?q=nobody", "No account name or id contains")
	s.refused(t, "/operator/accounts/create", url.Values{"name": {"a b"}}, "name")
	s.refused(t, "/operator/accounts/create", url.Values{"name": {"acme"}}, "name")
	s.do(t, "/operator/accounts/create", url.Values{"name": {" research "}}, "/operator/accounts/research?done=account-created")
	const page = "/operator/accounts/research"
	s.see(t, page+"?done=account-created", "The account was created.", "Suspend")
	research := s.account(t, "research")
	k := s.key(t, research, "ada")
	var asked []ledger.Entry
	for i := range 100 { // in one minute
		e := used(research, ago(1, time.Duration(i)*time.Millisecond), "house/large")
		e.Key = k.ID
		asked = append(asked, e)
	}
	s.journal().apply(t, nil, asked...)

	s.refused(t, page+"/limits/set", url.Values{"rpm": {"many"}}, "rpm")
	s.do(t, page+"/limits/set", url.Values{"rpm": {"1,200"}, "tpm": {""}, "concurrency": {"4"}}, page+"?done=limits-set")
	if got := s.account(t, "research").Limits; got != (account.Limits{RPM: 1200, Concurrency: 4}) {
		t.Errorf("limits: got %+v", got)
	}
	s.refused(t, page+"/budget/set", url.Values{"budget": {"-1"}, "period": {"day"}}, "budget")
	s.refused(t, page+"/budget/set", url.Values{"budget": {"5"}, "period": {"year"}}, "period")
	for _, form := range []url.Values{{"budget": {"0.10"}, "period": {"day"}, "preview": {"1"}}, {"rpm": {"33"}, "preview": {"1"}}} {
		path, refused, value := page+"/budget/set", "96", "0.10"
		if form.Has("rpm") {
			path, refused, value = page+"/limits/set", "67", "33"
		}
		got := s.send(t, "POST", path, form, http.Header{"Origin": {s.url}})
		if got.status != http.StatusOK || !strings.Contains(got.text, "the 100 requests") || !strings.Contains(got.text, ">"+refused+"<") || !strings.Contains(got.text, `value="`+value+`"`) {
			t.Errorf("preview of %v: got %d %s", form, got.status, between(got.text, "<main", "</main>"))
		}
	}
	if got := s.send(t, "GET", page, nil, nil); strings.Contains(got.text, `value="33"`) {
		t.Errorf("after a preview: got %s, want nothing changed", between(got.text, "<main", "</main>"))
	}
	s.do(t, page+"/budget/set", url.Values{"budget": {"$1,000.50"}, "period": {"day"}}, page+"?done=budget-set")
	text := s.refused(t, page+"/credit/add", url.Values{"usd": {"much"}, "way": {"add"}}, "usd")
	if !strings.Contains(text, `value="1200"`) || !strings.Contains(text, `value="1000.5"`) {
		t.Error("a mistake in one form: want the others as the account is")
	}
	s.refused(t, page+"/credit/add", url.Values{"usd": {"5"}, "way": {"take"}}, "usd")
	s.refused(t, page+"/credit/add", url.Values{"usd": {"5"}, "way": {"odd"}}, "way")
	s.do(t, page+"/credit/add", url.Values{"usd": {"3"}, "way": {"give"}}, page+"?done=credit-added")
	if a := s.account(t, "research"); a.Credit != nil || a.Goodwill != 3*llm.USD {
		t.Errorf("goodwill: got %+v, want $3 and no credit", a)
	}
	s.do(t, page+"/credit/add", url.Values{"usd": {"20"}, "way": {"add"}}, page+"?done=credit-added")
	s.do(t, page+"/credit/add", url.Values{"usd": {"5"}, "way": {"take"}}, page+"?done=credit-added")
	twice := url.Values{"usd": {"9"}, "way": {"take"}, "once": {between(s.see(t, page), `name="once" value="`, `"`)}}
	for range 2 {
		s.do(t, page+"/credit/add", twice, page+"?done=credit-added")
	}
	s.do(t, page+"/credit/add", url.Values{"usd": {"9"}, "way": {"add"}}, page+"?done=credit-added")
	again := url.Values{"usd": {"500"}, "way": {"take"}, "once": {between(s.see(t, page), `name="once" value="`, `"`)}}
	for range 2 { // a refused form may be sent again
		s.refused(t, page+"/credit/add", again, "usd")
	}
	s.see(t, page, "Budget left", "$1,000.50 a day", "Credit left", "$15.00")
	s.do(t, page+"/credit/end", url.Values{}, page+"?done=credit-ended")
	s.do(t, page+"/budget/set", url.Values{"budget": {""}}, page+"?done=budget-set")
	s.refused(t, page+"/hangup/set", url.Values{"on_hangup": {"wait"}}, "on_hangup")
	s.do(t, page+"/hangup/set", url.Values{"on_hangup": {"drain"}}, page+"?done=hangup-set")
	s.do(t, page+"/suspend", url.Values{}, page+"?done=account-suspended")
	if a := s.account(t, "research"); !a.Suspended || a.OnDisconnect != account.DisconnectDrain || a.Budget != (account.Budget{}) || a.Credit != nil {
		t.Errorf("the account: got %+v", a)
	}
	s.see(t, page, "Suspended", "Resume the account")
	s.do(t, page+"/resume", url.Values{}, page+"?done=account-resumed")
	if s.account(t, "research").Suspended {
		t.Error("resumed: got it suspended still")
	}
}

func (s *site) account(t *testing.T, name string) account.Account {
	t.Helper()
	a := must.Get(s.accounts.Account(t.Context(), name))(t)
	return a
}

// TestPeopleOfOperators invites another operator, creates a link for a password, and checks that one operator stays.
func TestPeopleOfOperators(t *testing.T) {
	t.Parallel()
	s := founded(t)
	ada := s.cookie
	s.see(t, "/operator/people", "ada@example.com", "(you)", "Operator", ">default<", "Password")
	s.see(t, "/operator/people?q=nobody", "No user has this text")
	s.refused(t, "/operator/people/invite", url.Values{"email": {"grace"}}, "email")
	text := s.send(t, "POST", "/operator/people/invite", url.Values{"email": {"grace@example.com"}}, nil).text
	link := strings.TrimPrefix(between(text, `<code id="link">`, `</code>`), "https://weir.example.com")
	list := s.see(t, "/operator/people", "grace@example.com", "Pending invitations")
	if strings.Contains(list, link) {
		t.Error("the link of the invitation: got it a second time")
	}
	cancel := between(list, `action="/operator/people/invitations/`, `"`)
	s.do(t, "/operator/people/invitations/"+cancel, url.Values{}, "/operator/people?done=invitation-cancelled")
	s.refused(t, "/operator/people/invitations/"+cancel, url.Values{}, "")
	text = s.send(t, "POST", "/operator/people/invite", url.Values{"email": {"grace@example.com"}}, nil).text
	link = strings.TrimPrefix(between(text, `<code id="link">`, `</code>`), "https://weir.example.com")

	me := s.user(t, "ada@example.com")
	if text := s.refused(t, "/operator/people/"+me.ID+"/demote", url.Values{}, ""); !strings.Contains(text, "last operator") {
		t.Error("the last operator: want a message about it")
	}
	s.cookie = ""
	s.do(t, link, url.Values{"name": {"Grace"}, "password": {password}}, "/")
	grace := s.user(t, "grace@example.com")
	s.see(t, "/operator/people", "Grace")
	s.do(t, "/operator/people/"+me.ID+"/demote", url.Values{}, "/operator/people?done=operator-removed")
	if got := s.send(t, "GET", "/operator/people", nil, http.Header{"Cookie": {ada}}); got.status != http.StatusForbidden {
		t.Errorf("ada, a former operator: got %d, want 403", got.status)
	}
	s.do(t, "/operator/people/"+me.ID+"/promote", url.Values{}, "/operator/people?done=operator-added")
	s.refused(t, "/operator/people/0199-nobody/promote", url.Values{}, "")
	s.refused(t, "/operator/people/0199-nobody/reset", url.Values{}, "")
	reset := s.send(t, "POST", "/operator/people/"+me.ID+"/reset", url.Values{}, nil).text
	hers := s.cookie
	s.cookie = ""
	s.do(t, strings.TrimPrefix(between(reset, `<code id="link">`, `</code>`), "https://weir.example.com"), url.Values{"password": {"another quiet river"}}, "/")
	s.see(t, "/operator/people", "ada@example.com")
	s.cookie = hers
	s.do(t, "/operator/people/"+grace.ID+"/demote", url.Values{}, "/")
}

func (s *site) user(t *testing.T, email string) people.User {
	t.Helper()
	u := must.Get(s.people.User(t.Context(), email))(t)
	return u
}

var entryPlace = regexp.MustCompile(`UTC, ([0-9,]+)</small>`)

// places returns the origins of the entries on a page.
func places(text string) (all []string) {
	for _, m := range entryPlace.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// hrefOf returns the target of the link of that relation; empty for none.
func hrefOf(text, rel string) string {
	m := regexp.MustCompile(`href="([^"]*)" rel="` + rel + `"`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(m[1], "&amp;", "&")
}

// TestAuditPages reads from the newest entry to the oldest one and back, and gets each once.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", "")
	for i := range 119 { // and the two accounts
		s.key(t, []account.Account{s.acme, s.other}[i%2], "ada")
	}
	for query, want := range map[string]int{"": 121, "?account=acme&action=key.": 60} {
		var down, up []string
		page, last := "/operator/audit"+query, ""
		for page != "" {
			text := s.see(t, page)
			down = append(down, places(text)...)
			page, last = hrefOf(text, "next"), page
		}
		for page = last; page != ""; {
			text := s.see(t, page)
			up = append(slices.Clone(places(text)), up...)
			page = hrefOf(text, "prev")
		}
		if len(down) != want || !slices.Equal(down, up) || len(slices.Compact(slices.Sorted(slices.Values(down)))) != want {
			t.Errorf("%q: got %d entries down and %d up, want %d, each once", query, len(down), len(up), want)
		}
	}
}

// TestAuditLog selects entries, exports and verifies them.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", "")
	s.do(t, "/operator/accounts/acme/budget/set", url.Values{"budget": {"5"}, "period": {"day"}}, "/operator/accounts/acme?done=budget-set")
	s.do(t, "/operator/accounts/acme/budget/set", url.Values{"budget": {"7"}, "period": {"day"}}, "/operator/accounts/acme?done=budget-set")
	s.see(t, "/operator/audit", "account.changed", "<del>5</del> <ins>7</ins>", "ada@example.com", "192.0.2.7", "weir")
	for query, want := range map[string]int{
		"?actor=ada@example.com": 2, "?account=acme": 3, "?account=" + s.other.ID: 1, "?action=account.created": 2, "?from=2026-11-21&to=2026-11-21": 4, "?to=2026-11-20": 0, "?from=2026-11-22": 0, "?action=%27": 0,
	} {
		if got := len(places(s.see(t, "/operator/audit"+query))); got != want {
			t.Errorf("%s: got %d entries, want %d", query, got, want)
		}
	}
	for query, field := range map[string]string{"?from=soon": "from", "?to=2026-02-30": "to", "?account=nobody": "account"} {
		for _, path := range []string{"", "/export"} {
			got := s.send(t, "GET", "/operator/audit"+path+query+"&format=csv", nil, nil)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, `id="f-`+field+`-error"`) {
				t.Errorf("%s%s: got %d, want 422 with an error at %s", path, query, got.status, field)
			}
		}
	}
	s.exports(t)
	text := s.send(t, "POST", "/operator/audit/verify", url.Values{}, nil).text
	head := between(text, `<code id="head">`, `</code>`)
	if !strings.Contains(text, "The log is intact: 4 entries") || len(head) != 64 {
		t.Errorf("verify: got no whole log, or no head: %q", head)
	}
	for given, want := range map[string]string{head: "The log is intact", strings.Repeat("ab", 32): "No entry has this head."} {
		if got := s.send(t, "POST", "/operator/audit/verify", url.Values{"head": {given}}, nil); !strings.Contains(got.text, want) || len(dashboard.Check(got.text)) > 0 {
			t.Errorf("verify from %s: got no %q", given, want)
		}
	}
	s.refused(t, "/operator/audit/verify", url.Values{"head": {"abc"}}, "head")
}

func (s *site) exports(t *testing.T) {
	t.Helper()
	got := s.send(t, "GET", "/operator/audit/export?format=csv&account=acme", nil, nil)
	rows, err := csv.NewReader(strings.NewReader(got.text)).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][0] != "seq" || rows[3][13] != `{"budget_usd":"7"}` {
		t.Errorf("csv: got %v, %v", rows, err)
	}
	for key, want := range map[string]string{
		"Content-Type": "text/csv; charset=utf-8", "Content-Disposition": "attachment; filename=weir-audit-2026-11-21.csv", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := got.header.Get(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	lines := s.send(t, "GET", "/operator/audit/export?format=jsonl", nil, nil)
	if n := strings.Count(lines.text, "\n"); n != 4 || lines.header.Get("Content-Type") != "application/jsonl" {
		t.Errorf("jsonl: got %d lines of %s, want 4", n, lines.header.Get("Content-Type"))
	}
	none := s.send(t, "GET", "/operator/audit/export?format=jsonl&actor=nobody", nil, nil)
	if none.status != http.StatusOK || none.text != "" || none.header.Get("Content-Disposition") == "" {
		t.Errorf("nothing to export: got %d %q, want an empty file", none.status, none.text)
	}
	if got := s.send(t, "GET", "/operator/audit/export?format=xml", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("xml: got %d, want 400", got.status)
	}
}

// TestExportCutShort breaks off the connection when an entry after the first piece cannot be sent, so that half a log
// does not look complete; before it, a page shows the error.
func TestExportCutShort(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", "")
	s.key(t, s.acme, "ada")
	s.spoil(t, 3)
	r := must.Get(http.NewRequestWithContext(t.Context(), "GET", s.url+"/operator/audit/export?format=jsonl", nil))(t)
	if resp, err := s.client.Do(r); err == nil {
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil || bytes.Contains(got, []byte("canary")) {
			t.Errorf("got %q without an error, want the connection broken off", got)
		}
	}
	s.spoil(t, 1)
	got := s.send(t, "GET", "/operator/audit/export?format=jsonl", nil, nil)
	if got.status != http.StatusInternalServerError || strings.Contains(got.text, "canary") || got.header.Get("Content-Disposition") != "" {
		t.Errorf("before the first piece: got %d, want the page of an error", got.status)
	}
}

// spoil writes a value that cannot be read into an entry of the audit log.
func (s *site) spoil(t *testing.T, seq int) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", s.file))(t)
	defer db.Close()
	must.Get(db.ExecContext(t.Context(), `UPDATE audit SET became = '{canary' WHERE seq = ?`, seq))(t)
}

// TestOperatorPagesShowInstallation checks the pages without forms.
func TestOperatorPagesShowInstallation(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", "")
	s.see(t, "/operator/providers", `href="/operator/providers/house"`, "Unavailable", "weir.yaml, line 7")
	s.see(t, "/operator/providers/house", "http://house.example/v1", "…9f3a", "12:00:40 UTC", "Unavailable", "503 from the provider", "weir.yaml, line 7. It can only be changed there")
	if got := s.send(t, http.MethodPost, "/operator/providers/house/change", url.Values{}, nil); got.status != http.StatusBadRequest {
		t.Errorf("a provider of the file: got %d, want 400", got.status)
	}
	if got := s.send(t, http.MethodGet, "/operator/providers/nobody", url.Values{}, nil); got.status != http.StatusNotFound {
		t.Errorf("no provider: got %d, want 404", got.status)
	}
	s.see(t, "/operator/configuration", "There are no changes yet.")
	without := func(at time.Time, model string) ledger.Entry {
		e := used(s.acme, at, model)
		e.Price, e.Cost = llm.Price{}, 0
		e.Unpriced, e.AtMost = e.Price.Unpriced(&e.Usage, ""), e.Hold
		return e
	}
	unpriced := []ledger.Entry{without(ago(0, 0), "house/large"), without(ago(31, 0), "house/old")}
	for i := range 1204 {
		unpriced = append(unpriced, without(ago(19, time.Duration(i)*time.Millisecond), "house/new"))
	}
	s.journal().apply(t, nil, unpriced...)
	s.see(t, "/operator/prices", "house/new", "1,204", `&#34;house/new&#34;: {input: &#34;?&#34;`, "Has a price now", "data 1.2.3", "input $0.25")
	if text := s.see(t, "/operator/prices?q=house/new", "No price"); strings.Contains(text, `&#34;house/large&#34;: {`) || strings.Contains(text, "house/old") {
		t.Error("got a model to fill in that has a price by now, or that was used before the last 30 days")
	}
	s.see(t, "/operator/prices?q=house/large", "$0.25", "operator")
	s.see(t, "/operator/prices?q=gpt", "$1.25", "data/prices@1")
	s.see(t, "/operator/prices?q=none", "No model with this name is known.")
	s.see(t, "/operator/system", "SQLite 3.", "20 KiB of the journal", "Not used", "1 hour ago",
		`action="/admin/v1/ledger/export"`, `value="focus"`)
	s.see(t, "/operator/settings", "weir.yaml", "providers.house.api_keys", "[redacted]")
}
