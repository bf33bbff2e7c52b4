package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// office is a gateway as a program with an operator's key sees it. Every reply
// is held against the document.
type office struct {
	*house
	contract *contract
	admin    string          // an operator's key
	owner    string          // id of the first user, who owns the account default
	answered map[string]bool // "get /admin/v1/…" of the document, with the status
}

func openOffice(t *testing.T) *office {
	t.Helper()
	h, _ := openHoused(t)
	_, c := h.document()
	o := &office{house: h, contract: c, answered: map[string]bool{}}
	o.admin = h.newKey(account.KeyOptions{Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin}})
	o.owner = h.found("ada@example.com")
	return o
}

// found makes the first user, an operator who owns the account default.
func (h *house) found(email string) (id string) {
	h.t.Helper()
	h.withPeople(func(ctx context.Context, d *app.Data) error {
		link, err := d.Accounts.CreateSetupToken(ctx, audit.Gateway())
		if err != nil {
			return err
		}
		if _, err := d.People.SetUp(ctx, link.Reveal(), people.Person{Email: email, Name: "Ada", Password: llm.NewSecret("four quiet rivers meet")}, people.Origin{}); err != nil {
			return err
		}
		u, err := d.People.User(ctx, email)
		id = u.ID
		return err
	})
	return id
}

// accept takes up the invitation of a link, as a new user.
func (h *house) accept(link string) {
	h.t.Helper()
	_, token, ok := strings.Cut(link, "/invite/")
	if !ok || !strings.HasPrefix(link, h.url) {
		h.t.Fatalf("the link %q: got none to %s/invite/", link, h.url)
	}
	h.withPeople(func(ctx context.Context, d *app.Data) error {
		_, err := d.People.Accept(ctx, token, people.Person{Name: "Somebody", Password: llm.NewSecret("seven loud rivers part")}, people.Origin{})
		return err
	})
}

func (h *house) withPeople(do func(ctx context.Context, d *app.Data) error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, err := app.OpenData(ctx, h.config(), discard())
	if err != nil {
		h.t.Fatal(err)
	}
	defer data.Close()
	if err := do(ctx, data); err != nil {
		h.t.Fatal(err)
	}
}

// filled is a path of the document with values in place of its parameters.
func filled(path string, values []string) string {
	for _, v := range values {
		from, to := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:from] + v + path[to+1:]
	}
	return path
}

// call makes a call "METHOD /path" of the administration, with a query behind it
// if need be, and holds the answer against the document.
func (o *office) call(status int, what, body string, values ...string) map[string]any {
	o.t.Helper()
	return o.callAs(o.admin, status, what, body, nil, values...)
}

func (o *office) callAs(key string, status int, what, body string, header []string, values ...string) map[string]any {
	o.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	path, query, _ := strings.Cut("/admin/v1"+path, "?")
	r := o.do(ask{method: method, path: filled(path, values) + "?" + query, body: body, key: key, header: header})
	if r.status != status {
		o.t.Fatalf("%s %v %s: got %d %s, want %d", what, values, body, r.status, r.body, status)
	}
	method = strings.ToLower(method)
	if err := o.contract.check(r, "paths", path, method, "responses", fmt.Sprint(status)); err != nil {
		o.t.Errorf("%s: %s: %v", what, r.body, err)
	}
	o.answered[fmt.Sprint(method, " ", path, " ", status)] = true
	out := map[string]any{}
	if r.body != "" {
		decode(o.t, r.body, &out)
	}
	if r.header.Get("Cache-Control") != "no-store" {
		o.t.Errorf("%s: got Cache-Control %q, want no-store", what, r.header.Get("Cache-Control"))
	}
	return out
}

// at is a member of an answer, down the names.
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

// TestAdministration makes every call of the administration once with success, as
// the document has it, and sees what it did.
func TestAdministration(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.runAccounts()
	o.runKeys()
	o.runPeople()
	o.runReports()
	for path, item := range o.contract.tree["paths"].(map[string]any) {
		if !strings.HasPrefix(path, "/admin/v1/") {
			continue
		}
		for method, operation := range item.(map[string]any) {
			for status := range operation.(map[string]any)["responses"].(map[string]any) {
				if what := method + " " + path + " " + status; status < "300" && !o.answered[what] {
					t.Errorf("%s: got no such answer in this test", what)
				}
			}
		}
	}
}

func (o *office) runAccounts() {
	t := o.t
	made := o.call(201, "POST /accounts", `{"name":"research"}`)
	id := at(made, "id")
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
}

func (o *office) runKeys() {
	t := o.t
	const body = `{"label":"nightly","permissions":["chat"],"models":["house/*"],"expires":"2099-01-31T12:00:00+01:00","limits":{"rpm":5},"budget":{"limit_usd":"3","period":"day"}}`
	made := o.call(201, "POST /accounts/{account}/keys", body, "default")
	id, token := at(made, "id"), at(made, "key")
	if at(made, "expires") != "2099-01-31T11:00:00Z" || at(made, "limits", "rpm") != "5" || at(made, "budget", "limit_usd") != "3" || at(made, "permissions") != "[chat]" {
		t.Errorf("the new key: got %v, want what was asked for: %s", made, body)
	}
	if r := o.do(ask{path: "/v1/chat", body: hello("house/echo"), key: token}); r.status != http.StatusOK {
		t.Errorf("the new key at work: got %d %s", r.status, r.body)
	}
	got := o.call(200, "PATCH /accounts/{account}/keys/{key}", `{"label":"weekly","models":null,"expires":null,"limits":{"tpm":7},"budget":{"period":"month"}}`, "default", id)
	if at(got, "label") != "weekly" || at(got, "models") != "[]" || at(got, "expires") != "<nil>" || at(got, "limits", "rpm") != "5" || at(got, "limits", "tpm") != "7" || at(got, "budget", "period") != "month" || at(got, "budget", "limit_usd") != "3" {
		t.Errorf("the changed key: got %v", got)
	}
	await(t, "the time when the key was last used", func() bool {
		return at(o.call(200, "GET /accounts/{account}/keys/{key}", "", "default", id), "last_used") != "<nil>"
	})
	list := o.do(ask{path: "/admin/v1/accounts/default/keys", key: o.admin})
	if !strings.Contains(list.body, id) || strings.Contains(list.body, token) || strings.Contains(list.body, `"key"`) {
		t.Errorf("the keys: got %s, want the new one without its secret", list.body)
	}
	o.call(200, "GET /accounts/{account}/keys", "", "default")
	for range 2 { // again it changes nothing
		if got := at(o.call(200, "DELETE /accounts/{account}/keys/{key}", "", "default", id), "state"); got != "revoked" {
			t.Errorf("the revoked key: got %s", got)
		}
	}
	if r := o.do(ask{path: "/v1/uses", key: token}); r.status != http.StatusUnauthorized {
		t.Errorf("the revoked key at work: got %d, want 401", r.status)
	}
	o.call(404, "GET /accounts/{account}/keys/{key}", "", "research", id) // of another account
	o.call(400, "PATCH /accounts/{account}/keys/{key}", `{"label":"again"}`, "default", id)
}

func (o *office) runPeople() {
	t := o.t
	me := o.call(200, "GET /me", "")
	if at(me, "kind") != "key" || at(me, "name") != "operator" || at(me, "rights") != "[signed_in operate]" {
		t.Errorf("me: got %v, want the operator's key", me)
	}
	invited := o.call(201, "POST /accounts/{account}/invitations", `{"email":"Bob@example.com","role":"owner"}`, "default")
	if list := o.call(200, "GET /accounts/{account}/invitations", "", "default"); at(list, "data", "0", "email") != "bob@example.com" || at(list, "data", "0", "link") != "<nil>" {
		t.Errorf("invitations: got %v, want bob's, without a link", list)
	}
	o.accept(at(invited, "link"))
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
	o.call(400, "DELETE /operators/{user}", "", o.owner) // the last one
	stranger := o.call(201, "POST /operators", `{"email":"carl@example.com"}`)
	if got := at(o.call(200, "GET /operator-invitations", ""), "data", "0", "id"); got != at(stranger, "invitation", "id") || at(stranger, "operator") != "<nil>" {
		t.Errorf("somebody new: got %v, want an invitation", stranger)
	}
	o.call(204, "DELETE /operator-invitations/{id}", "", at(stranger, "invitation", "id"))
}

func (o *office) runReports() {
	t := o.t
	said := o.chat("house/echo")
	if said.status != http.StatusOK {
		t.Fatalf("chat: got %d %s", said.status, said.body)
	}
	id := said.header.Get("X-Request-Id")
	uses := o.call(200, "GET /accounts/{account}/uses?model=house/echo", "", "default")
	if at(uses, "data", "0", "requests") != "2" || at(uses, "total", "cost_usd") != at(uses, "data", "0", "cost_usd") || at(uses, "total", "cost_usd") == "0" {
		t.Errorf("uses: got %v, want two requests with their cost", uses)
	}
	list := o.call(200, "GET /accounts/{account}/requests?ended=ok", "", "default")
	if at(list, "data", "0", "id") != id || at(list, "data", "0", "cost_usd") != said.header.Get("X-Weir-Cost-USD") {
		t.Errorf("requests: got %v, want %s first, at $%s", list, id, said.header.Get("X-Weir-Cost-USD"))
	}
	d := o.call(200, "GET /accounts/{account}/requests/{id}", "", "default", id)
	if at(d, "attempts", "0", "cost_usd") != said.header.Get("X-Weir-Cost-USD") || at(d, "attempts", "0", "cost_lines", "0", "class") != "input" || at(d, "attempts", "0", "cost_lines", "0", "rate_usd") != "0.00000015" {
		t.Errorf("the request: got %v, want its arithmetic", d)
	}
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

// TestAdministrationRefuses is what comes back for what is not right.
func TestAdministrationRefuses(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, tt := range []struct {
		status      int
		what, body  string
		param, says string
	}{
		{400, "POST /accounts", `{"nmae":"x"}`, "nmae", `Did you mean \"name\"?`},
		{400, "POST /accounts", `{"Name":"x"}`, "Name", `write \"name\"`},
		{400, "POST /accounts", `{"name":"a","name":"b"}`, "name", "twice"},
		{400, "POST /accounts", `{"name":1}`, "name", "a string"},
		{400, "POST /accounts", `{"name":"default"}`, "name", "exists already"},
		{400, "POST /accounts", `{"name"}`, "", "not valid JSON"},
		{400, "POST /accounts", `[]`, "", "not a JSON object"},
		{413, "POST /accounts", `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, "", "larger than 1048576 bytes"},
		{400, "PATCH /accounts/default", `{"limits":{"rpm":-1}}`, "limits.rpm", "from 0"},
		{400, "PATCH /accounts/default", `{"limits":{"rpms":1}}`, "limits.rpms", `Did you mean \"rpm\"?`},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":5,"period":"day"}}`, "budget.limit_usd", "as a string"},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":"5"}}`, "budget.period", "month"},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":"0","period":"day"}}`, "budget.limit_usd", "null"},
		{400, "PATCH /accounts/default", `{"budget":{"limit_usd":"0.0000000001","period":"day"}}`, "budget.limit_usd", "nine decimals"},
		{400, "PATCH /accounts/default", `{"suspended":null}`, "suspended", "true or false"},
		{400, "PATCH /accounts/default", `{"on_hangup":"fly"}`, "on_hangup", "drain"},
		{400, "PATCH /accounts/default", `{"credit":{}}`, "credit", "null"},
		{404, "PATCH /accounts/nobody", `{}`, "account", "no account"},
		{400, "POST /accounts/default/credit", `{"amount_usd":"0"}`, "amount_usd", "other than 0"},
		{400, "POST /accounts/default/credit", `{"amount_usd":"-1"}`, "amount_usd", "has not paid"},
		{400, "POST /accounts/default/keys", `{}`, "label", "1 to 100"},
		{400, "POST /accounts/default/keys", `{"label":"x","expires":"2020-01-01T00:00:00Z"}`, "expires", "between now"},
		{400, "POST /accounts/default/keys", `{"label":"x","expires":"tomorrow"}`, "expires", "RFC 3339"},
		{400, "POST /accounts/default/keys", `{"label":"x","permissions":["fly"]}`, "permissions", "not a permission"},
		{400, "POST /accounts/default/keys", `{"label":"x","models":["a",1]}`, "models[1]", "a string"},
		{404, "GET /accounts/default/keys/nothing", ``, "key", "no such key"},
		{404, "PATCH /accounts/default/members/nobody", `{"role":"owner"}`, "user", "no such"},
		{400, "PATCH /accounts/default/members/nobody", `{"role":"king"}`, "role", "not a role"},
		{400, "POST /accounts/default/invitations", `{"email":"bob"}`, "email", "ada@example.com"},
		{400, "POST /operators", `{}`, "email", "ada@example.com"},
		{400, "GET /accounts?limt=5", ``, "limt", `Did you mean \"limit\"?`},
		{400, "GET /accounts?limit=1001", ``, "limit", "1 to 1000"},
		{400, "GET /accounts?limit=1&limit=2", ``, "limit", "twice"},
		{400, "GET /accounts?cursor=%25", ``, "cursor", "next_cursor"},
		{400, "GET /accounts/default?limit=1", ``, "limit", "not a parameter"},
		{400, "GET /accounts/default/uses?cursor=eA", ``, "cursor", "next_cursor"},
		{400, "GET /accounts/default/requests?cursor=eA", ``, "cursor", "next_cursor"},
		{400, "GET /accounts/default/requests?ended=well", ``, "ended", "error"},
		{400, "GET /accounts/default/uses?start_date=2026-02-01&end_date=2026-01-01", ``, "start_date", "after end_date"},
		{400, "GET /audit?cursor=eA", ``, "cursor", "next_cursor"},
		{400, "GET /audit?from=yesterday", ``, "from", "RFC 3339"},
		{404, "GET /audit?account=nobody", ``, "account", "no account"},
		{404, "GET /nothing", ``, "", "openapi.json"},
		{404, "GET /accounts/", ``, "", "openapi.json"},
		{405, "PUT /accounts", `{}`, "", "GET, HEAD, POST"},
	} {
		method, path, _ := strings.Cut(tt.what, " ")
		r := o.do(ask{method: method, path: "/admin/v1" + path, body: tt.body, key: o.admin})
		o.wantProblem(tt.what+" "+tt.body[:min(len(tt.body), 80)], r, tt.status, tt.param, tt.says)
	}
	r := o.do(ask{path: "/admin/v1/accounts", body: `{}`, key: o.admin, header: []string{"Content-Type", "text/xml"}})
	o.wantProblem("XML", r, http.StatusUnsupportedMediaType, "", "application/json")
	for who, key := range map[string]string{"nobody": noKey, "a bad key": "wk_x"} {
		r := o.do(ask{path: "/admin/v1/accounts", key: key})
		o.wantProblem(who, r, http.StatusUnauthorized, "", "")
		if got := r.header.Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("%s: got WWW-Authenticate %q, want Bearer", who, got)
		}
	}
	o.wantProblem("a key without the permission", o.do(ask{path: "/admin/v1/accounts"}), http.StatusForbidden, "", "admin")
}

// wantProblem holds a refusal against the document, and what it says.
func (o *office) wantProblem(what string, r reply, status int, param, says string) {
	o.t.Helper()
	if r.status != status || !strings.Contains(r.body, says) {
		o.t.Errorf("%s: got %d %s, want %d that says %s", what, r.status, r.body, status, says)
		return
	}
	if err := o.contract.check(r, "components", "responses", "AdminProblem"); err != nil {
		o.t.Errorf("%s: %s: %v", what, r.body, err)
	}
	var p map[string]any
	decode(o.t, r.body, &p)
	want := param
	if want == "" {
		want = "<nil>"
	}
	if at(p, "param") != want || at(p, "status") != fmt.Sprint(status) || at(p, "request_id") != r.header.Get("X-Request-Id") {
		o.t.Errorf("%s: got %s, want the param %q, the status %d, and the id of the header", what, r.body, param, status)
	}
}

// TestAdministrationOnce is what an Idempotency-Key does.
func TestAdministrationOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	post := func(path, body, once, key string) reply {
		return o.do(ask{path: "/admin/v1" + path, body: body, key: key, header: []string{"Idempotency-Key", once}})
	}
	const path, body = "/accounts/default/keys", `{"label":"once"}`
	first := post(path, body, "k1", o.admin)
	again := post(path, body, "k1", o.admin)
	if first.status != http.StatusCreated || again.body != first.body || again.header.Get("Location") != first.header.Get("Location") || again.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the same request again: got %d %s (%v), want %s", again.status, again.body, again.header, first.body)
	}
	if err := o.contract.check(again, "paths", "/admin/v1/accounts/{account}/keys", "post", "responses", "201"); err != nil {
		t.Error(err)
	}
	if n := strings.Count(o.do(ask{path: "/admin/v1" + path, key: o.admin}).body, `"label":"once"`); n != 1 {
		t.Errorf("keys: got %d of that label, want 1", n)
	}
	var made map[string]any
	decode(t, first.body, &made)
	o.wantSecretNowhere(at(made, "key"))

	o.wantProblem("another body", post(path, `{"label":"other"}`, "k1", o.admin), http.StatusConflict, "Idempotency-Key", "another request")
	o.wantProblem("another path", post("/accounts", body, "k1", o.admin), http.StatusConflict, "Idempotency-Key", "another request")
	o.wantProblem("too long", post(path, body, strings.Repeat("x", 256), o.admin), http.StatusBadRequest, "Idempotency-Key", "255")

	other := o.newKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}})
	if r := post(path, body, "k1", other); r.status != http.StatusCreated || r.body == first.body || r.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("somebody else's request with the same key: got %d %s, want a key of its own", r.status, r.body)
	}
	for range 2 { // what was refused was not done, and is asked again
		o.wantProblem("refused", post("/accounts", `{"name":"default"}`, "k2", o.admin), http.StatusBadRequest, "name", "exists already")
	}
	if r := post("/accounts", `{"name":"fine"}`, "k2", o.admin); r.status != http.StatusCreated {
		t.Errorf("the key of a refused request: got %d %s, want it free", r.status, r.body)
	}
}

// wantSecretNowhere looks for a secret in the database's files and the log.
func (o *office) wantSecretNowhere(secret string) {
	o.t.Helper()
	if len(secret) != 49 {
		o.t.Fatalf("the secret: got %q", secret)
	}
	files, err := filepath.Glob(filepath.Join(o.data, "weir.db*"))
	if err != nil || len(files) == 0 {
		o.t.Fatalf("the database: got %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			o.t.Fatal(err)
		}
		if bytes.Contains(text, []byte(secret)) {
			o.t.Errorf("%s: got the secret in it", filepath.Base(file))
		}
	}
	if strings.Contains(o.log.String(), secret) {
		o.t.Error("the log: got the secret in it")
	}
}

// TestAdministrationOnceAtOnce is many of the same request at once: one account
// is paid for once.
func TestAdministrationOnceAtOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				r := o.do(ask{path: "/admin/v1/accounts/default/credit", body: `{"amount_usd":"5"}`, key: o.admin, header: []string{"Idempotency-Key", "pay"}})
				if r.status == http.StatusCreated {
					return
				}
				if r.status != http.StatusConflict {
					t.Errorf("got %d %s, want 201, or 409 while the first runs", r.status, r.body)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			t.Error("got no answer but 409")
		})
	}
	all.Wait()
	if got := at(o.call(200, "GET /accounts/{account}", "", "default"), "credit", "paid_usd"); got != "5" {
		t.Errorf("paid: got $%s, want $5", got)
	}
}

// TestAdministrationPages goes through lists in pages of every size, and finds
// everything once.
func TestAdministrationPages(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range 5 {
		o.call(201, "POST /accounts", fmt.Sprintf(`{"name":"a%d"}`, i))
		o.call(201, "POST /accounts/{account}/keys", fmt.Sprintf(`{"label":"k%d"}`, i), "default")
		o.call(201, "POST /accounts/{account}/invitations", fmt.Sprintf(`{"email":"u%d@example.com"}`, i), "default")
		if r := o.chat("house/" + []string{"chat", "echo"}[i%2]); r.status != http.StatusOK {
			t.Fatalf("chat: got %d %s", r.status, r.body)
		}
	}
	for what, want := range map[string]int{
		"/accounts": 6, "/accounts/default/keys": 7, "/accounts/default/invitations": 5, "/accounts/default/uses": 2,
		"/accounts/default/requests": 5, "/audit?action=account.": 6, "/users": 1, "/nodes": 1,
	} {
		whole := o.pages(what, 1000)
		if len(whole) != want {
			t.Errorf("%s: got %d, want %d", what, len(whole), want)
		}
		for _, size := range []int{1, 2, 5} {
			if got := o.pages(what, size); !slices.Equal(got, whole) {
				t.Errorf("%s by %d: got %d of %d, or in another order", what, size, len(got), len(whole))
			}
		}
	}
}

// pages is the ids of all of a list, read in pages of that size.
func (o *office) pages(path string, size int) (all []string) {
	o.t.Helper()
	mark := "?"
	if strings.Contains(path, mark) {
		mark = "&"
	}
	cursor := ""
	for range 1000 {
		r := o.do(ask{path: fmt.Sprintf("/admin/v1%s%slimit=%d&cursor=%s", path, mark, size, url.QueryEscape(cursor)), key: o.admin})
		var p struct {
			Data []map[string]any `json:"data"`
			Next *string          `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != http.StatusOK || len(p.Data) > size {
			o.t.Fatalf("%s by %d: got %d %s", path, size, r.status, r.body)
		}
		for _, d := range p.Data {
			all = append(all, at(d, "id")+at(d, "seq"))
		}
		if p.Next == nil {
			return all
		}
		cursor = *p.Next
	}
	o.t.Fatalf("%s by %d: got no end", path, size)
	return nil
}

// TestAdministrationExamples runs the examples of docs/admin-api.md in their order.
func TestAdministrationExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/admin-api.md")
	if err != nil {
		t.Fatal(err)
	}
	o := openOffice(t)
	if r := o.chat("house/echo"); r.status != http.StatusOK {
		t.Fatalf("chat: got %d %s", r.status, r.body)
	}
	known := map[string]string{"USER_ID": o.owner}
	examples := exampleForm.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", ""), -1)
	if len(examples) < 10 {
		t.Fatalf("examples: got %d, want more", len(examples))
	}
	for _, e := range examples {
		command := e[1]
		a := ask{key: o.admin}
		for _, m := range regexp.MustCompile(`-X (\w+)`).FindAllStringSubmatch(command, 1) {
			a.method = m[1]
		}
		for _, m := range regexp.MustCompile(`-d '([^']*)'`).FindAllStringSubmatch(command, 1) {
			a.body = m[1]
		}
		for _, m := range regexp.MustCompile(`-H '([^:']*): ([^']*)'`).FindAllStringSubmatch(command, -1) {
			a.header = append(a.header, m[1], m[2])
		}
		a.path = regexp.MustCompile(`\$WEIR(/[^"\s]*)`).FindStringSubmatch(command)[1]
		for _, name := range slices.Sorted(maps.Keys(known)) {
			a.path = strings.ReplaceAll(a.path, "$"+name, known[name])
		}
		r := o.do(a)
		if r.status >= 300 {
			t.Errorf("%s: got %d %s", command, r.status, r.body)
			continue
		}
		remember(known, a.path, r.body)
	}
}

// exampleForm is a command of the page, on one line.
var exampleForm = regexp.MustCompile(`(?m)^(curl .*)$`)

// remember keeps the ids that later examples name: of the last key, invitation
// and request.
func remember(known map[string]string, path, body string) {
	var v map[string]any
	_ = json.Unmarshal([]byte(body), &v)
	for part, name := range map[string]string{"/keys": "KEY_ID", "/invitations": "INVITATION_ID"} {
		if strings.HasSuffix(path, part) && v["id"] != nil {
			known[name] = at(v, "id")
		}
	}
	if strings.Contains(path, "/requests?") {
		known["REQUEST_ID"] = at(v, "data", "0", "id")
	}
}
