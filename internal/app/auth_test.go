package app_test

import (
	"context"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
)

// client APIs are the protected operations, each with a request that is good.
func clientAPIs() []ask {
	return []ask{
		{path: "/v1/chat", body: hello("house/echo")},
		{path: "/api/chat", body: hello("house/echo")},
		{path: "/v1/chat/completions", body: `{"model":"house/echo","messages":[{"role":"user","content":"Hi"}]}`},
		{path: "/v1/uses"},
		{path: "/uses"},
		{path: "/v1/models"},
	}
}

// isVendors tells the client APIs that answer in OpenAI's words.
func isVendors(path string) bool { return path == "/v1/chat/completions" }

// TestUnauthenticated is every way of not being known. All of them look the
// same from outside.
func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	expired := h.newKey(account.KeyOptions{Account: "default", ExpiresIn: time.Microsecond})
	revoked := h.newKey(account.KeyOptions{Account: "default", Label: "to be revoked"})
	h.administer(func(ctx context.Context, s *account.Service) error {
		keys, err := s.Keys(ctx, "default")
		for _, k := range keys {
			if k.Label == "to be revoked" {
				_, err = s.RevokeKey(ctx, audit.Gateway(), k.ID)
			}
		}
		return err
	})
	flipped := strings.Map(func(r rune) rune { return r ^ 1 }, h.key[10:11])
	headers := map[string][]string{
		"missing":             nil,
		"empty":               {""},
		"scheme alone":        {"Bearer"},
		"scheme and space":    {"Bearer "},
		"no scheme":           {h.key},
		"basic":               {"Basic " + h.key},
		"malformed":           {"Bearer wk_short"},
		"half":                {"Bearer " + h.key[:20]},
		"longer":              {"Bearer " + h.key + "x"},
		"typo":                {"Bearer " + h.key[:10] + flipped + h.key[11:]},
		"another's form":      {"Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefg"},
		"unknown":             {"Bearer " + strangersKey()},
		"in capitals":         {"Bearer " + strings.ToUpper(h.key)},
		"expired":             {"Bearer " + expired},
		"revoked":             {"Bearer " + revoked},
		"very long":           {"Bearer " + strings.Repeat("w", 8000)},
		"provider's own key":  {"Bearer " + upstreamKey},
		"control characters":  {"Bearer \t" + h.key[:30]},
		"two keys in one":     {"Bearer " + h.key + ", Bearer " + h.key},
		"key and then a word": {"Bearer " + h.key + " please"},
	}
	for _, clientAPI := range clientAPIs() {
		var message string
		for name, value := range headers {
			r := h.request(ask{path: clientAPI.path, body: clientAPI.body, key: noKey})
			r.Header["Authorization"] = value
			got := h.send(r)
			if got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s, %s: status %d, WWW-Authenticate %q: want 401 and Bearer", clientAPI.path, name, got.status, got.header.Get("WWW-Authenticate"))
			}
			wantCommonHeaders(t, got.header)
			text := strings.ReplaceAll(got.body, got.header.Get("X-Request-Id"), "")
			if message == "" {
				message = text
			}
			if text != message {
				t.Errorf("%s, %s: %s\nelsewhere %s", clientAPI.path, name, text, message)
			}
			if !isVendors(clientAPI.path) {
				wantError(t, got, 401, "AUTHENTICATION_ERROR")
			}
		}
	}
	if n := len(up.records(t)); n != 0 {
		t.Errorf("%d requests reached the provider, want none", n)
	}
}

// strangersKey is of the right form, with the right checksum, and nobody's.
func strangersKey() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	key := "wk_" + strings.Repeat("Weir", 10)
	sum := ""
	for n := crc32.ChecksumIEEE([]byte(key)); len(sum) < 6; n /= 62 {
		sum = digits[n%62:n%62+1] + sum
	}
	return key + sum
}

// TestWhereKeysTravel is the header in which a key counts: the vendors' own at
// the vendors' client APIs alone, in the query nowhere.
func TestWhereKeysTravel(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	for _, clientAPI := range clientAPIs() {
		for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
			want := http.StatusUnauthorized
			if isVendors(clientAPI.path) {
				want = http.StatusOK
			}
			r := h.do(ask{path: clientAPI.path, body: clientAPI.body, key: noKey, header: []string{name, h.key}})
			if r.status != want {
				t.Errorf("%s with %s: status %d, want %d", clientAPI.path, name, r.status, want)
			}
		}
		for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
			r := h.do(ask{path: clientAPI.path, body: clientAPI.body, key: noKey, header: []string{"Authorization", scheme + h.key}})
			if r.status != http.StatusOK {
				t.Errorf("%s with %q: status %d, want 200", clientAPI.path, scheme, r.status)
			}
		}
		for _, query := range []string{"?key=", "?api_key=", "?access_token="} {
			r := h.do(ask{path: clientAPI.path + query + h.key, body: clientAPI.body, key: noKey})
			if r.status != http.StatusUnauthorized {
				t.Errorf("%s with %s: status %d, want 401", clientAPI.path, query, r.status)
			}
		}
	}
}

// TestHeadersStandOnce refuses a request in which a header stands twice that says who asks,
// or what is replayed: a proxy may have read the other one.
func TestHeadersStandOnce(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	other := h.newKey(account.KeyOptions{Account: "default"})
	twice := func(a ask, name string, values ...string) {
		t.Helper()
		r := h.request(a)
		r.Header[name] = values
		got := h.send(r)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, name+" stands more than once") {
			t.Errorf("%s with %s twice: %d %s, want 400", a.path, name, got.status, got.body)
		}
		if want := "INVALID_REQUEST"; !isVendors(a.path) && !strings.Contains(got.body, want) {
			t.Errorf("%s: %s, want %s", a.path, got.body, want)
		}
	}
	for _, clientAPI := range append(clientAPIs(), ask{path: "/admin/v1/accounts"}) {
		twice(clientAPI, "Authorization", "Bearer "+h.key, "Bearer "+other)
		twice(clientAPI, "Authorization", "", "Bearer "+other)
		if clientAPI.body != "" {
			twice(clientAPI, "Idempotency-Key", "one", "two")
		}
		if isVendors(clientAPI.path) {
			for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
				twice(clientAPI, name, h.key, other)
			}
		}
	}
	twice(ask{path: "/admin/v1/accounts", body: `{"name":"new"}`, key: h.newKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Admin}})}, "Idempotency-Key", "one", "two")
	if n := len(up.records(t)); n != 0 {
		t.Errorf("%d requests reached the provider", n)
	}
}

// TestForbidden is what a known caller may not do.
func TestForbidden(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), "stopped")
		return err
	})
	stopped := h.newKey(account.KeyOptions{Account: "stopped"})
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.Suspend(ctx, audit.Gateway(), "stopped")
		return err
	})
	onlyUses := h.newKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	onlyChat := h.newKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Chat}})
	onlyEcho := h.newKey(account.KeyOptions{Account: "default", Models: []string{"house/echo", "other/*"}})
	tests := []struct {
		name string
		ask  ask
		want int
	}{
		{"suspended, chat", ask{path: "/v1/chat", body: hello("house/echo"), key: stopped}, 403},
		{"suspended, uses", ask{path: "/v1/uses", key: stopped}, 403},
		{"suspended, models", ask{path: "/v1/models", key: stopped}, 403},
		{"chat without permission", ask{path: "/v1/chat", body: hello("house/echo"), key: onlyUses}, 403},
		{"models without permission", ask{path: "/v1/models", key: onlyUses}, 403},
		{"uses with it", ask{path: "/v1/uses", key: onlyUses}, 200},
		{"uses without permission", ask{path: "/v1/uses", key: onlyChat}, 403},
		{"the other uses without it", ask{path: "/uses", key: onlyChat}, 403},
		{"chat with it", ask{path: "/v1/chat", body: hello("house/echo"), key: onlyChat}, 200},
		{"model allowed", ask{path: "/v1/chat", body: hello("house/echo"), key: onlyEcho}, 200},
		{"model not allowed", ask{path: "/v1/chat", body: hello("house/chat"), key: onlyEcho}, 403},
		{"default model not allowed", ask{path: "/v1/chat", body: messages(`[{"role":"user","prompt":"Hi"}]`), key: onlyEcho}, 403},
		{"unknown model not allowed", ask{path: "/v1/chat", body: hello("nobody/x"), key: onlyEcho}, 403},
		{"unknown model that is allowed", ask{path: "/v1/chat", body: hello("other/x"), key: onlyEcho}, 404},

		// Who you are comes before what you may do, and that before what you ask.
		{"nobody, nonsense", ask{path: "/v1/chat", body: "nonsense", key: "wk_no"}, 401},
		{"nobody, wrong type", ask{path: "/v1/chat", body: "a=b", key: "wk_no", header: []string{"Content-Type", "text/plain"}}, 401},
		{"suspended, nonsense", ask{path: "/v1/chat", body: "nonsense", key: stopped}, 403},
		{"suspended, wrong type", ask{path: "/v1/chat", body: "a=b", key: stopped, header: []string{"Content-Type", "text/plain"}}, 403},
		{"without permission, nonsense", ask{path: "/v1/chat", body: "nonsense", key: onlyUses}, 403},
		{"without permission, wrong dates", ask{path: "/v1/uses?limit=x", key: onlyChat}, 403},
		{"model not allowed, bad message", ask{path: "/v1/chat", body: `{"model":"house/chat","messages":[]}`, key: onlyEcho}, 403},
		{"model not allowed, bad temperature", ask{path: "/v1/chat", body: `{"model":"house/chat","messages":[{"role":"user","prompt":"Hi"}],"temperature":9}`, key: onlyEcho}, 403},
	}
	before := len(up.records(t))
	good := 0
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := h.do(test.ask)
			switch test.want {
			case 401:
				wantError(t, r, 401, "AUTHENTICATION_ERROR")
			case 403:
				wantError(t, r, 403, "FORBIDDEN")
			case 404:
				wantError(t, r, 404, "MODEL_NOT_FOUND")
			default:
				if r.status != test.want {
					t.Errorf("status %d, want %d: %s", r.status, test.want, r.body)
				}
				if test.ask.body != "" {
					good++
				}
			}
		})
	}
	if n := len(up.records(t)) - before; n != good {
		t.Errorf("%d requests reached the provider, want the %d that were allowed", n, good)
	}
}

// TestModelsOfKey is the list of models, which holds what the key may use.
func TestModelsOfKey(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + "    models: [echo, chat, tools]\n" +
		pricesYAML + "aliases:\n  fast: {targets: [house/echo, house/chat]}\n"})
	limited := h.newKey(account.KeyOptions{Account: "default", Models: []string{"house/e*", "fast"}})
	for key, want := range map[string]string{h.key: "fast house/chat house/echo house/tools", limited: "fast house/echo"} {
		r := h.do(ask{path: "/v1/models", key: key})
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
		decode(t, r.body, &list)
		var names []string
		for _, m := range list.Data {
			if names = append(names, m.ID); m.Object != "model" || m.OwnedBy == "" {
				t.Errorf("entry %+v: not of OpenAI's shape", m)
			}
		}
		if got := strings.Join(names, " "); got != want || list.Object != "list" {
			t.Errorf("models %q in a %q, want %q in a list", got, list.Object, want)
		}
		wantCommonHeaders(t, r.header)
	}
}
