package realtime_test

import (
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestSessionCountsInStateOfProvider checks that the state of a provider, which is unused before, shows the answer of a
// session.
func TestSessionCountsInStateOfProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	admin := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Label: "admin", Permissions: []account.Permission{account.Admin},
	})
	want := func(state string) {
		t.Helper()
		if got := h.Do(harness.Ask{Path: "/admin/v1/providers", Key: admin}).Body; !strings.Contains(got, state) {
			t.Errorf("the providers are %s, want %s", got, state)
		}
	}
	want(`"state":"unused"`)
	s := open(t, h, "?model=house/echo", nil)
	s.await("session.created")
	want(`"state":"unused"`) // the connection alone shows nothing
	s.say("Hello")
	s.await("response.done")
	h.SettledSession(s.id, 1)
	want(`{"model":"house/echo","state":"ok"`)
}
