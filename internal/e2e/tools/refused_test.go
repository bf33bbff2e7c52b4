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
