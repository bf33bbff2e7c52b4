package chat_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
)

// isVendors reports whether a client API answers in OpenAI's format.
func isVendors(path string) bool { return path == "/v1/chat/completions" }

// TestUnauthenticatedLooksTheSame sends malformed, unknown, revoked and expired keys. All answers look the same. Those to
// requests without a key, or with one in another form, say so.
func TestUnauthenticatedLooksTheSame(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	expired := h.NewKey(account.KeyOptions{Account: "default", ExpiresIn: time.Microsecond})
	revoked := h.NewKey(account.KeyOptions{Account: "default", Label: "to be revoked"})
	h.Administer(func(ctx context.Context, s *account.Service) error {
		keys, err := s.Keys(ctx, "default")
		for _, k := range keys {
			if k.Label == "to be revoked" {
				_, err = s.RevokeKey(ctx, audit.Gateway(), k.ID)
			}
		}
		return err
	})
	flipped := strings.Map(func(r rune) rune { return r ^ 1 }, h.Key[10:11])
	headers := map[string][]string{
		"missing":             nil,
		"empty":               {""},
		"scheme alone":        {"Bearer"},
		"scheme and space":    {"Bearer "},
		"no scheme":           {h.Key},
		"basic":               {"Basic " + h.Key},
		"malformed":           {"Bearer wk_short"},
		"half":                {"Bearer " + h.Key[:20]},
		"longer":              {"Bearer " + h.Key + "x"},
		"typo":                {"Bearer " + h.Key[:10] + flipped + h.Key[11:]},
		"another's form":      {"Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefg"},
		"unknown":             {"Bearer " + harness.StrangersKey()},
		"in capitals":         {"Bearer " + strings.ToUpper(h.Key)},
		"expired":             {"Bearer " + expired},
		"revoked":             {"Bearer " + revoked},
		"very long":           {"Bearer " + strings.Repeat("w", 8000)},
		"provider's own key":  {"Bearer " + harness.UpstreamKey},
		"control characters":  {"Bearer \t" + h.Key[:30]},
		"two keys in one":     {"Bearer " + h.Key + ", Bearer " + h.Key},
		"key and then a word": {"Bearer " + h.Key + " please"},
	}
	for _, clientAPI := range harness.ClientAPIs() {
		without := map[string]string{
			"missing": "has no API key", "empty": "has no API key",
			"scheme alone": "in the form", "scheme and space": "in the form", "no scheme": "in the form", "basic": "in the form",
		}
		var message string
		for name, value := range headers {
			r := h.Request(harness.Ask{Path: clientAPI.Path, Body: clientAPI.Body, Key: harness.NoKey})
			r.Header["Authorization"] = value
			got := h.Send(r)
			if got.Status != 401 || got.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s, %s: status %d, WWW-Authenticate %q: want 401 and Bearer", clientAPI.Path, name, got.Status, got.Header.Get("WWW-Authenticate"))
			}
			harness.WantCommonHeaders(t, got.Header)
			text := strings.ReplaceAll(got.Body, got.Header.Get("X-Request-Id"), "")
			if want := without[name]; want != "" {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s: got %s, want %q", clientAPI.Path, name, text, want)
				}
				continue
			}
			if message == "" {
				message = text
			}
			if text != message || !strings.Contains(text, "malformed, unknown, revoked or expired") {
				t.Errorf("%s, %s: %s\nelsewhere %s", clientAPI.Path, name, text, message)
			}
			if !isVendors(clientAPI.Path) {
				harness.WantError(t, got, 401, "AUTHENTICATION_ERROR")
			}
		}
	}
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("%d requests reached the provider, want none", n)
	}
}

// TestWhereKeysTravel checks the headers in which a key counts: the vendors' own only at the vendors' client APIs, and
// never the query.
func TestWhereKeysTravel(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, clientAPI := range harness.ClientAPIs() {
		for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
			want := http.StatusUnauthorized
			if isVendors(clientAPI.Path) {
				want = http.StatusOK
			}
			r := h.Do(harness.Ask{Path: clientAPI.Path, Body: clientAPI.Body, Key: harness.NoKey, Header: []string{name, h.Key}})
			if r.Status != want {
				t.Errorf("%s with %s: status %d, want %d", clientAPI.Path, name, r.Status, want)
			}
			if want == http.StatusUnauthorized && !strings.Contains(r.Body, "in the header "+name) {
				t.Errorf("%s with %s: got %s, want the header named", clientAPI.Path, name, r.Body)
			}
		}
		for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
			r := h.Do(harness.Ask{Path: clientAPI.Path, Body: clientAPI.Body, Key: harness.NoKey, Header: []string{"Authorization", scheme + h.Key}})
			if r.Status != http.StatusOK {
				t.Errorf("%s with %q: status %d, want 200", clientAPI.Path, scheme, r.Status)
			}
		}
		for _, query := range []string{"?key=", "?api_key=", "?access_token="} {
			r := h.Do(harness.Ask{Path: clientAPI.Path + query + h.Key, Body: clientAPI.Body, Key: harness.NoKey})
			if r.Status != http.StatusUnauthorized {
				t.Errorf("%s with %s: status %d, want 401", clientAPI.Path, query, r.Status)
			}
		}
	}
}

// TestDuplicateHeadersAreRefused checks that a request is refused if a header that identifies the client or the replay
// appears twice: a proxy may have read the other one.
func TestDuplicateHeadersAreRefused(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	other := h.NewKey(account.KeyOptions{Account: "default"})
	twice := func(a harness.Ask, name string, values ...string) {
		t.Helper()
		r := h.Request(a)
		r.Header[name] = values
		got := h.Send(r)
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, name+" appears more than once") {
			t.Errorf("%s with %s twice: %d %s, want 400", a.Path, name, got.Status, got.Body)
		}
		if want := "INVALID_REQUEST"; !isVendors(a.Path) && !strings.Contains(got.Body, want) {
			t.Errorf("%s: %s, want %s", a.Path, got.Body, want)
		}
	}
	for _, clientAPI := range append(harness.ClientAPIs(), harness.Ask{Path: "/admin/v1/accounts"}) {
		twice(clientAPI, "Authorization", "Bearer "+h.Key, "Bearer "+other)
		twice(clientAPI, "Authorization", "", "Bearer "+other)
		if clientAPI.Body != "" {
			twice(clientAPI, "Idempotency-Key", "one", "two")
		}
		if isVendors(clientAPI.Path) {
			for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
				twice(clientAPI, name, h.Key, other)
			}
		}
	}
	twice(harness.Ask{Path: "/admin/v1/accounts", Body: `{"name":"new"}`, Key: h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Admin}})}, "Idempotency-Key", "one", "two")
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("%d requests reached the provider", n)
	}
}

// TestForbiddenRequests sends requests that the key does not permit.
func TestForbiddenRequests(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), "stopped")
		return err
	})
	stopped := h.NewKey(account.KeyOptions{Account: "stopped"})
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.Suspend(ctx, audit.Gateway(), "stopped")
		return err
	})
	onlyUses := h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	onlyChat := h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Chat}})
	onlyEcho := h.NewKey(account.KeyOptions{Account: "default", Models: []string{"house/echo", "other/*"}})
	tests := []struct {
		name string
		ask  harness.Ask
		want int
	}{
		{"suspended, chat", harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: stopped}, 403},
		{"suspended, uses", harness.Ask{Path: "/v1/uses", Key: stopped}, 403},
		{"suspended, models", harness.Ask{Path: "/v1/models", Key: stopped}, 403},
		{"chat without permission", harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: onlyUses}, 403},
		{"models without permission", harness.Ask{Path: "/v1/models", Key: onlyUses}, 403},
		{"uses with it", harness.Ask{Path: "/v1/uses", Key: onlyUses}, 200},
		{"uses without permission", harness.Ask{Path: "/v1/uses", Key: onlyChat}, 403},
		{"the other uses without it", harness.Ask{Path: "/uses", Key: onlyChat}, 403},
		{"chat with it", harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: onlyChat}, 200},
		{"model allowed", harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: onlyEcho}, 200},
		{"model not allowed", harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat"), Key: onlyEcho}, 403},
		{"default model not allowed", harness.Ask{Path: "/v1/chat", Body: harness.Messages(`[{"role":"user","prompt":"Hi"}]`), Key: onlyEcho}, 403},
		{"unknown model not allowed", harness.Ask{Path: "/v1/chat", Body: harness.Hello("nobody/x"), Key: onlyEcho}, 403},
		{"unknown model that is allowed", harness.Ask{Path: "/v1/chat", Body: harness.Hello("other/x"), Key: onlyEcho}, 404},

		// Authentication precedes permission, and permission precedes the check of the body.
		{"nobody, nonsense", harness.Ask{Path: "/v1/chat", Body: "nonsense", Key: "wk_no"}, 401},
		{"nobody, wrong type", harness.Ask{Path: "/v1/chat", Body: "a=b", Key: "wk_no", Header: []string{"Content-Type", "text/plain"}}, 401},
		{"suspended, nonsense", harness.Ask{Path: "/v1/chat", Body: "nonsense", Key: stopped}, 403},
		{"suspended, wrong type", harness.Ask{Path: "/v1/chat", Body: "a=b", Key: stopped, Header: []string{"Content-Type", "text/plain"}}, 403},
		{"without permission, nonsense", harness.Ask{Path: "/v1/chat", Body: "nonsense", Key: onlyUses}, 403},
		{"without permission, wrong dates", harness.Ask{Path: "/v1/uses?limit=x", Key: onlyChat}, 403},
		{"model not allowed, bad message", harness.Ask{Path: "/v1/chat", Body: `{"model":"house/chat","messages":[]}`, Key: onlyEcho}, 403},
		{"model not allowed, bad temperature", harness.Ask{Path: "/v1/chat", Body: `{"model":"house/chat","messages":[{"role":"user","prompt":"Hi"}],"temperature":9}`, Key: onlyEcho}, 403},
	}
	before := len(up.Records(t))
	good := 0
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := h.Do(test.ask)
			switch test.want {
			case 401:
				harness.WantError(t, r, 401, "AUTHENTICATION_ERROR")
			case 403:
				harness.WantError(t, r, 403, "FORBIDDEN")
			case 404:
				harness.WantError(t, r, 404, "MODEL_NOT_FOUND")
			default:
				if r.Status != test.want {
					t.Errorf("status %d, want %d: %s", r.Status, test.want, r.Body)
				}
				if test.ask.Body != "" {
					good++
				}
			}
		})
	}
	if n := len(up.Records(t)) - before; n != good {
		t.Errorf("%d requests reached the provider, want the %d that were allowed", n, good)
	}
}

// TestModelsOfKey checks that the list of models has only those of the key.
func TestModelsOfKey(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "    models: [echo, chat, tools]\n" +
		harness.PricesYAML + "aliases:\n  fast: {targets: [house/echo, house/chat]}\n"})
	limited := h.NewKey(account.KeyOptions{Account: "default", Models: []string{"house/e*", "fast"}})
	for key, want := range map[string]string{h.Key: "fast house/chat house/echo house/tools", limited: "fast house/echo"} {
		r := h.Do(harness.Ask{Path: "/v1/models", Key: key})
		var list struct {
			Object string `json:"object"`
			Data   []struct {
				ID      string            `json:"id"`
				Object  string            `json:"object"`
				Created int64             `json:"created"`
				OwnedBy string            `json:"owned_by"`
				Prices  map[string]string `json:"prices"`
				Source  string            `json:"source"`
				Targets []string          `json:"targets"`
			} `json:"data"`
		}
		harness.Decode(t, r.Body, &list)
		var names []string
		for _, m := range list.Data {
			if names = append(names, m.ID); m.Object != "model" || m.OwnedBy == "" {
				t.Errorf("entry %+v: not of OpenAI's shape", m)
			}
		}
		if got := strings.Join(names, " "); got != want || list.Object != "list" {
			t.Errorf("models %q in a %q, want %q in a list", got, list.Object, want)
		}
		harness.WantCommonHeaders(t, r.Header)
	}
}
