package admin_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

var (
	versionField = regexp.MustCompile(`name="version" value="(\d+)"`)
	undoForm     = regexp.MustCompile(`action="(/operator/configuration/versions/\d+/restore)"`)
	removeKey    = regexp.MustCompile(`action="(/operator/providers/house/keys/0/remove)"[^>]*><input type="hidden" name="once" value="([^"]+)"`)
)

// TestControlPages does an operator's work on the pages, only by forms: a provider is added with a wrong address and
// then the right one, tested, its key rotated; an alias and a price are added, a change is undone, and the provider
// removed.
func TestControlPages(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "providers: {}\n"})
	up := newKeyedUpstream(t)
	const old, next = "canary-old-key-of-the-provider-1234", "canary-new-key-of-the-provider-5678"
	up.taken.Store(old, true)
	up.taken.Store(next, true)
	link := setupForm.FindString(h.Out.String())
	ada, shown := newBrowser(h), ""
	see := func(r harness.Reply, status int, says ...string) harness.Reply {
		t.Helper()
		shown += r.Body
		for _, text := range says {
			if r.Status != status || !strings.Contains(r.Body, text) {
				t.Fatalf("got %d, want %d and %q in %s", r.Status, status, text, r.Body)
			}
		}
		return r
	}
	see(ada.post(strings.TrimPrefix(link, h.URL), "name", "Ada", "email", "ada@example.com", "password", leakedPassword), 200, "<h1>")
	const providers, configuration = "/operator/providers", "/operator/configuration"
	see(ada.post(providers+"/new", "name", "house", "key", old, "dialect", "openai", "base_url", up.url, "allow_private", "true"), 422,
		"Set base_url to that.", "Save without a test")
	see(ada.post(providers+"/new", "name", "house", "key", "no-such-key-of-the-provider", "dialect", "openai", "base_url", up.url+"/v1", "allow_private", "true"), 422,
		"refuses the key api_keys[0] (…ider)")
	see(ada.post(providers+"/new", "name", "House", "dialect", "openai", "base_url", up.url+"/v1", "do", "untested"), 422, "lower-case letters")
	see(ada.post(providers+"/new", "name", "house", "key", old, "dialect", "openai", "base_url", up.url+"/v1", "allow_private", "true", "more", "retries: 1"), 200,
		"The provider was saved.", "…1234", "The only key", "Managed")
	see(ada.post(providers+"/new", "name", "house"), 422, "already")
	answers := func(model string) func() bool {
		return func() bool { return h.Chat(model).Status == http.StatusOK }
	}
	harness.Await(t, "an answer of the provider", answers("house/echo"))
	see(ada.post(providers+"/house/test", "model", "house/echo"), 200, "The provider lists", "Streaming", "Works", "Serve only these models")

	page := see(ada.get(providers+"/house"), 200, "retries: 1").Body
	version := versionField.FindStringSubmatch(page)[1]
	see(ada.post(providers+"/house/keys/add", "key", next, "version", version), 200, "…1234", "…5678")
	see(ada.post(providers+"/house/keys/add", "key", "a-third-key-of-it-0000", "version", version), 422, "was changed meanwhile")
	form := removeKey.FindStringSubmatch(ada.get(providers + "/house").Body)
	if form == nil {
		t.Fatal("the page of the provider has no form that removes a key")
	}
	removed := see(ada.post(form[1], "once", form[2]), 200, "…5678").Body
	if strings.Contains(removed, "…1234") || !strings.Contains(removed, "retries: 1") {
		t.Error("after the old key was removed: got it on the page, or other keys lost")
	}
	see(ada.post(form[1], "once", form[2]), 422, "changed meanwhile")
	see(ada.post(providers+"/house/change", "dialect", "openai", "base_url", up.url+"/v1", "allow_private", "true", "models", "echo\nchat", "more", "retries: many"), 422, "retries")
	see(ada.post(providers+"/house/change", "dialect", "openai", "base_url", up.url+"/v1", "allow_private", "true", "models", "echo\nchat"), 200, "echo\nchat", "…5678")

	private := see(ada.post(providers+"/new", "name", "near", "dialect", "openai", "base_url", "http://127.0.0.1:9/v1", "key", "k"), 422, "“Allow a private address” below permits it")
	if strings.Contains(private.Body, "allow_private: true") || strings.Contains(private.Body, "managed configuration") {
		t.Error("a private address: got the words of the file on the form")
	}

	edit := configuration + "/edit?section="
	see(ada.get(edit+"aliases"), 200, "Add an alias")
	see(ada.post(edit+"aliases", "name", "fast", "targets", "nobody/x", "strategy", "fallback"), 422, "nobody")
	see(ada.post(edit+"aliases", "name", "fast", "targets", "house/echo\nhouse/chat", "strategy", "weighted", "weights", "3\n1"), 200, "was changed", "echo, weight 3 (75 %)")
	see(ada.post(edit+"prices", "name", "house/* since 2026-01-01", "input", "1", "output", "2"), 200, "house/<wbr>* since 2026-01-01")
	see(ada.post(edit+"limits", "rpm", "6000", "more", "per_key: {rpm: 600}"), 200, "Per key: rpm 600", "Requests per minute: 6000")
	see(ada.get(edit+"limits"), 200, `value="6000"`, "per_key: {")
	see(ada.post(edit+"limits", "rpm", "many"), 422, "whole number")
	harness.Await(t, "an answer of the alias", answers("fast"))
	see(ada.get(edit+"nothing"), 404, "no such page")

	see(ada.post(configuration+"/remove?section=aliases&name=fast"), 200, "was changed")
	harness.Await(t, "that the alias is gone", func() bool { return !answers("fast")() })
	undo := undoForm.FindStringSubmatch(ada.get(configuration).Body)
	if undo == nil {
		t.Fatal("the page has no form that undoes the last change")
	}
	see(ada.post(undo[1]), 200, "was changed")
	harness.Await(t, "the alias that is back", answers("fast"))
	see(ada.post(providers+"/house/remove"), 422, "fast") // which has its models
	see(ada.post(configuration+"/versions/0/restore"), 200, "was changed")
	harness.Await(t, "the providers of the beginning", func() bool {
		text := ada.get(providers).Body
		return strings.Contains(text, "demo") && !strings.Contains(text, "/operator/providers/house")
	})
	for place, text := range everything(h, ada) {
		shown += place + text
	}
	for _, key := range []string{old, next} {
		if strings.Contains(shown, key) {
			t.Errorf("the key %s is on a page, in the log or elsewhere", key)
		}
	}
}
