package admin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// listener is a server that records its requests.
type listener struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newListener(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, fmt.Sprint(r.URL, r.Header))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.seen, "\n")
}

// sealedOf returns the placeholder of a provider's secret in GET /config.
func (o *office) sealedOf(member string) string {
	o.T.Helper()
	shown := o.Do(harness.Ask{Path: "/admin/v1/config", Key: o.admin}).Body
	_, rest, _ := strings.Cut(shown, `"`+member+`":`)
	i := strings.Index(rest, "sealed:")
	if i < 0 {
		o.T.Fatalf("GET /config: got no sealed %s in %s", member, shown)
	}
	sealed, _, _ := strings.Cut(rest[i:], `"`)
	return sealed
}

// TestTrialSendsNoKeyOfOthers has an operator, or the holder of an operator's key, ask the gateway to test providers
// with the keys of others, with their own at another host, and with files of the gateway's machine.
func TestTrialSendsNoKeyOfOthers(t *testing.T) {
	t.Parallel()
	const own, adminKey, stored = "canary-key-of-house-1234", "canary-admin-key-of-house-5678", "canary-in-a-file-9012"
	file := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(file, []byte(stored+"\n"), 0o600))
	home, away := newListener(t), newListener(t)
	o := &office{Gateway: harness.Open(t, harness.Setup{YAML: fmt.Sprintf(
		"providers:\n  house: {dialect: openai, base_url: %q, allow_private: true, api_keys: [%s], admin_key: %s}\n",
		home.URL+"/v1", own, adminKey)}), answered: map[string]bool{}}
	o.admin = o.NewKey(account.KeyOptions{
		Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin},
	})
	_, o.contract = o.Document()
	managed := func(key string) string {
		return fmt.Sprintf(`{"dialect":"openai","base_url":%q,"allow_private":true,"api_keys":[%q]}`, home.URL+"/v1", key)
	}
	o.put(200, "mine", managed("canary-key-of-mine-3456"))
	sealed := strings.NewReplacer("KEY", o.sealedOf("api_keys"), "ADMIN", o.sealedOf("admin_key"), "FILE", "${file:"+file+"}").Replace
	for name, test := range map[string]struct{ provider, url, keys string }{
		"another's sealed key":             {"new", away.URL, `"KEY"`},
		"another's sealed admin key":       {"new", away.URL, `"ADMIN"`},
		"another's sealed key at its host": {"new", home.URL + "/v1", `"KEY"`},
		"its own sealed key elsewhere":     {"mine", away.URL, `"MINE"`},
		"what is in a file":                {"new", away.URL, `"FILE"`},
		"what is in a file, in the path":   {"new", away.URL + "/FILE", `"typed"`},
		"what is in a file, by default":    {"new", away.URL + "/${NOBODY:-FILE}", `"typed"`},
		"a file in another member":         {"new", away.URL, `"typed"],"models":["FILE"`},
	} {
		keys := strings.ReplaceAll(sealed(test.keys), "MINE", o.sealedMine())
		value := fmt.Sprintf(`{"dialect":"openai","base_url":%q,"allow_private":true,"api_keys":[%s]}`, sealed(test.url), keys)
		before := o.entries("config.tested")
		got := fmt.Sprint(o.call(400, "POST /config/test", fmt.Sprintf(`{"name":%q,"provider":%s}`, test.provider, value)))
		if seen := away.all() + got; strings.Contains(seen, "canary") {
			t.Errorf("test with %s: got %s, want no secret to leave", name, seen)
		}
		if strings.Contains(test.keys, "typed") && o.entries("config.tested") != before+1 {
			t.Errorf("test with %s: got no entry in the audit log", name)
		}
		if strings.Contains(keys, "sealed:") {
			o.put(400, test.provider, value)
		}
	}
	// A secret in the wrong member does not stay in the audit log: entries searches it.
	for name, wrong := range map[string]string{
		"a mistyped member": `"base_url":"http://127.0.0.1:1","api_key":"canary-mistyped","headers":{"Authorization":"canary-mistyped"}`,
		"an address":        `"base_url":"http://user:canary-mistyped@127.0.0.1:1/?key=canary-mistyped","api_keys":["k"]`,
	} {
		before := o.entries("config.tested")
		o.call(400, "POST /config/test", `{"name":"new","provider":{"dialect":"openai","allow_private":true,`+wrong+`}}`)
		if o.entries("config.tested") != before+1 {
			t.Errorf("test with a secret in %s: got no entry in the audit log", name)
		}
	}
	away.mu.Lock()
	away.seen = nil
	away.mu.Unlock()

	// Permitted trials: with the typed key, at any host; with the provider's own sealed key, at its host. Both are in
	// the audit log.
	before := o.entries("config.tested")
	typed := fmt.Sprintf(`{"dialect":"openai","base_url":%q,"allow_private":true,"api_keys":["typed"]}`, away.URL)
	if got := o.call(200, "POST /config/test", `{"name":"new","provider":`+typed+`}`); at(got, "ok") != "true" || !strings.Contains(away.all(), "Bearer typed") {
		t.Errorf("a key that is typed: got %v, %s", got, away.all())
	}
	changed := strings.Replace(managed(o.sealedMine()), `"dialect"`, `"retries":1,"dialect"`, 1)
	if got := o.call(200, "POST /config/test", `{"name":"mine","provider":`+changed+`}`); at(got, "ok") != "true" ||
		!strings.Contains(home.all(), "Bearer canary-key-of-mine-3456") {
		t.Errorf("its own key, with another retry: got %v, %s", got, home.all())
	}
	if n := o.entries("config.tested"); n != before+2 {
		t.Errorf("audit log: got %d tests, want %d", n, before+2)
	}
	o.call(200, "POST /config/test", `{"name":"mine","provider":`+managed(o.sealedMine())+`}`) // as it is saved
	o.call(200, "POST /config/test", `{"name":"house"}`)
	if n := o.entries("config.tested"); n != before+2 {
		t.Errorf("audit log: got %d tests, want none of the saved provider", n)
	}
}

// sealedMine returns the placeholder for the key of the managed provider mine.
func (o *office) sealedMine() string {
	o.T.Helper()
	_, rest, _ := strings.Cut(o.Do(harness.Ask{Path: "/admin/v1/config", Key: o.admin}).Body, `"name":"mine"`)
	i := strings.Index(rest, "sealed:")
	if i < 0 {
		o.T.Fatal("GET /config: got no sealed key of mine")
	}
	sealed, _, _ := strings.Cut(rest[i:], `"`)
	return sealed
}

// put saves a provider.
func (o *office) put(status int, name, value string) {
	o.T.Helper()
	r := o.Do(harness.Ask{Method: http.MethodPut, Path: "/admin/v1/config/providers/" + name, Key: o.admin, Body: value})
	if r.Status != status {
		o.T.Errorf("PUT %s as %s: got %d, %s; want %d", value, name, r.Status, r.Body, status)
	}
}

// entries counts entries of the audit log.
func (o *office) entries(action string) int {
	o.T.Helper()
	r := o.Do(harness.Ask{Path: "/admin/v1/audit?limit=1000", Key: o.admin})
	if r.Status != http.StatusOK || strings.Contains(r.Body, "canary") {
		o.T.Fatalf("GET /audit: got %d, %s", r.Status, r.Body)
	}
	return strings.Count(r.Body, `"action":"`+action+`"`)
}

// TestAnswersShowReferences saves a provider whose address is in a file: no answer shows the file's content.
func TestAnswersShowReferences(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	file := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(file, []byte("canary-path\n"), 0o600))
	value := fmt.Sprintf(`{"dialect":"openai","base_url":%q,"allow_private":true,"api_keys":["k"]}`, gone.URL+"/${file:"+file+"}/v1")
	o.put(200, "hidden", value)
	harness.Await(t, "the provider in force", func() bool {
		return o.Do(harness.Ask{Path: "/admin/v1/config", Key: o.admin}).Status == 200 &&
			strings.Contains(o.Do(harness.Ask{Path: "/admin/v1/providers", Key: o.admin}).Body, "hidden")
	})
	for _, call := range []string{"GET /config", "GET /providers"} {
		if got := fmt.Sprint(o.call(200, call, "")); strings.Contains(got, "canary") || !strings.Contains(got, "${file:") {
			t.Errorf("%s: got %s, want the original text", call, got)
		}
	}
	for _, body := range []string{`{"name":"hidden"}`, `{"name":"hidden","model":"m"}`} {
		if got := fmt.Sprint(o.call(200, "POST /config/test", body)); strings.Contains(got, "canary") {
			t.Errorf("POST /config/test %s: got %s, want the original text", body, got)
		}
	}
}
