package tools_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestRefusedCallIsListedWithItsStatus checks that the list of refusals has the status that the client received.
func TestRefusedCallIsListedWithItsStatus(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: newPeer(t, true).yaml("")})
	key := toolKey(h, account.KeyOptions{})
	r := h.Do(harness.Ask{
		Path: "/mcp", Key: key, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"peer__none"}}`,
	})
	admin := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Label: "admin", Permissions: []account.Permission{account.Admin},
	})
	var list harness.Reply
	harness.Await(t, "the refusal", func() bool { // its server adds it when the client has the answer
		list = h.Do(harness.Ask{Method: http.MethodGet, Path: "/admin/v1/accounts/default/refusals", Key: admin})
		return strings.Contains(list.Body, `"reason"`)
	})
	if r.Status != http.StatusOK || !strings.Contains(list.Body, `"reason":"NOT_FOUND"`) ||
		!strings.Contains(list.Body, `"status":200`) {
		t.Errorf("a call with status %d: got %s, want the reason NOT_FOUND with the status 200", r.Status, list.Body)
	}
}

// TestRefusalHasNoHugeOrOddName checks that names which PostgreSQL refuses in an index or a text are not in the list
// of refusals: one of them would keep those of all accounts from being written.
func TestRefusalHasNoHugeOrOddName(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: newPeer(t, true).yaml("")})
	key := toolKey(h, account.KeyOptions{})
	for _, name := range []string{strings.Repeat("huge", 1000), "odd\\u0000name"} {
		h.Do(harness.Ask{Path: "/mcp", Key: key, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `"}}`})
	}
	admin := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Label: "admin", Permissions: []account.Permission{account.Admin},
	})
	list := h.Do(harness.Ask{Method: http.MethodGet, Path: "/admin/v1/accounts/default/refusals", Key: admin})
	if !strings.Contains(list.Body, `"reason":"NOT_FOUND"`) || strings.Contains(list.Body, "huge") || strings.Contains(list.Body, "odd") {
		t.Errorf("got %.2000s, want NOT_FOUND without the names", list.Body)
	}
}
