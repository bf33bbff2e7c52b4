package chat_test

import (
	"context"
	"net/http"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
)

// keyring has a key for each state of a key.
type keyring map[string]string

func newKeyring(h *harness.Gateway) keyring {
	h.T.Helper()
	k := keyring{
		"good": h.Key, "none": "", "malformed": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789", "unknown": harness.StrangersKey(),
		"revoked":           h.NewKey(account.KeyOptions{Account: "default", Label: "revoked"}),
		"no permission":     h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}}),
		"model not allowed": h.NewKey(account.KeyOptions{Account: "default", Models: []string{"house/chat"}}),
	}
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), "stopped")
		return err
	})
	k["suspended"] = h.NewKey(account.KeyOptions{Account: "stopped"})
	h.Administer(func(ctx context.Context, s *account.Service) error {
		if _, err := s.Suspend(ctx, audit.Gateway(), "stopped"); err != nil {
			return err
		}
		keys, err := s.Keys(ctx, "default")
		for _, key := range keys {
			if err == nil && key.Label == "revoked" {
				_, err = s.RevokeKey(ctx, audit.Gateway(), key.ID)
			}
		}
		return err
	})
	return k
}

// keyOutcomes has the outcome of a request with each key of a keyring; empty for an answer.
var keyOutcomes = map[string]string{
	"good": "", "none": "bad key", "malformed": "bad key", "unknown": "bad key", "revoked": "bad key",
	"suspended": "no permission", "no permission": "no permission", "model not allowed": "no permission",
}

// keyCarriers lists the headers in which the vendors' SDKs send a key.
var keyCarriers = []struct{ name, before string }{
	{"Authorization", "Bearer "}, {"X-Api-Key", ""}, {"Api-Key", ""}, {"X-Goog-Api-Key", ""},
}

// keyErrors has the vendors' errors for requests with an invalid key.
var keyErrors = map[string]map[string]vendorError{
	"openai": {
		"bad key":       {kind: "invalid_request_error", code: "invalid_api_key"},
		"no permission": {kind: "invalid_request_error", code: "insufficient_permissions"},
	},
	"responses": {
		"bad key":       {kind: "invalid_request_error", code: "invalid_api_key"},
		"no permission": {kind: "invalid_request_error", code: "insufficient_permissions"},
	},
	"anthropic": {"bad key": {kind: "authentication_error"}, "no permission": {kind: "permission_error"}},
	"gemini":    {"bad key": {kind: "UNAUTHENTICATED"}, "no permission": {kind: "PERMISSION_DENIED"}},
}

// TestKeysAtVendorAPIs sends every key in every header to every vendor's client API: all have one policy, reported in
// the vendor's format.
func TestKeysAtVendorAPIs(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	keys := newKeyring(h)
	answers := 0
	for _, clientAPI := range harness.VendorAPIs() {
		for _, carrier := range keyCarriers {
			for what, outcome := range keyOutcomes {
				a := clientAPI.Ask("house/echo", false)
				a.Key, a.Header = harness.NoKey, []string{carrier.name, carrier.before + keys[what]}
				r := h.Do(a)
				if outcome == "" {
					if answers++; r.Status != http.StatusOK {
						t.Errorf("%s, %s in %s: %d %s", clientAPI.Path, what, carrier.name, r.Status, r.Body)
					}
					continue
				}
				e, want := readVendorError(t, clientAPI.Dialect, r), keyErrors[clientAPI.Dialect][outcome]
				status := http.StatusUnauthorized
				if outcome == "no permission" {
					status = http.StatusForbidden
				}
				if r.Status != status || e.kind != want.kind || e.code != want.code {
					t.Errorf("%s, %s in %s: got %d %q %q, want %d %+v: %s", clientAPI.Path, what, carrier.name, r.Status, e.kind, e.code, status, want, r.Body)
				}
				if challenge := r.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (status == http.StatusUnauthorized) {
					t.Errorf("%s, %s in %s: WWW-Authenticate %q with status %d", clientAPI.Path, what, carrier.name, challenge, r.Status)
				}
			}
		}
	}
	if n := len(up.Records(t)); n != answers {
		t.Errorf("%d requests reached the provider, want the %d that were allowed", n, answers)
	}
}

// TestAuthorizationHeaderComesFirst sends a key in two headers, as some programs do: the Authorization header counts if
// it has a key.
func TestAuthorizationHeaderComesFirst(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, clientAPI := range harness.VendorAPIs() {
		for _, test := range []struct {
			authorization, other string
			want                 int
		}{
			{"Bearer " + h.Key, harness.StrangersKey(), http.StatusOK},
			{"Bearer " + harness.StrangersKey(), h.Key, http.StatusUnauthorized},
			{"Bearer ", h.Key, http.StatusOK},
			{"Basic abc", h.Key, http.StatusOK},
		} {
			a := clientAPI.Ask("house/echo", false)
			a.Key, a.Header = harness.NoKey, []string{"Authorization", test.authorization, "X-Api-Key", test.other}
			if r := h.Do(a); r.Status != test.want {
				t.Errorf("%s with %.12q and another key: status %d, want %d: %s", clientAPI.Path, test.authorization, r.Status, test.want, r.Body)
			}
		}
	}
}
