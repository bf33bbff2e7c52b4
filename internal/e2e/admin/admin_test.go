package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/report"
	"weir/internal/signin"
)

// office is a gateway as a program with an operator's key sees it. Every reply is compared with the document.
type office struct {
	*harness.Gateway
	upstream string // address of its provider
	contract *harness.Contract
	admin    string          // an operator's key
	owner    string          // id of the first user, who owns the account default
	answered map[string]bool // "get /admin/v1/…" of the document, with the status
}

func openOffice(t *testing.T) *office {
	t.Helper()
	return openOfficeWith(t, "")
}

// openOfficeWith opens an office whose configuration has more settings.
func openOfficeWith(t *testing.T, yaml string) *office {
	t.Helper()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + yaml})
	_, c := h.Document()
	o := &office{Gateway: h, upstream: up.URL, contract: c, answered: map[string]bool{}}
	o.admin = h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin}})
	o.owner = found(h, "ada@example.com")
	return o
}

// found creates the first user, an operator who owns the account default.
func found(h *harness.Gateway, email string) (id string) {
	h.T.Helper()
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		link, err := d.Accounts.CreateSetupToken(ctx, audit.Gateway())
		if err != nil {
			return err
		}
		if _, err := d.SignIn.Links.SetUp(ctx, link.Reveal(), signin.Person{Email: email, Name: "Ada", Password: llm.NewSecret("four quiet rivers meet")}, people.Origin{}); err != nil {
			return err
		}
		u, err := d.People.User(ctx, email)
		id = u.ID
		return err
	})
	return id
}

// accept accepts the invitation of a link, as a new user.
func accept(h *harness.Gateway, link string) {
	h.T.Helper()
	_, token, ok := strings.Cut(link, "/invite/")
	if !ok || !strings.HasPrefix(link, h.URL) {
		h.T.Fatalf("the link %q: got none to %s/invite/", link, h.URL)
	}
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		_, err := d.SignIn.Links.Accept(ctx, token, signin.Person{Name: "Somebody", Password: llm.NewSecret("seven loud rivers part")}, people.Origin{})
		return err
	})
}

// squat creates a user with an unproven address, as an owner can who uses the link of a person whom they invite.
func squat(h *harness.Gateway, email string) {
	h.T.Helper()
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		a, err := d.Accounts.Account(ctx, account.DefaultName)
		if err != nil {
			return err
		}
		one, err := d.People.Invite(ctx, audit.Gateway(), people.Invitation{Email: "mallory@example.com", AccountID: a.ID, Role: people.Owner}, "")
		if err != nil {
			return err
		}
		if _, err = d.SignIn.Links.Accept(ctx, path.Base(one.Link.Reveal()), signin.Person{Password: llm.NewSecret("seven loud rivers part")}, people.Origin{}); err != nil {
			return err
		}
		mallory, err := d.People.User(ctx, "mallory@example.com")
		if err != nil {
			return err
		}
		owner := audit.Actor{Kind: audit.User, ID: mallory.ID, Name: mallory.Email}
		one, err = d.People.Invite(ctx, owner, people.Invitation{Email: email, AccountID: a.ID, Role: people.Viewer}, "")
		if err == nil {
			_, err = d.SignIn.Links.Accept(ctx, path.Base(one.Link.Reveal()), signin.Person{Password: llm.NewSecret("seven loud rivers part")}, people.Origin{})
		}
		return err
	})
}

func withPeople(h *harness.Gateway, do func(ctx context.Context, d *admin.Admin) error) {
	h.T.Helper()
	withFiles(h, fileOf(h, nil), do)
}

// withFiles calls do with the operations on a gateway's data, and another source of the configuration.
func withFiles(h *harness.Gateway, files config.Options, do func(ctx context.Context, d *admin.Admin) error) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	data := must.Get(admin.Open(ctx, h.Config(), files, harness.Discard()))(h.T)
	defer data.Close()
	must.Do(h.T, do(ctx, data))
}

// filled returns a path of the document with values in place of its parameters.
func filled(path string, values []string) string {
	for _, v := range values {
		from, to := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:from] + v + path[to+1:]
	}
	return path
}

// call sends a request "METHOD /path" of the administration, with an optional query, and compares the answer with the
// document.
func (o *office) call(status int, what, body string, values ...string) map[string]any {
	o.T.Helper()
	return o.callAs(o.admin, status, what, body, nil, values...)
}

func (o *office) callAs(key string, status int, what, body string, header []string, values ...string) map[string]any {
	o.T.Helper()
	method, path, _ := strings.Cut(what, " ")
	path, query, _ := strings.Cut("/admin/v1"+path, "?")
	r := o.Do(harness.Ask{Method: method, Path: filled(path, values) + "?" + query, Body: body, Key: key, Header: header})
	if r.Status != status {
		o.T.Fatalf("%s %v %s: got %d %s, want %d", what, values, body, r.Status, r.Body, status)
	}
	method = strings.ToLower(method)
	if err := o.contract.Check(r, "paths", path, method, "responses", fmt.Sprint(status)); err != nil {
		o.T.Errorf("%s: %s: %v", what, r.Body, err)
	}
	o.answered[fmt.Sprint(method, " ", path, " ", status)] = true
	out := map[string]any{}
	if r.Body != "" {
		harness.Decode(o.T, r.Body, &out)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		o.T.Errorf("%s: got Cache-Control %q, want no-store", what, r.Header.Get("Cache-Control"))
	}
	return out
}

// at returns a member of an answer, by a path of names.
func at(v any, names ...string) string {
	for _, n := range names {
		switch x := v.(type) {
		case map[string]any:
			v = x[n]
		case []any:
			i := 0
			if _, err := fmt.Sscan(n, &i); err != nil || i >= len(x) {
				return "nothing"
			}
			v = x[i]
		}
	}
	return fmt.Sprint(v)
}

// TestAdministrationRunsEachOperation runs every operation of the administration once with success, as documented, and
// checks its effect.
func TestAdministrationRunsEachOperation(t *testing.T) {
	t.Parallel()
	peer := newToolPeer(t)
	o := openOfficeWith(t, operatorsRead+peer.yaml())
	o.runAccounts()
	o.runKeys()
	o.runPeople()
	o.runWebhooks()
	o.runAlerts()
	o.runReports()
	o.runExport()
	o.runContent()
	o.runAnswers()
	o.runSockets()
	o.runTools(peer)
	o.runConfig()
	o.runFailures()
	for path, item := range o.contract.Tree["paths"].(map[string]any) {
		if !strings.HasPrefix(path, "/admin/v1/") {
			continue
		}
		for method, operation := range item.(map[string]any) {
			for status := range operation.(map[string]any)["responses"].(map[string]any) {
				what := method + " " + path + " " + status
				// a defect, a database that is away, a flood of reports (store.TestReportsLeaveReaders)
				rare := status == "500" || status == "503" || status == "429"
				if !o.answered[what] && !rare {
					t.Errorf("%s: got no such answer in this test", what)
				}
			}
		}
	}
}

// runExport gets the files that weir ledger export prints.
func (o *office) runExport() {
	for format, write := range map[string]report.Exporter{
		"csv": report.ExportFormats("")["csv"], "focus": report.ExportFormats("1.4")["focus"],
		"focus&focus=1.2": report.ExportFormats("1.2")["focus"], "focus&focus=1.3": report.ExportFormats("1.3")["focus"],
	} {
		const path = "/admin/v1/ledger/export"
		r := o.Do(harness.Ask{Path: path + "?account=default&format=" + format, Key: o.admin})
		must.Do(o.T, o.contract.Check(r, "paths", path, "get", "responses", "200"))
		o.answered["get "+path+" 200"] = true
		var want bytes.Buffer
		withPeople(o.Gateway, func(ctx context.Context, d *admin.Admin) error {
			_, err := write(&want, func(fn func(*report.Exported) error) error {
				return d.Ledger.Export(ctx, account.DefaultName, "", "", fn)
			})
			return err
		})
		if r.Body != want.String() || strings.Count(r.Body, "\n") < 2 {
			o.T.Errorf("the ledger as %s: got %s, want %s", format, r.Body, want.String())
		}
	}
	if got := at(o.call(400, "GET /ledger/export?format=xml", ""), "param"); got != "format" {
		o.T.Errorf("another format: got the parameter %s", got)
	}
	if got := at(o.call(400, "GET /ledger/export?format=focus&focus=1.5", ""), "param"); got != "focus" {
		o.T.Errorf("another version of FOCUS: got the parameter %s", got)
	}
	o.call(404, "GET /ledger/export?format=csv&account=nobody", "")
}

// runFailures brings about every refusal of every call.
func (o *office) runFailures() {
	const once = "the key of another request"
	o.callAs(o.admin, 201, "POST /accounts", `{"name":"first"}`, []string{"Idempotency-Key", once})
	for path, item := range o.contract.Tree["paths"].(map[string]any) {
		path, ok := strings.CutPrefix(path, "/admin/v1")
		if !ok {
			continue
		}
		nothing := []string{"nothing", "nothing", "nothing"}[:strings.Count(path, "{")]
		something := []string{"default", "nothing", "nothing"}[:len(nothing)]
		for method := range item.(map[string]any) {
			what, body := strings.ToUpper(method)+" "+path, ""
			if method == "post" || method == "patch" || method == "put" {
				body = `{}`
				o.callAs(o.admin, 413, what, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`, nil, fit(path, something)...)
				o.callAs(o.admin, 415, what, body, []string{"Content-Type", "text/xml"}, fit(path, something)...)
			}
			if method == "post" {
				o.callAs(o.admin, 409, what, `{"other":1}`, []string{"Idempotency-Key", once}, fit(path, something)...)
			}
			o.callAs(harness.NoKey, 401, what, body, nil, nothing...)
			o.callAs(o.Key, 403, what, body, nil, nothing...)
			o.callAs(o.admin, 421, what, body, []string{"Host", "evil.example"}, nothing...)
			o.callAs(o.admin, 400, what+"?nonsense=1", body, nil, fit(path, something)...)
			if len(nothing) > 0 {
				o.callAs(o.admin, 404, what, body, nil, nothing...)
			}
		}
	}
	o.call(404, "GET /audit?account=nothing", "")
}

// fit returns values for a path. The first one is an account's if the path names one.
func fit(path string, values []string) []string {
	if !strings.Contains(path, "{account}") && len(values) > 0 {
		return []string{"nothing", "nothing"}[:min(len(values), 2)]
	}
	return values
}

func (o *office) runAccounts() {
	t := o.T
	made := o.call(201, "POST /accounts", `{"name":"research"}`)
	id := at(made, "id")
	whole := o.call(201, "POST /accounts", `{"name":"whole","on_hangup":"drain","limits":{"rpm":7},"budget":{"limit_usd":"250","period":"month"},`+
		`"credit_usd":"100","members":[{"email":"whole@example.com","role":"owner"},{"email":"half@example.com"}]}`)
	if got := fmt.Sprint(at(whole, "on_hangup"), at(whole, "limits", "rpm"), at(whole, "budget", "limit_usd"), at(whole, "credit", "paid_usd"),
		at(whole, "invitations", "0", "role"), at(whole, "invitations", "1", "role")); got != "drain7250100ownermember" {
		t.Errorf("an account made whole: got %s in %v", got, whole)
	}
	accept(o.Gateway, at(whole, "invitations", "0", "link"))
	if got := at(o.call(200, "GET /accounts/{account}/members", "", "whole"), "data", "0", "role"); got != "owner" {
		t.Errorf("who was invited with the account: got the role %s, want owner", got)
	}
	for _, tt := range []struct{ body, name, want string }{
		{`{"suspended":true}`, "suspended", "true"},
		{`{"suspended":false,"on_hangup":"drain"}`, "on_hangup", "drain"},
		{`{"limits":{"rpm":60,"tpm":1000}}`, "limits", "map[concurrency:0 rpm:60 tpm:1000]"},
		{`{"limits":{"tpm":null,"concurrency":3}}`, "limits", "map[concurrency:3 rpm:60 tpm:0]"},
		{`{"budget":{"limit_usd":"12.50","period":"month"}}`, "budget", "map[limit_usd:12.5 period:month]"},
		{`{"budget":{"limit_usd":"0.000000001"}}`, "budget", "map[limit_usd:0.000000001 period:month]"},
		{`{}`, "budget", "map[limit_usd:0.000000001 period:month]"},
		{`{"budget":null,"limits":null}`, "budget", "<nil>"},
	} {
		if got := at(o.call(200, "PATCH /accounts/{account}", tt.body, "research"), tt.name); got != tt.want {
			t.Errorf("PATCH %s: got %s %s, want %s", tt.body, tt.name, got, tt.want)
		}
	}
	list := o.call(201, "POST /accounts/{account}/price-lists", `{"since":"2099-01-01T00:00:00Z","markup_percent":"7.50","prices":{"house/*":{"input":"1"}}}`, id)
	if at(list, "markup_percent") != "7.5" || at(o.call(200, "GET /accounts/{account}/price-lists", "", id), "data", "0", "prices", "house/*", "input") != "1" {
		t.Errorf("a price list: got %v", list)
	}
	statement := o.call(201, "POST /accounts/{account}/statements", `{"month":"2026-01"}`, id)
	if at(o.call(200, "GET /accounts/{account}/statements", "", id), "data", "0", "hash") != at(statement, "hash") ||
		at(o.call(200, "GET /accounts/{account}/statements/draft", "", id), "month") != "2026-02" ||
		at(o.call(200, "GET /statements?month=2026-01", ""), "data", "0", "account_name") == "" ||
		at(o.call(200, "GET /accounts/{account}/statements/{number}", "", id, "1"), "month") != "2026-01" {
		t.Errorf("a statement: got %v", statement)
	}
	file := o.Do(harness.Ask{Path: "/admin/v1/accounts/" + id + "/statements/1", Key: o.admin, Header: []string{"Accept", "text/csv"}})
	if file.Status != http.StatusOK || file.Header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(file.Body, "account,statement,month,date,model,requests,") {
		t.Errorf("a statement as CSV: got %d %s", file.Status, file.Body)
	}
	given := o.call(201, "POST /accounts/{account}/credit", `{"amount_usd":"2","goodwill":true}`, id)
	if at(given, "goodwill_usd") != "2" || at(given, "credit") != "<nil>" {
		t.Errorf("goodwill: got %v, want $2 and no credit", given)
	}
	if got := at(o.call(201, "POST /accounts/{account}/credit", `{"amount_usd":"10.25"}`, id), "credit", "paid_usd"); got != "10.25" {
		t.Errorf("credit: got %s, want 10.25", got)
	}
	if got := at(o.call(200, "PATCH /accounts/{account}", `{"credit":null}`, id), "credit"); got != "<nil>" {
		t.Errorf("credit that ended: got %s, want none", got)
	}
	if got := o.call(200, "GET /accounts/{account}", "", id); at(got, "name") != "research" || at(got, "limits", "rpm") != "0" {
		t.Errorf("the account: got %v", got)
	}
	if got := o.call(200, "GET /accounts", ""); at(got, "data", "1", "name") != "research" {
		t.Errorf("accounts: got %v, want default and research", got)
	}
	closed := o.call(200, "POST /accounts/{account}/close", "", at(whole, "id"))
	if !strings.HasPrefix(at(closed, "name"), "closed-") || at(o.call(400, "PATCH /accounts/{account}", `{"suspended":false}`, at(whole, "id")), "param") != "account" {
		t.Errorf("an account that was closed: got %v, want it under another name, and as it is", closed)
	}
}

func (o *office) runKeys() {
	t := o.T
	const body = `{"label":"nightly","permissions":["chat"],"models":["house/*"],"expires":"2099-01-31T12:00:00+01:00","limits":{"rpm":5},"budget":{"limit_usd":"3","period":"day"}}`
	service := o.call(201, "POST /accounts/{account}/keys", `{"label":"robot","service":true}`, "default")
	if at(service, "service") != "true" || at(service, "created_by") != "<nil>" {
		t.Errorf("a service key: got %v, want one without a person", service)
	}
	made := o.call(201, "POST /accounts/{account}/keys", body, "default")
	id, token := at(made, "id"), at(made, "key")
	if at(made, "expires") != "2099-01-31T11:00:00Z" || at(made, "limits", "rpm") != "5" || at(made, "budget", "limit_usd") != "3" || at(made, "permissions") != "[chat]" {
		t.Errorf("the new key: got %v, want the requested fields: %s", made, body)
	}
	if r := o.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: token}); r.Status != http.StatusOK {
		t.Errorf("the new key at work: got %d %s", r.Status, r.Body)
	}
	got := o.call(200, "PATCH /accounts/{account}/keys/{key}", `{"label":"weekly","models":null,"expires":null,"limits":{"tpm":7},"budget":{"period":"month"}}`, "default", id)
	if at(got, "label") != "weekly" || at(got, "models") != "[]" || at(got, "expires") != "<nil>" || at(got, "limits", "rpm") != "5" || at(got, "limits", "tpm") != "7" || at(got, "budget", "period") != "month" || at(got, "budget", "limit_usd") != "3" {
		t.Errorf("the changed key: got %v", got)
	}
	for _, test := range []struct{ body, tags, required string }{
		{`{"tags":{"team":"search","unit":"a"},"required_tags":["project"]}`, "map[team:search unit:a]", "[project]"},
		{`{"tags":{"team":null,"unit":"b"}}`, "map[unit:b]", "[project]"},
		{`{"tags":null,"required_tags":null}`, "map[]", "[]"},
	} {
		got := o.call(200, "PATCH /accounts/{account}/keys/{key}", test.body, "default", id)
		if at(got, "tags") != test.tags || at(got, "required_tags") != test.required {
			t.Errorf("%s: got %v", test.body, got)
		}
	}
	o.call(200, "PATCH /accounts/{account}/keys/{key}", `{"tags":{"team":"x"}}`, "default", id)
	o.call(400, "PATCH /accounts/{account}/keys/{key}", `{"required_tags":["`+strings.Join(strings.Fields("a b c d e f g h i j k l m n o p"), `","`)+`"]}`, "default", id)
	rotated := o.call(200, "POST /accounts/{account}/keys/{key}/rotate", `{"overlap_seconds":3600}`, "default", id)
	former := token
	token = at(rotated, "key")
	if at(rotated, "former_last4") != former[len(former)-4:] || token == former {
		t.Errorf("the rotated key: got %v, want another one, and the former until later", rotated)
	}
	for _, key := range []string{former, token} {
		if r := o.Do(harness.Ask{Path: "/v1/uses", Key: key}); r.Status == http.StatusUnauthorized {
			t.Errorf("a rotated key at work: got %d %s", r.Status, r.Body)
		}
	}
	o.call(200, "POST /accounts/{account}/keys/{key}/rotate", `{"overlap_seconds":0}`, "default", id)
	for _, key := range []string{former, token} {
		harness.Await(t, "that a former key is refused", func() bool {
			return o.Do(harness.Ask{Path: "/v1/uses", Key: key}).Status == http.StatusUnauthorized
		})
	}
	o.call(400, "POST /accounts/{account}/keys/{key}/rotate", `{"overlap_seconds":-1}`, "default", id)
	harness.Await(t, "the time when the key was last used", func() bool {
		return at(o.call(200, "GET /accounts/{account}/keys/{key}", "", "default", id), "last_used") != "<nil>"
	})
	list := o.Do(harness.Ask{Path: "/admin/v1/accounts/default/keys", Key: o.admin})
	if !strings.Contains(list.Body, id) || strings.Contains(list.Body, token) || strings.Contains(list.Body, `"key"`) {
		t.Errorf("the keys: got %s, want the new one without its secret", list.Body)
	}
	o.call(200, "GET /accounts/{account}/keys", "", "default")
	for range 2 { // a repetition changes nothing
		if got := at(o.call(200, "DELETE /accounts/{account}/keys/{key}", "", "default", id), "state"); got != "revoked" {
			t.Errorf("the revoked key: got %s", got)
		}
	}
	if r := o.Do(harness.Ask{Path: "/v1/uses", Key: token}); r.Status != http.StatusUnauthorized {
		t.Errorf("the revoked key at work: got %d, want 401", r.Status)
	}
	o.call(404, "GET /accounts/{account}/keys/{key}", "", "research", id) // of another account
	hers := o.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}, Creator: o.owner})
	if got := at(o.callAs(hers, 201, "POST /accounts/{account}/keys", `{"label":"by a key"}`, nil, "default"), "created_by"); got != o.owner {
		t.Errorf("a key that was made with a key of %s: got created_by %s, want them", o.owner, got)
	}
	o.call(400, "PATCH /accounts/{account}/keys/{key}", `{"label":"again"}`, "default", id)
}

func (o *office) runPeople() {
	t := o.T
	me := o.call(200, "GET /me", "")
	if at(me, "kind") != "key" || at(me, "name") != "operator" || at(me, "rights") != "[signed_in operate]" {
		t.Errorf("me: got %v, want the operator's key", me)
	}
	invited := o.call(201, "POST /accounts/{account}/invitations", `{"email":"Bob@example.com","role":"owner"}`, "default")
	if list := o.call(200, "GET /accounts/{account}/invitations", "", "default"); at(list, "data", "0", "email") != "bob@example.com" || at(list, "data", "0", "link") != "<nil>" {
		t.Errorf("invitations: got %v, want bob's, without a link", list)
	}
	accept(o.Gateway, at(invited, "link"))
	members := o.call(200, "GET /accounts/{account}/members", "", "default")
	bob := at(members, "data", "1", "user_id")
	if got := at(o.call(200, "PATCH /accounts/{account}/members/{user}", `{"role":"viewer"}`, "default", bob), "role"); got != "viewer" {
		t.Errorf("bob's role: got %s, want viewer", got)
	}
	o.call(400, "PATCH /accounts/{account}/members/{user}", `{"role":"viewer"}`, "default", o.owner) // the last owner
	o.call(204, "DELETE /accounts/{account}/members/{user}", "", "default", bob)
	o.call(404, "DELETE /accounts/{account}/members/{user}", "", "default", bob)
	second := o.call(201, "POST /accounts/{account}/invitations", `{"email":"eve@example.com"}`, "default")
	if at(second, "role") != "member" {
		t.Errorf("an invitation without a role: got %s, want member", at(second, "role"))
	}
	o.call(204, "DELETE /accounts/{account}/invitations/{id}", "", "default", at(second, "id"))
	o.call(404, "DELETE /accounts/{account}/invitations/{id}", "", "default", at(second, "id"))

	if got := at(o.call(200, "GET /users", ""), "data", "1", "email"); got != "bob@example.com" {
		t.Errorf("the second user: got %s, want bob", got)
	}
	if got := o.call(201, "POST /operators", `{"email":"bob@example.com"}`); at(got, "operator", "id") != bob || at(got, "invitation") != "<nil>" {
		t.Errorf("a user who became an operator: got %v", got)
	}
	o.call(400, "POST /operators", `{"email":"bob@example.com"}`) // is one
	if got := at(o.call(200, "GET /operators", ""), "data", "1", "email"); got != "bob@example.com" {
		t.Errorf("the second operator: got %s, want bob", got)
	}
	o.call(204, "DELETE /operators/{user}", "", bob)
	o.call(404, "DELETE /operators/{user}", "", bob)
	if got := at(o.call(200, "GET /users", ""), "data", "1", "email_proven"); got != "true" {
		t.Errorf("bob, whom an operator invited: got proven %s, want true", got)
	}
	again := o.call(201, "POST /operators", `{"email":"bob@example.com","invite":true}`)
	if at(again, "operator") != "<nil>" || at(again, "invitation", "email") != "bob@example.com" {
		t.Errorf("a user who is invited to operate: got %v, want an invitation", again)
	}
	o.call(204, "DELETE /operator-invitations/{id}", "", at(again, "invitation", "id"))
	squat(o.Gateway, "cfo@example.com")
	if got := o.call(400, "POST /operators", `{"email":"cfo@example.com"}`); at(got, "param") != "email" || !strings.Contains(at(got, "detail"), "is not proven") {
		t.Errorf("a user with an unproven address: got %v, want a refusal of the email", got)
	}
	if got := at(o.call(200, "GET /users", ""), "data", "2", "email_proven"); got != "false" {
		t.Errorf("the squatter: got proven %s, want false", got)
	}
	o.call(400, "DELETE /operators/{user}", "", o.owner) // the last one
	if got := o.call(200, "PATCH /users/{user}", `{"disabled":true}`, bob); at(got, "disabled_since") == "<nil>" {
		t.Errorf("bob, who is disabled: got %v", got)
	}
	o.call(400, "PATCH /users/{user}", `{"disabled":true}`, o.owner) // an operator
	o.call(404, "PATCH /users/{user}", `{"disabled":true}`, "nobody")
	o.call(204, "DELETE /users/{user}/second-factor", "", bob)
	o.call(204, "DELETE /users/{user}", "", bob)
	o.call(404, "DELETE /users/{user}", "", bob)
	stranger := o.call(201, "POST /operators", `{"email":"carl@example.com"}`)
	if got := at(o.call(200, "GET /operator-invitations", ""), "data", "0", "id"); got != at(stranger, "invitation", "id") || at(stranger, "operator") != "<nil>" {
		t.Errorf("an unknown address: got %v, want an invitation", stranger)
	}
	o.call(204, "DELETE /operator-invitations/{id}", "", at(stranger, "invitation", "id"))
}

func (o *office) runReports() {
	t := o.T
	said := o.Chat("house/echo")
	if said.Status != http.StatusOK {
		t.Fatalf("chat: got %d %s", said.Status, said.Body)
	}
	id := said.Header.Get("X-Request-Id")
	uses := o.call(200, "GET /accounts/{account}/uses?model=house/echo", "", "default")
	if at(uses, "data", "0", "requests") != "2" || at(uses, "total", "cost_usd") != at(uses, "data", "0", "cost_usd") || at(uses, "total", "cost_usd") == "0" {
		t.Errorf("uses: got %v, want two requests with their cost", uses)
	}
	all := o.call(200, "GET /usage?group_by=account,model&model=house/echo", "")
	if at(all, "data", "0", "account_name") != "default" || at(all, "data", "0", "requests") != "2" || at(all, "data", "0", "usage", "input") == "0" || at(all, "total", "cost_usd") != at(uses, "total", "cost_usd") {
		t.Errorf("usage of all accounts: got %v, want that of the account, %v", all, uses)
	}
	if one := o.call(200, "GET /usage?account=default&group_by=month", ""); at(one, "data", "0", "account_name") != "default" {
		t.Errorf("usage of one account: got %v", one)
	}
	o.call(404, "GET /usage?account=nobody", "")
	o.call(200, "GET /refusals", "")
	o.call(404, "GET /refusals?account=nobody", "")
	o.call(200, "GET /accounts/{account}/refusals", "", "default")
	list := o.call(200, "GET /accounts/{account}/requests?ended=ok", "", "default")
	if at(list, "data", "0", "id") != id || at(list, "data", "0", "cost_usd") != said.Header.Get("X-Weir-Cost-USD") {
		t.Errorf("requests: got %v, want %s first, at $%s", list, id, said.Header.Get("X-Weir-Cost-USD"))
	}
	d := o.call(200, "GET /accounts/{account}/requests/{id}", "", "default", id)
	if at(d, "attempts", "0", "cost_usd") != said.Header.Get("X-Weir-Cost-USD") || at(d, "attempts", "0", "cost_lines", "0", "class") != "input" || at(d, "attempts", "0", "cost_lines", "0", "rate_usd") != "0.00000015" {
		t.Errorf("the request: got %v, want its arithmetic", d)
	}
	const corrections = "POST /accounts/{account}/requests/{id}/attempts/{n}/corrections"
	paid := must.Get(llm.ParseMoney(said.Header.Get("X-Weir-Cost-USD")))(t)
	corrected := o.call(201, corrections, `{"amount_usd":"-0.000000001","reason":"credit note 117"}`, "default", id, "1")
	if at(corrected, "cost_usd") != (paid-1).String() || at(corrected, "corrections", "0", "reason") != "credit note 117" || at(corrected, "corrections", "0", "kind") != "amount" {
		t.Errorf("the corrected attempt: got %v, want it to cost a nano-dollar less", corrected)
	}
	if got := at(o.call(200, "GET /accounts/{account}/requests/{id}", "", "default", id), "cost_usd"); got != (paid - 1).String() {
		t.Errorf("the corrected request: got %s, want %s", got, paid-1)
	}
	for _, body := range []string{`{"amount_usd":"0","reason":"x"}`, `{"amount_usd":"-1","reason":"x"}`, `{"amount_usd":"1"}`, `{"amount_usd":"1","reason":"a\nb"}`} {
		o.call(400, corrections, body, "default", id, "1")
	}
	o.call(404, corrections, `{"amount_usd":"1","reason":"x"}`, "research", id, "1")
	o.call(404, corrections, `{"amount_usd":"1","reason":"x"}`, "default", id, "2")
	o.call(404, corrections, `{"amount_usd":"1","reason":"x"}`, "default", "x", "1")
	const resolve = "POST /accounts/{account}/requests/{id}/attempts/{n}/resolve"
	cut := o.Chat("house/echo:fault=cut").Header.Get("X-Request-Id")
	o.call(400, resolve, `{"cost_usd":"0.5"}`, "default", id, "1") // its cost is known
	o.call(400, resolve, `{}`, "default", cut, "1")
	o.call(404, resolve, `{"cost_usd":"0.5"}`, "research", cut, "1")
	o.call(404, resolve, `{"cost_usd":"0.5"}`, "default", cut, "9")
	if got := o.call(200, resolve, `{"cost_usd":"0.5"}`, "default", cut, "1"); at(got, "cost_usd") != "0.5" || at(got, "corrections", "0", "kind") != "resolved" {
		t.Errorf("the resolved attempt: got %v, want it to cost $0.5", got)
	}
	o.call(400, resolve, `{"cost_usd":"0"}`, "default", cut, "1") // once
	o.call(404, "GET /accounts/{account}/requests/{id}", "", "research", id)
	o.call(404, "GET /accounts/{account}/requests/{id}", "", "default", "x")
	if got := at(o.call(200, "GET /providers", ""), "data", "0", "targets", "0", "state"); got != "ok" {
		t.Errorf("the provider: got %s, want ok", got)
	}
	if got := at(o.call(200, "GET /nodes", ""), "data", "0", "alive"); got != "true" {
		t.Errorf("the node: got alive %s", got)
	}
	if got := at(o.call(200, "GET /models/unpriced?start_date=2026-01-01", ""), "data"); got != "[]" {
		t.Errorf("unpriced models: got %s, want none", got)
	}
	key := o.call(200, "GET /audit?action=key.revoked&account=default", "")
	if at(key, "data", "0", "actor", "kind") != "key" || at(key, "data", "0", "actor", "name") != "operator" || at(key, "data", "0", "actor", "address") != "127.0.0.1" || at(key, "data", "1") != "nothing" {
		t.Errorf("the entry of the revoked key: got %v, want one by the operator's key", key)
	}
}
