package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// staff is a gateway with people in it, each with a session.
type staff struct {
	*instance
	t        *testing.T
	handler  http.Handler
	sessions map[string]string // secret, by the person's name
	acme     account.Account
}

// newStaff creates an operator, and in the account acme an owner, two members and a viewer, and an owner of another
// one.
func newStaff(t *testing.T) *staff {
	t.Helper()
	g := newInstance(t)
	s := &staff{instance: g, t: t, handler: g.site.handler(), sessions: map[string]string{"nobody": "", "a bad session": "x"}}
	ctx := t.Context()
	for _, name := range []string{account.DefaultName, "acme", "other"} {
		a := must.Get(g.admin.Accounts.CreateAccount(ctx, audit.Gateway(), name))(t)
		if name == "acme" {
			s.acme = a
		}
	}
	link := must.Get(g.admin.Accounts.CreateSetupToken(ctx, audit.Gateway()))(t)
	session := must.Get(g.admin.SignIn.Links.SetUp(ctx, link.Reveal(), personOf("operator"), people.Origin{}))(t)
	s.sessions["operator"] = session.Reveal()
	for who, role := range map[string]people.Role{"owner": people.Owner, "member": people.Member, "mate": people.Member, "viewer": people.Viewer} {
		s.join(who, s.acme.ID, role)
	}
	other := must.Get(g.admin.Accounts.Account(ctx, "other"))(t)
	s.join("stranger", other.ID, people.Owner)
	return s
}

func personOf(who string) signin.Person {
	return signin.Person{Email: who + "@example.com", Name: who, Password: llm.NewSecret("four quiet rivers meet")}
}

// join creates a user with that role in an account.
func (s *staff) join(who, accountID string, role people.Role) {
	s.t.Helper()
	one, err := s.admin.People.Invite(s.t.Context(), audit.Gateway(), people.Invitation{Email: who + "@example.com", AccountID: accountID, Role: role}, "")
	must.Do(s.t, err)
	session := must.Get(s.admin.SignIn.Links.Accept(s.t.Context(), path.Base(one.Link.Reveal()), personOf(who), people.Origin{}))(s.t)
	s.sessions[who] = session.Reveal()
}

// do sends a request as a signed-in person.
func (s *staff) do(who, what, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	r := httptest.NewRequestWithContext(s.t.Context(), method, "https://gateway.example/admin/v1"+path, strings.NewReader(body))
	if secret := s.sessions[who]; secret != "" {
		r.AddCookie(&http.Cookie{Name: "weir", Value: secret})
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// want sends a request and checks its status.
func (s *staff) want(status int, who, what, body string, header ...string) map[string]any {
	s.t.Helper()
	w := s.do(who, what, body, header...)
	if w.Code != status {
		s.t.Errorf("%s, %s %s: got %d %s, want %d", who, what, body, w.Code, w.Body, status)
	}
	v := map[string]any{}
	if text := w.Body.Bytes(); len(text) > 0 && json.Unmarshal(text, &v) != nil {
		s.t.Errorf("%s, %s: got %s, want JSON", who, what, text)
	}
	return v
}

// TestAdministrationAsksRights sends every request as every person: without the right it is refused before it is read.
func TestAdministrationAsksRights(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	may := map[people.Right][]string{
		people.SignedIn: {"operator", "owner", "member", "viewer", "stranger"},
		people.Read:     {"operator", "owner", "member", "viewer"},
		people.Use:      {"operator", "owner", "member"},
		people.Manage:   {"operator", "owner"},
		people.Operate:  {"operator"},

		people.ReadContent: {"owner"},
	}
	for _, route := range s.site.api.Admin.Routes() {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		path := strings.NewReplacer("/admin/v1", "", "{account}", "acme", "{key}", "none", "{user}", "none", "{id}", "none", "{webhook}", "none", "{delivery}", "none").Replace(pattern)
		allowed, known := may[route.Right]
		if !known {
			t.Errorf("%s: got the right %q, which is unknown to this test", route.Pattern, route.Right)
		}
		for who := range s.sessions {
			w := s.do(who, method+" "+path, "not JSON")
			refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden || strings.Contains(w.Body.String(), "There is no such account")
			if want := !slices.Contains(allowed, who) && (who != "mate" || !slices.Contains(allowed, "member")); refused != want {
				t.Errorf("%s by %s: got %d %s, want refused %t", route.Pattern, who, w.Code, w.Body, want)
			}
			if refused && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s by %s: got the refusal as %q", route.Pattern, who, w.Header().Get("Content-Type"))
			}
		}
	}
	for _, account := range []string{"acme", "nothing"} { // the answer does not reveal which account exists
		if got := s.want(404, "stranger", "GET /accounts/"+account, "")["detail"]; got != "There is no such account, or you are not a member of it." {
			t.Errorf("%s by a stranger: got %v", account, got)
		}
	}
}

// TestAdministrationOfKeys checks who may create, change and revoke whose keys.
func TestAdministrationOfKeys(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	const keys = "/accounts/acme/keys"
	made := func(who, body string) string {
		t.Helper()
		k := s.want(201, who, "POST "+keys, body)
		id, _ := k["id"].(string)
		return keys + "/" + id
	}
	mine, owners := made("member", `{"label":"mine"}`), made("owner", `{"label":"owners"}`)
	administrates := made("operator", `{"label":"admin","permissions":["admin"]}`)
	for _, who := range []string{"member", "owner"} {
		s.want(403, who, "POST "+keys, `{"label":"x","permissions":["admin"]}`)
		s.want(403, who, "PATCH "+administrates, `{"expires":null}`)
	}
	for _, who := range []string{"mate", "viewer"} {
		s.want(403, who, "PATCH "+mine, `{"label":"his"}`)
		s.want(403, who, "DELETE "+mine, "")
	}
	s.want(403, "member", "DELETE "+owners, "")
	s.want(403, "member", "DELETE "+administrates, "")
	if got := s.want(200, "viewer", "GET "+mine, ""); got["label"] != "mine" || got["state"] != "active" || got["created_by"] == nil {
		t.Errorf("the member's key: got %v, want it as it was", got)
	}
	s.want(200, "member", "PATCH "+mine, `{"label":"yours"}`)
	s.want(200, "owner", "PATCH "+mine, `{"limits":{"rpm":1}}`)
	s.want(200, "member", "DELETE "+mine, "")
	s.want(200, "owner", "DELETE "+administrates, "")
	s.want(200, "operator", "DELETE "+owners, "")
	s.want(404, "stranger", "DELETE "+mine, "")
	s.want(404, "stranger", "DELETE "+strings.Replace(mine, "acme", "other", 1), "")
}

// TestAdministrationFromElsewhere sends requests of a browser that another site directs here, with a person's cookie.
func TestAdministrationFromElsewhere(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	s.want(403, "operator", "POST /accounts", `{"name":"theirs"}`, "Sec-Fetch-Site", "cross-site")
	s.want(403, "operator", "POST /accounts", `{"name":"theirs"}`, "Origin", "https://elsewhere.example")
	s.want(201, "operator", "POST /accounts", `{"name":"ours"}`, "Sec-Fetch-Site", "same-origin")
}

// TestAdministrationOnceInASession checks the effect of an Idempotency-Key for people.
func TestAdministrationOnceInASession(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	const what, body = "POST /accounts/acme/keys", `{"label":"once"}`
	first := s.want(201, "member", what, body, "Idempotency-Key", "k")
	if again := s.want(201, "member", what, body, "Idempotency-Key", "k"); again["key"] != first["key"] || again["id"] != first["id"] {
		t.Errorf("again: got %v, want %v", again, first)
	}
	for _, who := range []string{"mate", "owner"} {
		if other := s.want(201, who, what, body, "Idempotency-Key", "k"); other["id"] == first["id"] {
			t.Errorf("%s with another person's key: got their answer", who)
		}
	}
	s.want(403, "viewer", what, body, "Idempotency-Key", "k")
}
