package dashboard

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

var pagesTo = flag.String("pages.out", "", "write the sample pages and the assets into this directory, to look at them")

// maxPage bounds the bytes of a page, with all that it loads.
const maxPage = 150 << 10

// hostile is a name that a malicious person chose.
const hostile = `</title><script>alert(1)</script>"'><img src=x onerror=alert(1)>`

var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newSite(t *testing.T) *site {
	t.Helper()
	return newServer(t).site
}

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(Options{
		Admin:        &admin.Admin{People: people.New(people.Options{}), SignIn: signin.New(signin.Options{})},
		PublicURL:    func(*http.Request) string { return "https://weir.example.com" },
		Installation: &Installation{}, DefaultModel: func() string { return "" },
		Version: "1.2.3", Now: func() time.Time { return testTime }, Log: slog.New(slog.DiscardHandler),
	})
	must.Do(t, err)
	return s
}

// visitOf returns a visit of a person with that role to the account acme; an empty role is an operator's.
func visitOf(role people.Role) *people.Visit {
	u := people.User{ID: "0199-user", Email: "ada@example.com", Name: "Ada Lovelace", Operator: role == "", Password: true}
	var in []people.Membership
	if role != "" {
		in = []people.Membership{
			{AccountID: "acc-1", AccountName: "acme", UserID: u.ID, Email: u.Email, Name: u.Name, Role: role, Since: testTime.AddDate(0, -3, 0)},
			{AccountID: "acc-2", AccountName: "research", UserID: u.ID, Email: u.Email, Name: u.Name, Role: people.Viewer, Since: testTime},
		}
	}
	session := &people.Session{ID: "s-1", UserID: u.ID}
	return &people.Visit{
		Visitor: people.NewVisitor(u, session, in),
		Account: &account.Account{ID: "acc-1", Name: "acme", Created: testTime.AddDate(0, -4, 0), Limits: account.Limits{RPM: 600}, Budget: account.Budget{Limit: 250 * llm.USD, Period: budget.PeriodMonth}},
		Origin:  people.Origin{Address: "192.0.2.7", Request: "0199a0b0-0000-7000-8000-000000000001"},
	}
}

// sample is a page with made-up values.
type sample struct {
	name string // of the file, when it is written
	path string
	role people.Role
	page page
}

// samples returns every page, in all its states.
func samples(s *site) []sample {
	all := []sample{}
	add := func(name, path string, role people.Role, p page) { all = append(all, sample{name, path, role, p}) }
	all = append(all, waysIn(s)...)
	all = append(all, keySamples(s)...)
	all = append(all, consentSamples()...)
	all = append(all, memberSamples()...)
	all = append(all, meSamples()...)
	all = append(all, usageSamples()...)
	all = append(all, statementSamples()...)
	all = append(all, webhookSamples()...)
	all = append(all, operatorSamples(s)...)
	add("start", "/accounts/acme", people.Owner, page{name: "start", title: "Overview", data: startPage{
		Providers: "/operator/providers/new",
		CanMake:   true, KeysPath: "/accounts/acme/keys", MembersAt: "/accounts/acme/members", UsesAt: "GET https://weir.example.com/v1/uses",
		Curl: Code{Ident: "first-call", Label: "A first call", Text: curlOf("https://weir.example.com", "$WEIR_KEY", "")},
	}})
	add("start-key", "/accounts/acme", people.Viewer, page{name: "start", title: "Overview", data: startPage{
		Suspended: true, HasKey: true, KeysPath: "/accounts/acme/keys", MembersAt: "/accounts/acme/members", UsesAt: "GET https://weir.example.com/v1/uses",
		Curl: Code{Ident: "first-call", Label: "A first call", Text: "curl"},
	}})
	add("playground", "/accounts/acme/playground", people.Member, page{name: "playground", title: "Playground", scripts: []string{"playground.js"}, data: playgroundPage{
		Base: "https://weir.example.com", Path: "/accounts/acme/playground", Models: []string{"openai/gpt-5-mini", hostile}, Chosen: hostile, Panes: []int{1, 2},
	}})
	add("design", "/design", "", page{name: "design", title: "Design", data: designPageOf(testTime)})
	add("error", "/nothing", people.Viewer, page{name: "error", title: "Not found", data: errorPage{Title: "Not found", Text: hostile, Request: "0199", Home: "Back to the start page"}})
	add("error-bare", "/nothing", people.Viewer, page{name: "error", title: "Not found", bare: true, data: errorPage{Title: "Not found", Text: "There is no such page.", Home: "Back to the start page"}})
	return all
}

func waysIn(s *site) []sample {
	fields := func(f *form) (Field, Field) {
		return f.field(Field{Name: "email", Label: "E-mail", Kind: "email", Required: true}), f.field(Field{Name: "password", Label: "Password", Kind: "password", Required: true})
	}
	email, password := fields(&form{})
	wrong := &form{values: url.Values{"email": {hostile}, "password": {"canary-of-a-password"}}}
	wrong.refuse(&llm.Error{Code: llm.CodeAuthentication, Message: "The e-mail address or the password is wrong."})
	email2, password2 := fields(wrong)
	sign := func(p signInPage) page { return page{name: "sign-in", title: "Sign in", bare: true, data: p} }
	all := []sample{
		{"sign-in", "/sign-in", "", sign(signInPage{Passwords: true, SSO: "Example", SSOPath: "/oidc/start?next=%2F", Next: "/", Email: email, Password: password})},
		{"sign-in-sso", "/sign-in", "", sign(signInPage{SSO: "Example", SSOPath: "/oidc/start?next=%2F", Next: "/", Email: email, Password: password})},
		{"sign-in-wrong", "/sign-in", "", sign(signInPage{Passwords: true, Fresh: true, Next: "/", Email: email2, Password: password2, Problems: wrong.problems()})},
		{"code", "/sign-in/code", "", page{name: "code", title: "Sign in", bare: true, data: codePage{Next: "/", Code: wrong.field(Field{Name: "code", Label: "Code"}), Problems: wrong.problems()}}},
		{"forgot", "/forgot", "", page{name: "forgot", title: "Forgot your password?", bare: true, data: forgotPage{Email: email}}},
		{"forgot-unmailed", "/forgot", "", page{name: "forgot", title: "Forgot your password?", bare: true, data: forgotPage{Unmailed: true}}},
		{"forgot-sent", "/forgot", "", page{name: "forgot", title: "Forgot your password?", bare: true, data: forgotPage{Sent: true}}},
	}
	for name, link := range map[string]signin.Link{
		"setup": {Kind: people.SetupLink}, "reset": {Kind: people.ResetLink, Email: "ada@example.com"},
		"sign-in-link":    {Kind: people.SignInLink, Email: "ada@example.com", Known: true},
		"invite-sso":      {Kind: people.InviteLink, Email: "ada@example.com", Invitation: &people.Invitation{AccountName: hostile}},
		"setup-sso":       {Kind: people.SetupLink},
		"invite":          {Kind: people.InviteLink, Email: "ada@example.com", Invitation: &people.Invitation{AccountName: "acme"}},
		"invite-known":    {Kind: people.InviteLink, Email: "ada@example.com", Known: true, Invitation: &people.Invitation{AccountName: hostile}},
		"invite-claims":   {Kind: people.InviteLink, Email: "ada@example.com", Claims: true, Invitation: &people.Invitation{Operator: true}},
		"invite-operator": {Kind: people.InviteLink, Email: "ada@example.com", Invitation: &people.Invitation{Operator: true}},
	} {
		f := &form{}
		if name == "setup" {
			f = &form{values: url.Values{"email": {"ada"}, "name": {hostile}, "password": {"canary-of-a-password"}}}
			f.mistake("email", "The e-mail address is invalid. Write it like ada@example.com.")
			f.mistake("password", "A password must have at least 8 characters; this one has 5.")
		}
		p := linkPageOf(link, f)
		if strings.HasSuffix(name, "-sso") {
			p.dropPasswords(link.Kind, "Example")
		}
		all = append(all, sample{name, "/x/token", "", page{name: "link", title: p.Title, bare: true, data: p}})
	}
	return all
}

func keySamples(s *site) []sample {
	at := testTime
	keys := []account.Key{
		{ID: "k-0", AccountID: "acc-1", Label: "old laptop", Last4: "aaaa", Permissions: []account.Permission{"chat"}, Created: at.AddDate(0, -3, 0), Revoked: &at},
		{ID: "k-1", AccountID: "acc-1", Label: hostile, Last4: "9xQe", Permissions: []account.Permission{"chat", "uses"}, Created: at.AddDate(0, 0, -12), Creator: "0199-user", Models: []string{"openai/*", "anthropic/claude-haiku-4-5", hostile}},
		{ID: "k-2", AccountID: "acc-1", Label: "nightly report", Last4: "Zk3d", Permissions: []account.Permission{"chat", "uses"}, Created: at.Add(-3 * time.Hour), Expires: new(at.AddDate(0, 0, 30)), Limits: account.Limits{RPM: 60, TPM: 200_000, Concurrency: 4}, Budget: account.Budget{Limit: 25 * llm.USD, Period: budget.PeriodMonth}},
		{ID: "k-3", AccountID: "acc-1", Label: "website chat", Last4: "p0Qw", Permissions: []account.Permission{"chat"}, Created: at.Add(-40 * time.Minute)},
	}
	var all []sample
	for _, one := range []struct {
		name string
		role people.Role
		keys []account.Key
		past bool
	}{{"keys", people.Owner, keys, false}, {"keys-member", people.Member, keys, true}, {"keys-empty", people.Member, nil, false}, {"keys-viewer", people.Viewer, nil, false}, {"keys-operator", "", keys, false}} {
		p := keysPageOf(visitOf(one.role), one.keys, one.past, testTime)
		for i := range p.Keys {
			if i > 0 {
				p.Keys[i].Used = &at
			}
			p.Keys[i].By = "Ada Lovelace"
			p.Keys[i].Spent = spendingOf(123_456_789, llm.Money(i)*llm.USD, int64(i%2))
		}
		all = append(all, sample{one.name, "/accounts/acme/keys", one.role, page{name: "keys", title: "API Keys", data: p}})
	}
	wrong := &form{values: url.Values{"label": {hostile}, "rpm": {"many"}, "budget": {"much"}, "expires": {"date"}, "models": {hostile}, "period": {"day"}}}
	keyOptionsOf(wrong, permissionChoices(visitOf(people.Member)), testTime)
	wrong.refuse(llm.Invalid("models", "That is not a model pattern."))
	wrong.refuse(llm.Invalid("elsewhere", "Something of no field."))
	newKey := func(f *form) page {
		return page{name: "key-new", title: "Generate New Key", data: newKeyPageOf(visitOf(people.Member), f)}
	}
	shown := keyShownPage{Label: hostile, Token: "wk_ThisIsNoKeyButAsLongAsOneWouldBe0000000000000000", Back: "/accounts/acme/keys"}
	shown.Snippets = snippetsOf("https://weir.example.com", shown.Token, "openai/gpt-5-mini")
	return append(all,
		sample{"key-new", "/accounts/acme/keys/new", people.Member, newKey(&form{})},
		sample{"key-new-wrong", "/accounts/acme/keys/new", people.Member, newKey(wrong)},
		sample{"key", "/accounts/acme/keys/k-1", people.Owner, page{name: "key", title: hostile, data: keyPageOf(visitOf(people.Owner), &account.Key{ID: "k-1", AccountID: "acc-1", Label: hostile, Last4: "abcd", Models: []string{hostile}, Expires: &testTime, FormerUntil: new(testTime.AddDate(0, 0, 2)), FormerLast4: "dcba", Permissions: []account.Permission{account.Chat}, Per: []account.Per{{Limits: account.Limits{RPM: 10}, Budget: account.Budget{Limit: llm.USD, Period: budget.PeriodDay}}, {Tag: hostile, Limits: account.Limits{Concurrency: 2}}}, Tags: account.KeyTags{Defaults: []llm.Tag{{Name: "team", Value: "search"}, {Name: "unit", Value: "a,b"}}, Required: []string{"project", "region"}}}, wrong, testTime.AddDate(0, 0, -1))}},
		sample{"key-viewer", "/accounts/acme/keys/k-1", people.Viewer, page{name: "key", title: hostile, data: keyPageOf(visitOf(people.Viewer), &account.Key{ID: "k-1", Label: hostile}, &form{}, testTime)}},
		sample{"key-shown", "/accounts/acme/keys/new", people.Member, page{name: "key-shown", title: "Your new key", data: shown}},
	)
}

func memberSamples() []sample {
	members := []people.Membership{
		{UserID: "0199-user", Email: "ada@example.com", Name: "Ada Lovelace", Role: people.Owner, Since: testTime.AddDate(0, -3, 0)},
		{UserID: "u-2", Email: "grace@example.com", Role: people.Member, Since: testTime.AddDate(0, 0, -9)},
		{UserID: "u-3", Email: "mallory@example.com", Name: hostile, Role: people.Viewer, Since: testTime.Add(-time.Hour)},
	}
	var all []sample
	for _, role := range []people.Role{people.Owner, people.Member, ""} {
		v := visitOf(role)
		f := &form{}
		if role == "" {
			v.Account.Suspended, v.Account.Credit, v.Account.Budget, v.Account.Limits = true, &account.Credit{Paid: 5000 * llm.USD}, account.Budget{}, account.Limits{}
			f = &form{values: url.Values{"email": {"grace"}}}
			f.mistake("email", "The e-mail address is invalid. Write it like ada@example.com.")
		}
		p := membersPageOf(v, members, f)
		if role == people.Owner {
			p.Invited = &invited{Email: "edsger@example.com", Link: "https://weir.example.com/invite/Hq2b8mC0_tNOTREAL", Unsent: true}
			p.Invitations = []invitationRow{invitationRowOf("/accounts/acme/invitations", people.Invitation{ID: "i-1", Email: "edsger@example.com", Role: people.Member, By: hostile, Expires: testTime.AddDate(0, 0, 7)})}
		}
		all = append(all, sample{"members-" + string(role), "/accounts/acme/members", role, page{name: "members", title: "Account", data: p}})
	}
	return append(all, sample{"members-none", "/accounts/acme/members", "", page{name: "members", title: "Account", data: membersPageOf(visitOf(""), nil, &form{})}})
}

func meSamples() []sample {
	v := visitOf(people.Owner)
	p := mePage{Email: v.User().Email, Intro: introduction(v), HasPassword: true, Others: true, Name: Field{Name: "name", Label: "Name", Value: hostile, Kind: "text"}}
	p.Passwords = []Field{{Name: "current", Label: "Current password", Kind: "password"}, {Name: "password", Label: "New password", Kind: "password", Hint: "At least 8 characters."}}
	p.Sessions = []sessionRow{
		sessionRowOf(people.Session{ID: "s-1", Method: "password", Address: "192.0.2.7", Agent: "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0 Safari/537.36", Created: testTime.Add(-2 * time.Hour), Seen: testTime}, "s-1"),
		sessionRowOf(people.Session{ID: "s-2", Method: "oidc", Address: "2001:db8::1", Agent: hostile, Created: testTime.AddDate(0, 0, -3), Seen: testTime.AddDate(0, 0, -1)}, "s-1"),
	}
	with := p
	with.SecondFactor, with.Confirm = true, Field{Name: "confirm", Label: "Current password", Kind: "password"}
	with.Passkeys, with.MayAdd = passkeyRows([]signin.Passkey{{ID: "a_B-", Name: hostile, Created: testTime.AddDate(0, 0, -9), Used: new(testTime)}, {ID: "c", Name: "Phone", Created: testTime}}), true
	ask := challengePart{Options: `{"challenge":"x","user":{"name":"<script>"}}`, State: "sealed"}
	factor := factorPage{Email: "ada@example.com", Secret: "ABCD", Code: Field{Name: "code", Label: "Code", Kind: "text"}, Password: Field{Name: "password", Label: "Current password", Kind: "password"}}
	factor.Picture, _ = qrCodeOf("otpauth://totp/Weir:ada@example.com?secret=ABCD&issuer=Weir")
	return []sample{
		{"me-factor", "/me", people.Owner, page{name: "me", title: "Your profile", data: with}},
		{"factor", "/me/second-factor", people.Owner, page{name: "factor", title: "Second factor", data: factor}},
		{"factor-set", "/me/second-factor", people.Owner, page{name: "factor", title: "Second factor", data: factorPage{Email: hostile, Recovery: []string{"ABCD-EFGH-IJKL-MNOP"}}}},
		{"passkey", "/me/passkeys/new", people.Owner, page{name: "passkey", title: "Add a passkey", scripts: []string{"passkey.js"}, data: passkeyPage{
			Email: "ada@example.com", Ask: ask, Name: Field{Name: "name", Label: "Name", Kind: "text"}, Password: Field{Name: "password", Label: "Current password", Kind: "password"},
		}}},
		{"code-passkey", "/sign-in", "", page{name: "code", title: "Sign in", bare: true, scripts: []string{"passkey.js"}, data: codePage{
			Next: "/", Code: Field{Name: "code", Label: "Code", Kind: "text"}, Passkey: ask,
		}}},
		{"me", "/me", people.Owner, page{name: "me", title: "Your profile", data: p}},
		{"me-sso", "/me", "", page{name: "me", title: "Your profile", data: mePage{Email: "ada@example.com", Intro: "Operator", Name: p.Name}}},
	}
}

// TestPagesKeepToRules checks every template against the rules, in all its states.
func TestPagesKeepToRules(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shown := map[string]bool{}
	for _, one := range samples(s) {
		t.Run(one.name, func(t *testing.T) {
			text := render(t, s, one)
			for _, fault := range Check(text) {
				t.Errorf("got a page that %s", fault)
			}
			if strings.Contains(text, "<script>") || strings.Contains(text, "<img src=x") {
				t.Error("got a hostile name unescaped")
			}
			if strings.Contains(text, "canary-of-a-password") {
				t.Error("got a typed password on the page")
			}
			if got := len(text) + s.weight(text); got > maxPage {
				t.Errorf("size: got %d bytes with assets, want at most %d", got, maxPage)
			}
			write(t, one.name+".html", []byte(text))
		})
		shown[one.page.name] = true
	}
	for name := range maps.Keys(s.templates) {
		if !shown[name] {
			t.Errorf("the page %s is in no sample: add it, so that the rules are checked", name)
		}
	}
	for name, content := range s.assets.content {
		write(t, s.assets.path(name), content)
	}
}

// weight returns the size of the assets that a page loads, in bytes.
func (s *site) weight(text string) int {
	n := 0
	for name, content := range s.assets.content {
		if strings.Contains(text, s.assets.path(name)) {
			n += len(content)
		}
	}
	return n
}

// timed records the deadlines of writes.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *timed) SetWriteDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

func render(t *testing.T, s *site, one sample) string {
	t.Helper()
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, one.path, nil)
	must.Do(t, s.show(w, r, visitOf(one.role), one.page))
	if n := len(w.deadlines); n < 2 || w.deadlines[0].IsZero() || !w.deadlines[n-1].IsZero() {
		t.Errorf("deadlines of the page: got %v, want one, and none in the end", w.deadlines)
	}
	if got := w.Header().Get("Content-Security-Policy"); got != policy {
		t.Errorf("policy: got %q, want %q", got, policy)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: got %q, want no-store", got)
	}
	return w.Body.String()
}

// write stores a file for viewing, if that is requested.
func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if *pagesTo == "" {
		return
	}
	path := filepath.Join(*pagesTo, name)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o750))
	must.Do(t, os.WriteFile(path, content, 0o600))
}

// TestContrastOfColors measures the colours on top of each other, in light and in dark: 4.5 for text and 3 for the
// edges of controls and for data (WCAG 2.2, 1.4.3 and 1.4.11).
func TestContrastOfColors(t *testing.T) {
	t.Parallel()
	text := must.Get(files.ReadFile("assets/css/10-tokens.css"))(t)
	blocks := strings.Split(string(text), ":root")
	light, system, dark := tokens(blocks[1]), tokens(blocks[2]), tokens(blocks[3])
	for name, value := range dark {
		if system[name] != value {
			t.Errorf("--%s: got %s where the system is dark, want %s as where dark is chosen", name, system[name], value)
		}
		if light[name] == "" {
			t.Errorf("--%s: got it in dark alone", name)
		}
	}
	for theme, colours := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, pair := range contrasts() {
			got := contrast(t, colours[pair.on], colours[pair.over])
			if got < pair.least {
				t.Errorf("%s: --%s on --%s: got a contrast of %.2f, want %.1f", theme, pair.over, pair.on, got, pair.least)
			}
		}
	}
}

type contrastPair struct {
	over, on string
	least    float64
}

func contrasts() []contrastPair {
	var all []contrastPair
	for _, word := range []string{"ink", "soft", "accent", "accent-deep", "good", "warn", "bad"} {
		all = append(all, contrastPair{word, "paper", 4.5}, contrastPair{word, "wash", 4.5})
	}
	for _, kind := range []string{"accent", "good", "warn", "bad"} {
		all = append(all, contrastPair{"ink", kind + "-wash", 4.5}, contrastPair{kind, kind + "-wash", 4.5})
	}
	for i := range 6 {
		all = append(all, contrastPair{fmt.Sprintf("data-%d", i+1), "paper", 3})
	}
	return append(all, contrastPair{"soft", "accent-wash", 4.5}, contrastPair{"accent-deep", "accent-wash", 4.5}, contrastPair{"accent-ink", "accent", 4.5},
		contrastPair{"accent-ink", "accent-deep", 4.5}, contrastPair{"river-ink", "river", 4.5}, contrastPair{"edge", "paper", 3}, contrastPair{"edge", "wash", 3}, contrastPair{"ink", "line", 4.5})
}
