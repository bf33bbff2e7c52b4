package admin_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// leakYAML has a secret in every place of the configuration that may have one.
const leakYAML = `
oidc: {issuer: "http://127.0.0.1:9/none", client_id: weir, client_secret: canary-oidc-secret-0123456789}
smtp: {addr: "127.0.0.1:9", username: weir, password: canary-smtp-password-0123456789, from: weir@example.com, tls: none}
`

const (
	leakedPassword = "canary password of Ada 0123456789"
	leakedWrong    = "canary of a wrong password 0123456789"
	leakedChanged  = "canary of another password 0123456789"
	leakedPrompt   = "canary-prompt-0123456789"
)

// browser simulates a person's browser.
type browser struct {
	h      *harness.Gateway
	client *http.Client
}

func newBrowser(h *harness.Gateway) *browser {
	h.T.Helper()
	jar := must.Get(cookiejar.New(nil))(h.T)
	return &browser{h, &http.Client{Jar: jar, Timeout: harness.Patience, Transport: h.Client.Transport}}
}

func (b *browser) do(r *http.Request, err error) harness.Reply {
	b.h.T.Helper()
	must.Do(b.h.T, err)
	r.Header.Set("Accept", "text/html")
	was := b.h.Client
	b.h.Client = b.client
	defer func() { b.h.Client = was }()
	return b.h.Send(r)
}

func (b *browser) get(path string) harness.Reply {
	b.h.T.Helper()
	return b.do(http.NewRequestWithContext(b.h.T.Context(), http.MethodGet, b.h.URL+path, nil))
}

// post sends a form, with fields as name, value, name, value.
func (b *browser) post(path string, fields ...string) harness.Reply {
	b.h.T.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.h.T.Context(), http.MethodPost, b.h.URL+path, strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return b.do(r, err)
}

// session returns the secret of the browser's session.
func (b *browser) session() string {
	u, _ := url.Parse(b.h.URL)
	for _, c := range b.client.Jar.Cookies(u) {
		if strings.HasSuffix(c.Name, "weir") {
			return c.Value
		}
	}
	return ""
}

var (
	onceField  = regexp.MustCompile(`name="once" value="([^"]+)"`)
	inviteForm = regexp.MustCompile(`/invite/([A-Za-z0-9_-]+)`)
	pageLink   = regexp.MustCompile(`href="(/[^"#]*)`)
)

// TestSecretLeaks puts a secret into every place that may have one, simulates people and programs, with and without
// mistakes, and searches the gateway's output and storage for the secrets.
func TestSecretLeaks(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + leakYAML})
	link := setupForm.FindString(h.Out.String())
	secrets := map[string]string{
		"the provider's key": harness.UpstreamKey, "the secret of single sign-on": "canary-oidc-secret-0123456789", "the password for mail": "canary-smtp-password-0123456789",
		"a password": leakedPassword, "a wrong password": leakedWrong, "a changed password": leakedChanged, "a prompt": leakedPrompt,
		"the first key": h.Key, "the set-up link": link[strings.LastIndexByte(link, '/')+1:],
	}
	ada := newBrowser(h)
	if r := ada.post(strings.TrimPrefix(link, h.URL), "name", "Ada", "email", "ada@example.com", "password", leakedPassword); r.Status != http.StatusOK {
		t.Fatalf("set-up: got %d %s", r.Status, r.Body)
	}
	secrets["the first session"] = ada.session()
	strangers(h, ada, secrets)
	programs(h, ada, secrets)
	if r := ada.post("/me/password/change", "current", leakedPassword, "password", leakedChanged); r.Status >= 500 {
		t.Errorf("another password: got %d", r.Status)
	}
	secrets["the session after"] = ada.session()
	for name, s := range secrets {
		if len(s) < 16 {
			t.Fatalf("%s is %q, which is too short for a search", name, s)
		}
	}
	for place, text := range everything(h, ada) {
		for name, secret := range secrets {
			if strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret)) {
				t.Errorf("%s shows %s", place, name)
			}
		}
	}
}

// strangers simulates the actions and mistakes of people.
func strangers(h *harness.Gateway, ada *browser, secrets map[string]string) {
	h.T.Helper()
	stranger := newBrowser(h)
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		if r := stranger.post("/sign-in", "email", email, "password", leakedWrong); r.Status < 400 {
			h.T.Errorf("a wrong password of %s: got %d", email, r.Status)
		}
		stranger.post("/forgot", "email", email)
	}
	stranger.post("/reset/"+secrets["the set-up link"], "password", leakedWrong)
	stranger.get("/oidc/start")
	stranger.get("/oidc/callback?code=" + leakedPrompt + "&state=" + leakedPrompt)
	r := ada.post("/accounts/default/members/invite", "email", "bob@example.com", "role", "member")
	if m := inviteForm.FindStringSubmatch(r.Body); m != nil {
		secrets["an invitation"] = m[1]
	} else {
		h.T.Errorf("the invitation: got %d and no link", r.Status)
	}
}

// programs simulates the requests and mistakes of programs.
func programs(h *harness.Gateway, ada *browser, secrets map[string]string) {
	h.T.Helper()
	once := onceField.FindStringSubmatch(ada.get("/accounts/default/keys/new").Body)
	if once == nil {
		h.T.Fatal("the page of a new key has no field once")
	}
	shown := ada.post("/accounts/default/keys/new", "once", once[1], "label", "canary", "permissions", "chat", "permissions", "uses", "expires", "never")
	key := harness.TokenForm.FindString(shown.Body)
	if key == "" {
		h.T.Fatalf("a new key: got %d and none", shown.Status)
	}
	secrets["a key"] = key
	body := `{"model":"house/echo","messages":[{"role":"user","prompt":"` + leakedPrompt + `"}]}`
	for _, a := range []harness.Ask{
		{Path: "/v1/chat", Body: body, Key: key},
		{Path: "/v1/chat", Body: body, Key: key, Header: []string{"Idempotency-Key", "canary"}},
		{Path: "/v1/chat", Body: strings.Replace(body, "echo", "chat:status=500", 1), Key: key},
		{Path: "/v1/chat", Body: strings.Replace(body, "echo", "chat:status=401", 1), Key: key},
		{Path: "/v1/chat", Body: body[:len(body)-3], Key: key},
		{Path: "/v1/chat", Body: body, Key: key[:len(key)-2] + "00"},
		{Path: "/v1/chat?key=" + key, Body: body, Key: harness.NoKey},
		{Path: "/v1/responses", Body: `{"model":"house/echo","input":"` + leakedPrompt + `"}`, Key: key},
	} {
		r := h.Do(a)
		for name, secret := range secrets {
			if name != "a prompt" && strings.Contains(r.Body, secret) { // a model may repeat its input
				h.T.Errorf("%s answers with %s", a.Path, name)
			}
		}
	}
}

// everything returns all output and storage of the gateway, by its place.
func everything(h *harness.Gateway, ada *browser) map[string]string {
	h.T.Helper()
	all := map[string]string{}
	for _, path := range []string{"/metrics", "/readyz?verbose", "/openapi.json", "/v1/models", "/v1/uses"} {
		all[path] = h.Do(harness.Ask{Path: path}).Body
	}
	todo := []string{"/", "/me", "/design", "/accounts/default/keys/new"}
	for len(todo) > 0 && len(all) < 200 {
		path := todo[0]
		todo = todo[1:]
		if _, seen := all["the page "+path]; seen || strings.HasPrefix(path, "/assets") || strings.Contains(path, "/tail") {
			continue
		}
		r := ada.get(path)
		all["the page "+path] = r.Body
		for _, m := range pageLink.FindAllStringSubmatch(r.Body, -1) {
			todo = append(todo, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	all["the audit log"] = audited(h)
	if err := h.Stop(); err != nil {
		h.T.Error(err)
	}
	all["the log"] = h.Log.String()
	err := filepath.WalkDir(h.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".new") { // it is being written and renamed
			return err
		}
		text, err := os.ReadFile(path)
		all["the file "+filepath.Base(path)] = string(text)
		return err
	})
	if err != nil {
		h.T.Error(err)
	}
	if pages := slices.Collect(func(yield func(string) bool) {
		for place := range all {
			if strings.HasPrefix(place, "the page ") && !yield(place) {
				return
			}
		}
	}); len(pages) < 8 {
		h.T.Errorf("got %d pages, want all of them: %q", len(pages), pages)
	}
	return all
}

// audited exports the whole audit log.
func audited(h *harness.Gateway) string {
	h.T.Helper()
	data, err := admin.Open(h.T.Context(), h.Config(), config.Options{}, harness.Discard())
	must.Do(h.T, err)
	defer data.Close()
	var text strings.Builder
	err = data.Audit.Export(context.Background(), audit.Query{}, func(e *audit.Entry) error {
		text.Write(e.Before)
		text.Write(e.After)
		text.WriteString(e.Actor.String() + e.Object.Name + e.Object.ID + "\n")
		return nil
	})
	if err != nil || text.Len() == 0 {
		h.T.Errorf("the audit log: %v, %d bytes", err, text.Len())
	}
	return text.String()
}
